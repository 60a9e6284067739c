"""Whatever is printed, told or returned: the kernel does not hold it, what is cut says so, and the whole has a place."""

from __future__ import annotations

import os
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pixirnb.engine.broadcast import STEP_OUTPUT, Live, NewsQueue
from pixirnb.errors import Cannot
from pixirnb.history.events import Event
from pixirnb.spec.limits import OFFERED_BYTES
from tests.stories.storyline import ended, shell

pytestmark = pytest.mark.story

MUCH = 40 * 1024 * 1024
HELD = 16 * 1024 * 1024
"""Far less than is printed: what the kernel may hold of it for a moment."""


def prints(count: int, letter: str = "x") -> list[str]:
    return [sys.executable, "-c", f"import sys; sys.stdout.write({letter!r} * {count})"]


@contextmanager
def little_is_held() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < HELD


def module(folder: Path, name: str, text: str) -> str:
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return name


def test_what_a_command_prints_is_a_file_and_never_in_memory(tmp_path: Path) -> None:
    with little_is_held():
        run, outcome = ended(
            tmp_path,
            shell("a", prints(MUCH), verify=[{"output_contains": "xx"}]),
            shell("b", "wc -c < {{ steps.a.output_path }}", "a"),
        )
    assert outcome.status == "completed"
    assert run.value("b").strip() == str(MUCH)
    limitations = outcome.step("a").checkpoint["known_limitations"]  # type: ignore[index]
    assert [told.split(":")[0] for told in limitations] == ["output_too_large", "output_log_cut"]
    with pytest.raises(Cannot) as refused:
        run.value("a")
    assert refused.value.code == "output_too_large"
    assert len(run.output("a")) < 11 * 1024 * 1024
    on_disk = sum(file.stat().st_size for file in run.folder.rglob("*") if file.is_file())
    assert on_disk < MUCH + 11 * 1024 * 1024


def test_who_refers_to_too_large_an_output_is_told_so_and_nothing_is_skipped(
    tmp_path: Path,
) -> None:
    _, outcome = ended(
        tmp_path,
        shell("a", prints(OFFERED_BYTES + 1)),
        shell("argv", ["echo", "{{ steps.a.output }}"], "a"),
        shell("asks", "true", "a", when="{{ steps.a.output }} != ''"),
        {
            "id": "call",
            "call": "builtins:len",
            "with": {"obj": "{{ steps.a.output }}"},
            "depends_on": ["a"],
        },
        shell("fits", prints(OFFERED_BYTES)),
        {
            "id": "typed",
            "call": "builtins:dict",
            "with": {"s": "{{ steps.fits.output }}"},
            "depends_on": ["fits"],
        },
    )
    kinds = {s.step_id: (s.error and s.error["kind"]) for s in outcome.steps}
    assert kinds["argv"] == kinds["asks"] == kinds["call"] == "output_too_large"
    assert kinds["a"] is kinds["fits"] is kinds["typed"] is None


def test_bytes_that_are_no_text_lie_in_output_path_as_they_were_printed(tmp_path: Path) -> None:
    run, _ = ended(
        tmp_path,
        shell("a", "printf 'caf\\351\\n'"),
        shell("b", "od -An -tx1 {{ steps.a.output_path }}", "a"),
    )
    assert run.value("a") == "caf\ufffd"
    assert run.value("b").split() == ["63", "61", "66", "e9"]


def test_declared_output_too_large_for_the_log_is_read_in_a_process_of_its_own(
    tmp_path: Path,
) -> None:
    printed = "import json; print(json.dumps({'n': list(range(200_000))}))"
    with little_is_held():
        run, outcome = ended(
            tmp_path,
            shell(
                "a", [sys.executable, "-c", printed], output={"type": "object", "required": ["n"]}
            ),
            shell("b", [sys.executable, "-c", printed], output={"type": "array"}),
            shell(
                "c",
                [sys.executable, "-c", "print('[' + '[],' * 2_000_000 + '0]')"],
                output={"type": "array"},
            ),
            shell("d", "echo {{ steps.a.output.n.7 }}", "a"),
        )
    assert outcome.step("a").checkpoint_status == "checkpoint_ready"
    assert run.value("a")["n"][-1] == 199_999
    for name, said in (("b", "$: "), ("c", "of memory")):
        error = outcome.step(name).error
        assert error is not None
        assert (error["kind"], said in error["message"]) == ("output_invalid", True)
    assert run.value("d") == "7"


def test_a_value_many_times_as_large_as_its_text_reaches_processes_and_checks_as_bytes(
    tmp_path: Path,
) -> None:
    # 900 kB of text; as a value 28 MB, and as much again for whoever copies it.
    module(
        tmp_path,
        "many",
        "def make(): return [{} for _ in range(300_000)]\n"
        "def count(items): return len(items)\n"
        "def full(output): return len(output) == 300_000\n",
    )
    check = {"python": "many:full", "timeout": "1m"}
    printed = "print('[' + '{},' * 299_999 + '{}]')"
    with little_is_held():
        run, outcome = ended(
            tmp_path,
            shell(
                "printed", [sys.executable, "-c", printed], output={"type": "array"}, verify=[check]
            ),
            {
                "id": "made",
                "call": "many:make",
                "process": True,
                "output": {"type": "array"},
                "verify": [check],
            },
            *(
                {
                    "id": f"of_{name}",
                    "call": "many:count",
                    "with": {"items": f"{{{{ steps.{name}.output }}}}"},
                    "process": True,
                    "depends_on": [name],
                }
                for name in ("printed", "made")
            ),
        )
    assert outcome.status == "completed"
    assert (run.value("of_printed"), run.value("of_made")) == (300_000, 300_000)


