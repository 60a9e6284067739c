"""Pages that can be followed: their blocks are pasted, in order, into an empty folder and a fresh notebook, and run.

What a page holds, and what happens to it:

- a `sh` block is run by a shell and must succeed;
- a `console` block is a row of commands behind `$ `, each with what it prints below; `…` stands for lines left out;
- a `yaml` block is saved: under the name in its first line (`# sales.yaml`), else as NAME.yaml of its workflow;
- any other block whose first line names a file (`# steps.py`) is saved as that file;
- a `python` or `yaml` block without a file is a cell; a `text` block below it is what the cell prints;
- `<!-- not run: REASON -->` above a block leaves it out.

RUN in a command is the last run that was seen. `make pages` runs pages and writes what the commands print now into them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

FENCE: Final = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n\n?)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FILE: Final = re.compile(r"^(?:#|//) ([\w.][\w./-]*\.(?:ya?ml|py|toml|csv|md))\b")
RUN_ID: Final = re.compile(r"r-\d{8}-\d{6}-[a-z0-9]{6}")
SPAN: Final = re.compile(r" *\b(?:\d+ (?:min|m|h) )?[\d.]+ m?s\b")
"""With the blanks before it: a column of spans is as wide as they are long."""
MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z| [A-Z]{3,4})?")
SIZE: Final = re.compile(r" *\b\d+(?:\.\d)? KiB$", re.MULTILINE)
"""At the end of a row: the size of a run, whose log names the folder that it ran in."""
ROOT: Final = Path(__file__).parents[1]
FIRST: Final = ("README.md", "docs/quickstart/terminal-and-ci.md", "docs/quickstart/notebook.md")
"""Pages that `make test` follows; the others are swept."""
ELSEWHERE: Final = frozenset({"docs/how-to/unattended.md"})
"""Followed by `tests/notebook/kernel/test_cell_wait.py`, which runs notebooks."""
HOME: Final = "~/flow"
"""How pages write the folder that they are followed in."""
ELLIPSIS: Final = "…"
SHELL: Final = """
import contextlib, io, json, os, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.colors = "nocolor"
answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        ended = shell.run_cell(json.loads(line))
    print(json.dumps({"printed": printed.getvalue(), "ok": ended.success}), file=answers, flush=True)
os.chdir("/")
"""


class Differs(AssertionError):
    """A page that does not do what it shows."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    language: str
    text: str
    start: int
    """Offset of its text in the page."""
    reason: str | None
    """Why it is not run."""

    @property
    def file(self) -> str | None:
        """Name of the file that the block is, from its first line."""
        found = FILE.match(self.text)
        return found[1] if found else None

    @property
    def is_cell(self) -> bool:
        """True if a notebook runs the block."""
        magic = self.text.startswith("%")
        return (self.language == "python" and self.file is None) or magic


@dataclass(slots=True)
class Notebook:
    """A shell of IPython in a process of its own, started by the first cell of a page."""

    _process: subprocess.Popen[str] | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.restart()

    def restart(self) -> None:
        """End the process, if there is one: the next cell starts another."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def run(self, folder: Path, cell: str) -> tuple[str, bool]:
        """Return what a cell prints, and whether it raised nothing."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SHELL],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=folder,
                env=environment(),
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(cell), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        return answer["printed"], answer["ok"]


