"""The source that is pinned of a `%%step` cell: a function around the cell's body, each line where the author wrote it.

    1  %%step clean --workflow w --after raw    →   def step_clean(raw):  # %%step clean
    2  # rows that say something                →       # rows that say something
    3  [row for row in raw if row]              →       return [row for row in raw if row]

Line n of the source is line n of the cell, so that whatever Python says of it names the line the author sees. Comments and
formatting stay, and so does every character inside a text of several lines.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import symtable
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from pixirnb.errors import InvalidSpec
from pixirnb.runners.python.functions import CELL_MARK

_INDENT: Final = "    "
_ALL_NAMES: Final = frozenset({"locals", "vars", "dir", "eval", "exec"})
"""Functions that may read any name: a step that calls one gets all names."""
_SEEN_EVERYWHERE: Final = frozenset(dir(builtins)) - {"display", "get_ipython"}
"""The kernel adds two names to the builtins while a cell runs; a step must not count on them."""
_KERNEL_SYNTAX: Final = re.compile(r"\s*([%!?]|[\w., ]+=\s*[%!])|.*\w\?{1,2}\s*$")
"""A line of IPython's own: a magic, a shell command, a question. Only asked about lines that are no Python."""


class StepSource(Struct, frozen=True):
    """Pinned source of a step, and the facts known of it without running it."""

    text: str
    takes: frozenset[str]
    """The parameters of the function: of what was offered, the names it uses; and all that was recorded for it."""
    unseen: tuple[tuple[str, int], ...]
    """Names that it uses and does not get, each with its line of the cell."""


def parameter(step_id: str) -> str:
    """Return the name under which a body sees a step's output: `-` as `_`, and made a name where the id is none."""
    name = step_id.replace("-", "_")
    if name[0].isdigit():
        return f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def function(step_id: str) -> str:
    """Return the name of a step's function in its pinned source."""
    return f"step_{step_id.replace('-', '_')}"


def step_source(
    step_id: str, body: str, *, offered: Sequence[str] = (), recorded: Sequence[str] = ()
) -> StepSource:
    """Make a function of a cell's body. `offered` become parameters where the body uses them, `recorded` in any case.

    Raises InvalidSpec (`step_syntax`, `step_await`, `empty`) with the line of the cell.
    """
    body = body.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n"
    tree = _parsed(step_id, body)
    if not tree.body:
        raise InvalidSpec(
            f"step `{step_id}` is empty",
            fix="write its Python code below the %%step line",
            code="empty",
        )
    _refuse_coroutine(step_id, tree)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    parameters = [name for name in offered if name in used or used & _ALL_NAMES]
    parameters += [name for name in recorded if name not in parameters]
    head = f"def {function(step_id)}({', '.join(parameters)}):  {CELL_MARK}{step_id}\n"
    text = head + _indented(_returning(body, tree))
    _compiled(step_id, text)
    return StepSource(text, frozenset(parameters), tuple(unseen_names(text)))