def test_a_check_that_prints_without_end_leaves_its_last_words_as_evidence(tmp_path: Path) -> None:
    command = f'{sys.executable} -c \'print("x" * {MUCH}); print("done")\''
    with little_is_held():
        _, outcome = ended(tmp_path, shell("a", "true", verify=[{"command": command}]))
    evidence = outcome.step("a").checkpoint["verification"][0]["evidence"]  # type: ignore[index]
    assert evidence["output"].endswith("x\ndone\n")


def test_a_pattern_that_never_ends_is_ended_with_the_time_of_its_step(tmp_path: Path) -> None:
    step = shell(
        "a", f"printf '%0{20_000}d' 0; echo b", timeout="2s", verify=[{"output_matches": "(0+)+$"}]
    )
    _, outcome = ended(tmp_path, step)
    stands = outcome.step("a")
    assert (stands.subagent_status, stands.error and stands.error["kind"]) == (
        "timed_out",
        "timeout",
    )


@pytest.mark.parametrize("process", [False, True])
def test_a_function_that_prints_and_reports_without_end_is_slowed_down_and_not_stored(
    tmp_path: Path, process: bool
) -> None:
    text = (
        "import sys, pixirnb\n"
        "def f():\n"
        "    for _ in range(40):\n"
        "        sys.stdout.buffer.write(bytes(1024 * 1024))\n"
        "    for _ in range(3000):\n"
        "        pixirnb.progress(0.5, chr(0x1F600) * 20_000)\n"
    )
    name = module(tmp_path, f"floods_{process}".lower(), text)
    with little_is_held():
        _, outcome = ended(tmp_path, {"id": "a", "call": f"{name}:f", "process": process})
    assert outcome.step("a").checkpoint["known_limitations"][0].startswith("output_log_cut")  # type: ignore[index]


def test_a_large_value_of_a_process_goes_through_the_kernel_in_pieces(tmp_path: Path) -> None:
    name = module(tmp_path, "returns_much", f"def f(): return 'v' * {MUCH}\n")
    with little_is_held():
        run, outcome = ended(tmp_path, {"id": "a", "call": f"{name}:f", "process": True})
    assert outcome.status == "completed"
    assert run.value("a") == "v" * MUCH


def test_what_an_agent_prints_on_one_line_is_its_output_and_its_end_is_its_message(
    tmp_path: Path,
) -> None:
    said = f"import sys; sys.stdout.write('q' * {MUCH} + chr(10) + 'checkpoint_status: checkpoint_ready')"
    agents: dict[str, Any] = {
        "k": {
            "runner": "cli",
            "command": [sys.executable, "-c", said],
            "posture": "read_only",
        }
    }
    with little_is_held():
        run, outcome = ended(tmp_path, {"id": "a", "task": "look", "agent": "k"}, agents=agents)
    assert outcome.status == "completed"
    assert outcome.step("a").checkpoint["known_limitations"][0].startswith("output_too_large")  # type: ignore[index]
    assert run.session("a").document()["turn"] == "completed"


def test_calls_that_an_agent_never_answers_are_in_its_log_and_not_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = (
        "import json\n"
        "for n in range(600):\n"
        "    use = {'type': 'tool_use', 'id': f'c{n}', 'name': 'Bash', 'input': {'a': 'b' * 60_000}}\n"
        "    print(json.dumps({'type': 'assistant', 'message': {'content': [use]}}))\n"
        "print(json.dumps({'type': 'result', 'is_error': False, 'result': 'done'}))\n"
    )
    program = tmp_path / "claude"
    program.write_text(f"#!{sys.executable}\n{called}", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    agents = {"k": {"runner": "cli", "command": "claude", "posture": "read_only"}}
    with little_is_held():
        run, _ = ended(tmp_path, {"id": "a", "task": "look", "agent": "k"}, agents=agents)
    calls = [event for event in run.session("a").events() if event.kind == "tool_call"]
    assert len(calls) == 600
    assert {len(call.data["args"]["a"]) for call in calls} == {60_000}


def test_a_listener_slower_than_its_run_loses_live_news_and_no_event() -> None:
    waiting = NewsQueue(limit=10_000)
    for seq in range(1, 1001):
        waiting.put(Live(STEP_OUTPUT, "a", 1, {"stream": "stdout", "chunk": "x" * 1000}))
        waiting.put(Event(seq, "", "warning_raised", {}))
    found = []
    while not waiting.empty():
        found.append(waiting.get())
    chunks = [piece.data["chunk"] for piece in found if isinstance(piece, Live)]
    assert [piece.seq for piece in found if isinstance(piece, Event)] == list(range(1, 1001))
    assert len(chunks) < 10
    missed = 1_000_000 - 1000 * (len(chunks) - 1)
    assert f"[{missed} characters of output are not shown" in chunks[-1]
