"""A Python step calls the code that is on disk in its own workspace, whatever the kernel has loaded before."""

from __future__ import annotations

import importlib
import os
import py_compile
import subprocess
import sys
import time
from importlib.util import cache_from_source
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pixirnb

_NUMBERS = count()
_OLD, _NEW = "def f(*_): return  True\n", "def f(*_): return False\n"
_WHO = "import os\n"


@pytest.fixture
def name() -> str:
    """A module's name that no other test uses."""
    return f"authored{next(_NUMBERS)}"


def write(folder: Path, name: str, returned: str, more: str = "") -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(
        f"{_WHO}{more}\ndef f():\n    return [{returned}, os.getpid()]\n"
    )


def called(folder: Path, call: str, **keys: Any) -> Any:
    """What a step that calls a function returns; its error where it fails."""
    step = {"id": "a", "call": call, "posture": "read_only", **keys}
    run = pixirnb.start({"name": "w", "steps": [step]}, workspace=folder)
    run.wait()
    return run["a"].value if run["a"].error is None else run["a"].error


def test_a_module_that_was_mended_is_called_as_it_is_now(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("def f():\n    raise ValueError('before')\n")
    step = {"id": "a", "call": f"{name}:f", "posture": "read_only"}
    run = pixirnb.start({"name": "w", "steps": [step]}, workspace=tmp_path)
    assert run.wait().status == "failed"

    write(tmp_path, name, "'mended'")
    again = run.resume()
    assert again.wait().status == "completed"
    assert again["a"].value[0] == "mended"


def test_a_module_is_called_as_it_is_now_where_python_writes_no_compiled_files(
    tmp_path: Path,
) -> None:
    program = """
import pixirnb
from pathlib import Path
written = Path("plain.py")
written.write_text("def f(): return 'old'")
step = {"id": "a", "call": "plain:f", "posture": "read_only"}
run = pixirnb.start({"name": "w", "steps": [step]}, workspace=".")
assert run.wait().ok and run["a"].value == "old"
written.write_text("def f(): return 'newer'")
assert run.retry("a").wait().ok
print(run["a"].value)
"""
    said = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.stdout == "newer\n", said.stderr


def test_an_unchanged_module_is_called_in_this_process(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, "1")
    assert called(tmp_path, f"{name}:f") == [1, os.getpid()]
    assert called(tmp_path, f"{name}:f") == [1, os.getpid()]


def test_a_changed_module_that_another_one_imports_is_read_again(tmp_path: Path, name: str) -> None:
    write(tmp_path, f"{name}_part", "'old'")
    (tmp_path / f"{name}.py").write_text(f"from {name}_part import f\n")
    assert called(tmp_path, f"{name}:f")[0] == "old"
    write(tmp_path, f"{name}_part", "'newer'")
    assert called(tmp_path, f"{name}:f")[0] == "newer"


def test_a_changed_module_is_read_again_where_another_one_went_meanwhile(
    tmp_path: Path, name: str
) -> None:
    write(tmp_path, name, "'old'")
    passing = f"{name}_passing"
    sys.modules[passing] = ModuleType(passing)
    called(tmp_path, "os:getcwd")
    # There are as many modules after its import as before.
    with (tmp_path / f"{name}.py").open("a") as module:
        module.write(f"\nimport sys\nsys.modules.pop({passing!r}, None)\n")
    assert called(tmp_path, f"{name}:f")[0] == "old"
    assert passing not in sys.modules
    write(tmp_path, name, "'newer'")
    assert called(tmp_path, f"{name}:f")[0] == "newer"


def test_a_module_that_the_notebook_loaded_and_that_changed_before_the_first_step(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path, name, "'old'")
    py_compile.compile(str(tmp_path / f"{name}.py"))  # as its import does, unless told otherwise
    importlib.import_module(name)
    write(tmp_path, name, "'newer'")
    assert called(tmp_path, f"{name}:f")[0] == "newer"


def test_a_reloaded_module_is_called_in_this_process_again(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, "'old'")
    assert called(tmp_path, f"{name}:f")[1] == os.getpid()
    write(tmp_path, name, "'newer'")
    value, pid = called(tmp_path, f"{name}:f")
    assert (value, pid == os.getpid()) == ("newer", False)
    importlib.reload(sys.modules[name])
    assert called(tmp_path, f"{name}:f") == ["newer", os.getpid()]


def test_workspaces_with_modules_of_one_name_have_their_own(tmp_path: Path, name: str) -> None:
    for folder in ("one", "two"):
        write(tmp_path / folder, name, repr(folder))
    (tmp_path / "none").mkdir()

    for folder in ("one", "two", "one"):
        assert called(tmp_path / folder, f"{name}:f")[0] == folder
    error = called(tmp_path / "none", f"{name}:f")
    assert (error["kind"], name in error["message"]) == ("function_missing", True)


def test_a_helper_of_another_workspace_is_not_imported(tmp_path: Path, name: str) -> None:
    for folder in ("one", "two"):
        write(tmp_path / folder, f"{name}_part", repr(folder))
        (tmp_path / folder / f"{name}_{folder}.py").write_text(f"from {name}_part import f\n")
    for folder in ("one", "two"):
        assert called(tmp_path / folder, f"{name}_{folder}:f")[0] == folder


def test_a_check_calls_the_function_that_is_on_disk(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, "1", "def check(output):\n    return False\n")
    verify = [{"python": f"{name}:check"}]
    assert called(tmp_path, f"{name}:f", verify=verify)["kind"] == "verification"
    write(tmp_path, name, "1", "def check(output):\n    return 'it is mended'\n")
    assert called(tmp_path, f"{name}:f", verify=verify)[0] == 1


def replace(module: Path, text: str) -> None:
    """Replace a module by a text of the same length, and keep its time, as `cp -p` and `rsync -t` do."""
    status = module.stat()
    written = module.with_suffix(".new")
    written.write_text(text)
    os.utime(written, ns=(status.st_atime_ns, status.st_mtime_ns))
    written.replace(module)


def plant(module: Path, text: str) -> None:
    """Write a compiled file of another text, which Python would take for the module's."""
    source = module.read_text()
    replace(module, text)
    py_compile.compile(str(module), doraise=True)
    replace(module, source)
    # Written after the last change of its source, as by a step that plants it.
    compiled = Path(cache_from_source(module))
    compiled.write_bytes(compiled.read_bytes())


@pytest.mark.parametrize("process", [False, True])
def test_a_compiled_file_of_a_module_decides_nothing(
    tmp_path: Path, name: str, process: bool
) -> None:
    (tmp_path / f"{name}.py").write_text(_NEW)
    plant(tmp_path / f"{name}.py", _OLD)
    assert called(tmp_path, f"{name}:f", process=process) is False
    verify = [{"python": f"{name}:f"}]
    assert called(tmp_path, f"{name}:f", process=process, verify=verify)["kind"] == "verification"


def test_what_a_module_imports_is_read_from_its_source_too(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}_part.py").write_text(_NEW)
    plant(tmp_path / f"{name}_part.py", _OLD)
    late = f"def f():\n    from {name}_part import f\n    return f()\n"
    (tmp_path / f"{name}.py").write_text(late)
    assert called(tmp_path, f"{name}:f") is False


_IN_A_THREAD = """
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
def f(*_):
    with ThreadPoolExecutor() as threads:
        return threads.submit(import_module, "{part}").result().f()
"""
_BY_PATH = """
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
def f(*_):
    spec = spec_from_file_location("{part}", Path(__file__).with_name("{part}.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f()
"""


@pytest.mark.parametrize("process", [False, True])
@pytest.mark.parametrize("text", [_IN_A_THREAD, _BY_PATH])
def test_a_module_is_read_from_its_source_by_whatever_way_a_step_loads_it(
    tmp_path: Path, name: str, text: str, process: bool
) -> None:
    (tmp_path / f"{name}_part.py").write_text(_NEW)
    plant(tmp_path / f"{name}_part.py", _OLD)
    (tmp_path / f"{name}.py").write_text(text.format(part=f"{name}_part"))
    assert called(tmp_path, f"{name}:f", process=process) is False


@pytest.mark.parametrize("process", [False, True])
def test_a_module_is_read_again_where_its_time_and_size_were_kept(
    tmp_path: Path, name: str, process: bool
) -> None:
    (tmp_path / f"{name}.py").write_text(_OLD)
    assert called(tmp_path, f"{name}:f", process=process) is True
    replace(tmp_path / f"{name}.py", _NEW)
    assert called(tmp_path, f"{name}:f", process=process) is False


def test_a_module_whose_time_would_not_tell_the_next_change_is_read_again(
    tmp_path: Path, name: str
) -> None:
    write(tmp_path, name, "1")
    ahead = time.time() + 3600
    os.utime(tmp_path / f"{name}.py", (ahead, ahead))
    assert called(tmp_path, f"{name}:f") == [1, os.getpid()]
    assert called(tmp_path, f"{name}:f")[1] != os.getpid()


def test_a_module_that_the_notebook_loaded_from_an_old_compiled_file(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{name}.py").write_text(_OLD)
    py_compile.compile(str(tmp_path / f"{name}.py"))
    replace(tmp_path / f"{name}.py", _NEW)
    assert importlib.import_module(name).f() is True
    assert called(tmp_path, f"{name}:f") is False


def test_a_module_of_the_notebook_is_called_in_this_process_where_it_is_newer_than_its_compiled_file(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path, name, "1")
    module = tmp_path / f"{name}.py"
    py_compile.compile(str(module))
    replace(module, module.read_text())  # as a copy of the folder is made
    importlib.import_module(name)
    assert called(tmp_path, f"{name}:f") == [1, os.getpid()]


def test_installed_modules_keep_their_compiled_files(tmp_path: Path, name: str) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / f"{name}_part.py").write_text(_NEW)
    plant(installed / f"{name}_part.py", _OLD)
    (tmp_path / f"{name}.py").write_text(
        f"import sys\nsys.path.append({str(installed)!r})\nfrom {name}_part import f\n"
    )
    assert called(tmp_path, f"{name}:f", process=True) is True


def test_imports_of_the_notebook_keep_their_compiled_files(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called(tmp_path, "os:getpid")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{name}.py").write_text(_NEW)
    plant(tmp_path / f"{name}.py", _OLD)
    assert importlib.import_module(name).f() is True
