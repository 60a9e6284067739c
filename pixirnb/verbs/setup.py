"""The verbs of a first session: `init` writes a workflow that runs, `examples` copies shipped ones, `completion` completes.

A wheel ships the folders `examples` and `notebooks` of the repository below `pixirnb/shipped`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import App, Parameter

from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.json_types import JsonObject
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.workflow_schema import workflow_schema
from pixirnb.verbs.answers import Answer
from pixirnb.verbs.options import Common, is_json
from pixirnb.wording import cut

Template = Literal["shell", "python", "agents", "merge"]
Shell = Literal["bash", "zsh", "fish"]
Folder = Annotated[Path | None, Parameter(help="Folder to write to; default: the current folder.")]
All = Annotated[bool, Parameter(name="--all", negative="", help="Copy all of them.")]

_PACKAGE: Final = Path(__file__).parents[1]
_TEMPLATES: Final = Path(__file__).parent / "templates"
_COMPANIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "dashboard_refactor.yaml": ("dashboard_repositories.sh",)
}
"""Files that an example needs next to it."""
_ABOUT: Final = 100
"""Characters of a description."""
_REPOSITORY: Final = frozenset({"self_check.yaml"})
"""Examples that only work in the repository of pixirnb."""


def init(
    template: Template = "shell", /, *, to: Folder = None, common: Common | None = None
) -> Answer:
    """Write a commented workflow that runs as it is, and the JSON Schema for your editor.

    Args:
        template: What its steps do: run commands, call Python, delegate to agents, or merge isolated changes.
    """
    folder = to or Path()
    files = {
        "workflow.yaml": (_TEMPLATES / f"{template}.yaml").read_bytes(),
        "workflow.schema.json": f"{json.dumps(workflow_schema(), indent=2)}\n".encode(),
    }
    if template == "python":
        files["steps.py"] = (_TEMPLATES / "steps.py").read_bytes()
    return _write(folder, files, f"Run it with `pixirnb run {folder / 'workflow.yaml'}`.", common)


def examples(
    *names: str, to: Folder = None, all_: All = False, common: Common | None = None
) -> Answer:
    """List the examples and notebooks that come with pixirnb, or copy them.

    Args:
        names: Examples to copy, by name.
    """
    known = {path.name: path for path in _shipped()}
    if not names and not all_:
        rows = [
            {"name": path.stem, "file": name, "about": _about(path)} for name, path in known.items()
        ]
        return Answer("examples", {"ok": True, "examples": rows}, is_json=is_json(common))
    chosen = [*known.values()] if all_ else [_named(name, known) for name in names]
    files = {
        each.name: each.read_bytes()
        for path in chosen
        for each in (path, *(path.with_name(n) for n in _COMPANIONS.get(path.name, ())))
    }
    return _write(to or Path(), files, "", common)


def completion(shell: Shell, /) -> Answer:
    """Print the completion script of a shell: verbs, options and their values.

    Args:
        shell: The shell that reads the script.
    """
    from pixirnb.verbs.app import app

    return Answer("message", {"ok": True, "message": _completion_script(app, shell)})


def _write(folder: Path, files: Mapping[str, bytes], next_: str, common: Common | None) -> Answer:
    """Write files to a folder, all or none; a file with the expected content stays. Raises Cannot."""
    paths = {folder / name: content for name, content in files.items()}
    kept: list[str] = []
    try:
        taken = [path for path, content in paths.items() if _differs(path, content)]
        if taken:
            raise Cannot(
                f"{', '.join(map(str, taken))} exists",
                fix="remove it, or choose another folder with --to FOLDER",
                code="file_exists",
            )
        folder.mkdir(parents=True, exist_ok=True)
        kept = [str(path) for path in paths if path.exists()]
        for path, content in paths.items():
            path.write_bytes(content)
    except OSError as error:
        raise Cannot(
            f"cannot write to {folder}: {error.strerror}",
            fix="choose another folder with --to FOLDER",
            code="file_unwritable",
        ) from error
    names = [str(path) for path in paths]
    wrote = ", ".join(name for name in names if name not in kept)
    parts = [f"Wrote {wrote}."] if wrote else []
    parts += [f"Already there, unchanged: {', '.join(kept)}."] if kept else []
    document = {"ok": True, "message": " ".join(filter(None, (*parts, next_))), "files": names}
    return Answer("message", document, is_json=is_json(common))


def _differs(path: Path, content: bytes) -> bool:
    return (path.exists() or path.is_symlink()) and (
        not path.is_file() or path.read_bytes() != content
    )


def example_names() -> list[str]:
    """Return the names of the examples and notebooks."""
    return [path.stem for path in _shipped()]


def _shipped() -> Iterable[Path]:
    """Return the example workflows and notebooks, by name: of the wheel, or of the repository in a checkout."""
    shipped = _PACKAGE / "shipped"
    root = shipped if shipped.is_dir() else _PACKAGE.parent
    left_out = _REPOSITORY if root == shipped else frozenset[str]()
    paths = [*(root / "examples").glob("*.yaml"), *(root / "notebooks").glob("*.ipynb")]
    return sorted(
        (path for path in paths if path.name not in left_out),
        key=lambda path: (path.suffix, path.name),
    )


def _named(name: str, known: Mapping[str, Path]) -> Path:
    """Return an example by its name, with or without its suffix. Raises InvalidArguments."""
    for path in known.values():
        if name in {path.name, path.stem}:
            return path
    stems = [path.stem for path in known.values()]
    fix = did_you_mean(name, stems, otherwise="run `pixirnb examples` for a list")
    raise InvalidArguments(f"unknown example `{name:.80}`", fix=fix, code="unknown_example")


def _about(path: Path) -> str:
    """Return the first sentence of an example: its first comment, or the title of its notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        notebook: JsonObject = json.loads(text)
        return "Notebook: " + "".join(notebook["cells"][0]["source"]).partition("\n")[0].lstrip(
            "# "
        )
    comment = " ".join(line.lstrip("# ") for line in text.splitlines()[:3] if line.startswith("#"))
    sentence = re.match(r"[^.]+(?:\.(?!\s)[^.]+)*", comment)
    return cut(sentence[0], _ABOUT) if sentence else ""


def _completion_script(app: App, shell: Shell) -> str:
    """Return what cyclopts generates for a shell, and below it what only the program can answer, or else files."""
    script = app.generate_completion(prog_name="pixirnb", shell=shell)
    # Readline completes files better than `compgen -f`: folders get their slash.
    script = script.replace('COMPREPLY=( $(compgen -f -- "${cur}") )', "COMPREPLY=()")
    script = script.replace("complete -F _pixirnb pixirnb\n", "")
    below = (_TEMPLATES / f"completion.{shell}").read_text(encoding="utf-8")
    # With _PIXIRNB_COMPLETE, the options that take a value, the program prints what may stand last (see `cli.complete`).
    below = below.replace("@OPTIONS@", _with_value(app))
    return f"{script.rstrip()}\n\n{below}".rstrip()


def _with_value(app: App) -> str:
    """Return the options that take a value, as the script of bash lists them."""
    script = app.generate_completion(prog_name="pixirnb", shell="bash")  # noqa: S604 - the name of one
    listed = re.search(r"options_with_values='([^']*)'", script)
    return "" if listed is None else listed[1]
