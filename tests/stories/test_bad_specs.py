"""A workflow with mistakes gets a line for each, with code and place, no traceback, and starts nothing.

Each case is told as a person meets it, through the command line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import PixirnbError
from tests.stories.refusals import refused, trees
from tests.stories.storyline import effects, mark, shell, spec

pytestmark = [pytest.mark.story, pytest.mark.usefixtures("at_home")]


STEP = "steps: [{id: a, run: 'true'}]"
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{there}: &{there} [{','.join([f'*{here}'] * 9)}]\n"
    for here, there in zip("abc", "bcd", strict=True)
)
BROKEN: dict[str, tuple[str, str, int | None]] = {
    "not YAML": ("name: [x\n" + STEP, "yaml_syntax", None),
    "a tab": ("name: x\nsteps:\n\t- {id: a, run: b}\n", "yaml_tab", 3),
    "a list": ("- a\n- b\n", "not_a_mapping", 1),
    "a word": ("workflow\n", "not_a_mapping", 1),
    "nothing": ("", "empty", 1),
    "only a comment": ("# later\n", "empty", 1),
    "two documents": (f"name: x\n{STEP}\n---\nname: y\n{STEP}\n", "yaml_documents", None),
    "a duplicate key": (f"name: x\nname: y\n{STEP}\n", "duplicate_key", 2),
    "a duplicate key of a step": ("name: x\nsteps:\n  - {id: a, run: b, run: c}\n", "duplicate_key", 3),
    "an unquoted reference": ("name: x\nsteps:\n  - id: a\n    run: {{ run.id }}\n", "unquoted_reference", 4),
    "a quoted reference": ("name: x\nsteps: [{id: a, run: \"echo '{{ run.id }}'\"}]\n", "quoted_reference", None),
    "an alias bomb": (BOMB, "limit_exceeded", None),
    "deep nesting": ("name: x\ndescription: " + "[" * 60 + "]" * 60 + f"\n{STEP}\n", "limit_exceeded", None),
    "a tag": (f"name: !!python/name:os.system x\n{STEP}\n", "yaml_tag", 1),
    "no steps": ("name: x\n", "missing_key", None),
    "no name": (f"{STEP}\n", "missing_key", None),
    "an empty list of steps": ("name: x\nsteps: []\n", "empty", None),
    "an unknown key": ("name: x\nsteps:\n  - {id: a, run: b, depend_on: []}\n", "unknown_key", 3),
    "no kind": ("name: x\nsteps:\n  - {id: a}\n", "step_kind", 3),
    "two kinds": ("name: x\nsteps:\n  - {id: a, run: b, call: 'os:getcwd'}\n", "step_kind", 3),
    "a bad id": ("name: x\nsteps:\n  - {id: 'a b', run: b}\n", "bad_name", 3),
    "a bad duration": ("name: x\nsteps:\n  - {id: a, run: b, timeout: 8d}\n", "bad_duration", 3),
    "a cycle": ("name: x\nsteps:\n  - {id: a, run: b, depends_on: [a]}\n", "cycle", None),
    "an agent that is missing": ("name: x\nsteps:\n  - {id: a, task: b}\n", "agent_missing", 3),
    "an agent that is unknown": ("name: x\nsteps:\n  - {id: a, task: b, agent: c}\n", "agent_unknown", 3),
    "read_only with writes": ("name: x\nsteps:\n- {id: a, run: b, posture: read_only, write_set: [c]}", "read_only_writes", 3),
    "a bad type": ("name: x\nsteps:\n  - {id: a, run: 3}\n", "wrong_type", 3),
    "a YAML 1.1 no": ("name: x\nsteps:\n  - {id: a, run: b, process: no}\n", "wrong_type", 3),
    "a path that escapes": ("name: x\nsteps:\n  - {id: a, run: b, cwd: ../..}\n", "path_escapes", 3),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line"), BROKEN.values(), ids=list(BROKEN))
def test_a_broken_spec_is_refused_with_code_and_place(
    tmp_path: Path, text: str, code: str, line: int | None
) -> None:
    (tmp_path / "flow.yaml").write_text(text, encoding="utf-8")
    before = trees(tmp_path)
    found = refused("run", "flow.yaml", mistakes=3)
    assert found.code == 2
    assert code in found.text
    if line is not None:
        assert f"line {line}" in found.text
    assert trees(tmp_path) == before


def test_all_mistakes_of_a_spec_come_at_once(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(
        "name: x\nsteps:\n"
        "  - {id: a, run: 'true', depend_on: [b]}\n"
        "  - {id: b, run: 'true', timeout: soon}\n"
        "  - {id: c, run: 'true', depends_on: [nobody]}\n"
    )
    found = refused("plan", "flow.yaml", mistakes=3)
    for code in ("unknown_key", "bad_duration", "unknown_dependency"):
        assert code in found.text


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"name: caf\xe9\nsteps: [{id: a, run: 'true'}]\n", "not_utf8"),
        (b"name: x\0\nsteps: []\n", "yaml_character"),
    ],
)
def test_bytes_that_are_no_text_are_refused(tmp_path: Path, raw: bytes, code: str) -> None:
    (tmp_path / "flow.yaml").write_bytes(raw)
    assert code in refused("run", "flow.yaml", mistakes=1).text


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf%s", b"%s"], ids=["BOM", "plain"])
@pytest.mark.parametrize("newline", [b"\r\n", b"\n"], ids=["CRLF", "LF"])
def test_bom_and_crlf_are_no_mistake(tmp_path: Path, raw: bytes, newline: bytes) -> None:
    text = b"name: x\nsteps:\n  - id: a\n    run: |\n      echo one\n      echo two\n"
    path = tmp_path / "flow.yaml"
    path.write_bytes(raw % text.replace(b"\n", newline))
    run = api.start(path)
    assert run.wait().ok
    assert run.value("a") == "one\ntwo"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    for name in ("nowhere.yaml", "folder.yaml", "x" * 300, "a\0b", "~nobody-at-all/x.yaml"):
        found = refused("run", name)
        assert found.code == 2
        assert "spec_unreadable" in found.text


@pytest.mark.parametrize(
    "given",
    [{}, {"n": "three"}, {"n": 3, "m": 1}, {"n": None}, {"n": True}],
    ids=["missing", "mistyped", "unknown", "null", "boolean"],
)
def test_wrong_inputs_start_nothing(tmp_path: Path, given: dict[str, Any]) -> None:
    flow = spec(shell("a", mark("a")), inputs={"n": {"type": "integer"}})
    with pytest.raises(PixirnbError) as caught:
        api.start(flow, given, workspace=tmp_path)
    assert caught.value.exit_code == 2
    assert caught.value.fix
    assert effects(tmp_path) == []
    assert not list(tmp_path.glob(".pixirnb/runs/*"))