def _parsed(step_id: str, body: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(body)
    except SyntaxError as error:
        # The magic is the line above the body.
        raise _no_python(step_id, error, body, 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(step_id, error) from None


def _compiled(step_id: str, text: str) -> None:
    """Raise InvalidSpec for errors that Python finds only in a whole function: `break` outside a loop, an import of `*`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, f"<%%step {step_id}>", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _no_python(step_id, error, text, 0) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(step_id, error) from None


def _no_python(step_id: str, error: SyntaxError, text: str, above: int) -> InvalidSpec:
    rows = text.split("\n")
    line_number = error.lineno
    row = rows[line_number - 1] if line_number is not None and 0 < line_number <= len(rows) else ""
    line = None if line_number is None else line_number + above
    if _KERNEL_SYNTAX.match(row):
        return InvalidSpec(
            f"step `{step_id}` is plain Python, and `{row.strip()[:60]}` is IPython syntax",
            fix="move it to another cell, or use subprocess.run([…], check=True)",
            code="step_syntax",
            line=line,
        )
    fix = f"fix `{row.strip()[:80]}`" if row.strip() else "fix the code and run the cell again"
    if error.msg.startswith("import * only"):
        fix = "the cell becomes a function: import names one by one"
    elif error.msg.startswith("from __future__"):
        fix = "the cell becomes a function: remove the line, and quote annotations if needed"
    return InvalidSpec(
        f"syntax error in step `{step_id}`: {error.msg}",
        fix=fix,
        code="step_syntax",
        line=line,
    )


def _unreadable(step_id: str, error: BaseException) -> InvalidSpec:
    reason = str(error) or type(error).__name__
    return InvalidSpec(
        f"the code of step `{step_id}` cannot be parsed: {reason}",
        fix="remove invalid characters, or shorten the code",
        code="step_syntax",
    )


def _refuse_coroutine(step_id: str, tree: ast.Module) -> None:
    for node in _own(tree):
        match node:
            case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                what = "await"
            case ast.comprehension(is_async=1):
                what = "await"
                node = node.target  # noqa: PLW2901 - a comprehension itself has no line
            case ast.Yield() | ast.YieldFrom():
                what = "yield"
            case _:
                continue
        fix = (
            "write `async def main(): …` and end with `asyncio.run(main())`"
            if what == "await"
            else "collect the values in a list and return it"
        )
        raise InvalidSpec(
            f"step `{step_id}` cannot use `{what}`: its code runs as a plain function",
            fix=fix,
            code="step_await",
            line=getattr(node, "lineno", 0) + 1,
        )


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every node of the body itself, not of functions within it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _own(child)


def _returning(body: str, tree: ast.Module) -> str:
    """Return the body, its last expression returned; one that ends with `;` is not, as in any cell."""
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        return body
    rows = [row.encode() for row in body.split("\n")]
    assert last.end_lineno is not None
    behind = rows[last.end_lineno - 1][last.end_col_offset :]
    if behind.lstrip().startswith(b";"):
        return body
    row, column = rows[last.lineno - 1], last.col_offset
    rows[last.lineno - 1] = row[:column] + b"return " + row[column:]
    return b"\n".join(rows).decode()


def _indented(body: str) -> str:
    """Move every line to the right, but for blank ones and those that begin inside a text."""
    kept = set(_inside_texts(body))
    rows = body.split("\n")
    return "\n".join(
        row if number in kept or not row.strip() else _INDENT + row
        for number, row in enumerate(rows, 1)
    )


def _inside_texts(body: str) -> Iterator[int]:
    """Yield lines (from 1) whose beginning lies inside a text: moving it would change the text."""
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(body).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            yield from range(token.start[0] + 1, token.end[0] + 1)
        elif kind.endswith("STRING_START"):  # from Python 3.12 on, an f-string is several tokens
            opened.append(token.start[0])
        elif kind.endswith("STRING_END"):
            yield from range(opened.pop() + 1, token.end[0] + 1)


def unseen_names(source: str) -> Iterator[tuple[str, int]]:
    """Yield each name that a function's source uses and will not see when it runs, with its first line in the source.

    It sees its arguments, its own imports and the builtins.
    """
    tables = [symtable.symtable(source, "<step>", "exec")]
    used: set[str] = set()
    made: set[str] = set()
    for table in tables:
        tables += table.get_children()
        for symbol in table.get_symbols():
            is_made = symbol.is_assigned() or symbol.is_imported()
            if table.get_type() == "module" or symbol.is_global():
                (made if is_made else used).add(symbol.get_name())
    unseen = used - made - _SEEN_EVERYWHERE
    names = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))
    for node in sorted(names, key=lambda node: (node.lineno, node.col_offset)):
        if node.id in unseen:
            unseen.discard(node.id)
            yield node.id, node.lineno
