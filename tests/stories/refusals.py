"""A command that must be refused: what it said, held to the house's rule of one or two lines and no traceback."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.verbs.command import command


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a refused command said."""

    code: int
    lines: list[str]
    out: str

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)


def refused(*tokens: str | Path, mistakes: int = 0) -> Refusal:
    """A command that must be refused in two lines at most, and one more for each mistake of a spec."""
    said = command(*tokens)
    found = Refusal(said.code, said.err.splitlines(), said.out)
    assert said.code in {2, 5}, found
    assert found.out == ""
    assert 1 <= len(found.lines) <= 2 + 2 * mistakes, found
    assert "Traceback" not in found.text
    assert "Error(" not in found.text
    return found


def trees(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, locks and leases apart."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in {"lock", "lease.json"}
    }
