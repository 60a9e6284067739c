"""What the stories about files share: isolated steps, a folder as a dict of texts, and what a state folder keeps."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pixirnb.operations.run import Run
from pixirnb.testing.repositories import commit, git
from tests.stories.storyline import facts, shell
from tests.verbs.command import command


def isolated(step: str, run: str | list[str], *after: str, **fields: Any) -> dict[str, Any]:
    """A shell step that works in a copy."""
    return shell(step, run, *after, workspace="isolated", **fields)


def land(*steps: str, step: str = "land", after: tuple[str, ...] = ()) -> dict[str, Any]:
    """A step that brings the changes of others back."""
    return {"id": step, "merge": list(steps), "depends_on": [*steps, *after]}


def lines(*texts: str) -> str:
    """Text of these lines."""
    return "".join(f"{text}\n" for text in texts)


def plant(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files into a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A git repository with one commit of these files."""
    plant(folder, files)
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def tree(folder: Path) -> dict[str, str]:
    """Every file of a folder that is not ours or git's, with its text."""
    apart = {".pixirnb", ".git"}
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and apart.isdisjoint(path.relative_to(folder).parts)
    }


def said(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a command that is given in a folder."""
    with contextlib.chdir(folder):
        found = command(*words, "--json")
    assert "Traceback" not in found.err
    return found.code, found.document()


def seams(run: Run) -> dict[str, str]:
    """The seams of a run and how they stand."""
    return {seam["id"]: seam["state"] for seam in run.outcome.document()["seam_obligations"]}


def changes(run: Run, step: str) -> dict[str, str]:
    """What the last attempt of an isolated step changed: path to kind."""
    captured = [fact for fact in facts(run, "workspace_captured") if fact["step"] == step][-1]
    return {file["path"]: file["change"] for file in captured["changes"]["files"]}


def limitations(run: Run, step: str) -> str:
    """What a step's bundle says it does not promise."""
    bundle = run.bundle(step)
    return "" if bundle is None else "\n".join(map(str, bundle["known_limitations"]))


def kept(state: Path) -> str:
    """The content of every object that the trees of a state folder hold."""
    stores = sorted((state / "trees").glob("*-git/git"))
    assert stores
    return "\n".join(git(store, "cat-file", "--batch-all-objects", "--batch") for store in stores)