def environment() -> dict[str, str]:
    """Return the environment of a person who follows a page: pixirnb on the path, a plain terminal, one time zone."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    plain = {"NO_COLOR": "1", "COLUMNS": "120", "TZ": "UTC", "PATH": path}
    author = {f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME",)}
    mail = {f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")}
    return {**os.environ, **plain, **author, **mail}


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    return [
        Block(found["language"], found["text"], found.start("text"), found["reason"])
        for found in FENCE.finditer(page)
    ]


def plain(text: str, folder: Path) -> list[str]:
    """Return the lines of an output without what differs from run to run."""
    text = RUN_ID.sub("RUN", text.replace(str(folder), HOME))
    text = SIZE.sub(" N KiB", SPAN.sub(" N ms", MOMENT.sub("MOMENT", text)))
    lines = [re.sub(r"(?<=\S)  +", "  ", line).rstrip() for line in text.strip("\n").splitlines()]
    return [re.sub(r"-{3,}|─{3,}", "---", line) for line in lines]


def matches(shown: list[str], printed: list[str]) -> bool:
    """Return whether an output is what a page shows, `…` standing for any lines."""
    if ELLIPSIS not in shown:
        return shown == printed
    cut = shown.index(ELLIPSIS)
    if shown[:cut] != printed[:cut]:
        return False
    rest = shown[cut + 1 :]
    return not rest or any(matches(rest, printed[n:]) for n in range(cut, len(printed) + 1))


def commands(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield each command of a console block with what it prints, and the bounds of that in the block."""
    prompts = list(re.finditer(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n", text, re.MULTILINE))
    for prompt, following in zip(prompts, [*prompts[1:], None], strict=True):
        end = following.start() if following else len(text)
        yield prompt[1], text[prompt.end() : end], prompt.end(), end


@dataclass(slots=True)
class Follower:
    """A person who pastes the blocks of a page into one folder and one notebook."""

    folder: Path
    notebook: Notebook
    run_id: str = "RUN"
    changes: list[tuple[int, int, str]] = field(default_factory=list)
    """Parts of the page that show something else: start, end, what is printed now."""

    def follow(self, page: str) -> int:
        """Run every block of a page, note what differs, and return how many were run."""
        count = 0
        rows = blocks(page)
        self.notebook.restart()
        for n, block in enumerate(rows):
            if block.reason or block.language == "text":
                continue
            if block.is_cell:
                below = rows[n + 1] if n + 1 < len(rows) else None
                self._cell(block, below if below and below.language == "text" else None)
            elif block.language == "console":
                self._console(block)
            elif block.language == "sh":
                done = self._shell(block.text, errors=True)
                if done.returncode:
                    raise Differs(f"{block.text}\n{done.stdout}")
            elif name := block.file or self._workflow(block):
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
            count += 1
        return count

    def rewritten(self, page: str) -> str:
        """Return the page with what its commands print now."""
        for start, end, text in sorted(self.changes, reverse=True):
            page = page[:start] + text + page[end:]
        return page

    def _workflow(self, block: Block) -> str | None:
        named = re.search(r"^name: *([\w-]+)", block.text, re.MULTILINE)
        if block.language == "yaml" and named is None:
            raise Differs(f"a workflow without a name:\n{block.text}")
        return f"{named[1]}.yaml" if block.language == "yaml" and named else None

    def _shell(self, line: str, *, errors: bool = False) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", *(["-e"] if errors else []), "-c", line],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def _console(self, block: Block) -> None:
        for line, shown, start, end in commands(block.text):
            said = self._shell(re.sub(r"\bRUN\b", self.run_id, line)).stdout
            said = re.sub(rf"^(?:Started|Resumed) {RUN_ID.pattern} [^\n]*\n", "", said)
            if found := RUN_ID.search(said):
                self.run_id = found[0]
            self._compare(shown, said, block.start + start, block.start + end)

    def _cell(self, block: Block, below: Block | None) -> None:
        printed, ok = self.notebook.run(self.folder, block.text)
        if not ok and below is None:
            raise Differs(f"{block.text}\n{printed}")
        if below is not None:
            self._compare(below.text, printed, below.start, below.start + len(below.text))

    def _compare(self, shown: str, said: str, start: int, end: int) -> None:
        expected, printed = plain(shown, self.folder), plain(said, self.folder)
        if matches(expected, printed):
            return
        text = said.replace(str(self.folder), HOME).strip("\n")
        lines = [line.rstrip() for line in text.splitlines()]
        if ELLIPSIS in expected:
            lines = [*lines[: expected.index(ELLIPSIS)], ELLIPSIS]
        self.changes.append((start, end, "".join(f"{line}\n" for line in lines)))


def pages() -> list[str]:
    """Return every page for users that has a block to run, the first ones first."""
    found = [
        name
        for folder in ("docs", "docs/quickstart", "docs/how-to")
        for path in sorted((ROOT / folder).glob("*.md"))
        if (name := path.relative_to(ROOT).as_posix()) not in {*FIRST, *ELSEWHERE}
        and any(block.language != "text" for block in blocks(path.read_text(encoding="utf-8")))
    ]
    return [*FIRST, *found]


def follow(path: Path, folder: Path, notebook: Notebook) -> Follower:
    """Follow a page in an empty folder."""
    follower = Follower(folder, notebook)
    follower.follow(path.read_text(encoding="utf-8"))
    return follower


def main(names: list[str]) -> None:
    """Write into pages what their commands print now."""
    with Notebook() as notebook:
        for name in names:
            path = Path(name)
            page = path.read_text(encoding="utf-8")
            with tempfile.TemporaryDirectory(prefix="page-") as room:
                folder = Path(room, "here")
                folder.mkdir()
                try:
                    follower = follow(path, folder, notebook)
                except Differs as stopped:
                    print(f"{name}: {stopped}")
                    continue
            path.write_text(follower.rewritten(page), encoding="utf-8")
            print(f"{name}: {len(follower.changes)} outputs written")


if __name__ == "__main__":
    main(sys.argv[1:] or pages())
