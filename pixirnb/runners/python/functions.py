"""Import and call of the function of a Python step, in a thread and in a child process alike.

`module:function` is imported; the step's `cwd` and workspace are appended to `sys.path` (once, and last, so that
nothing that was importable before changes its meaning). `:name` is executed from its pinned source in an empty
namespace: it sees its arguments and its own imports, nothing of the notebook. Coroutine functions run in their own
event loop.
"""

from __future__ import annotations

import importlib
import inspect
import json
import linecache
import textwrap
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

from msgspec import Struct, field

from pixirnb import value_codec
from pixirnb.errors import Cannot
from pixirnb.history.events import StoredValue
from pixirnb.json_types import JsonObject
from pixirnb.protocols.work import UnloadedValue
from pixirnb.runners.python.own_process import OwnProcess
from pixirnb.runners.python.source_loader import is_library
from pixirnb.spec.expressions.references import as_text, pick
from pixirnb.wording import cut

TRACEBACK_LINES: Final = 20
FRAMES: Final = 6
"""Maximum number of the author's frames that a failure names."""
LINE_LIMIT: Final = 4_000
"""Maximum number of characters of a traceback line."""
MESSAGE_LIMIT: Final = 64 * 1024
"""Maximum number of characters of an error's text before secrets are masked in it and it is cut for the log."""
SHOWN_LIMIT: Final = 200
"""Maximum number of characters of the value that a check returned."""
CELL_MARK: Final = "# %%step "
"""Mark before the step's id at the end of a source's first line: source lines equal lines of a notebook's `%%step` cell."""


class Failure(Struct, frozen=True):
    """The reason why there is no value: an `error_kind` of work.Ended, a sentence, and details."""

    kind: str
    message: str
    details: JsonObject = field(default_factory=dict)


class FunctionMissing(Exception):
    """Raised when the called module or function does not exist."""


def call(
    target: str,
    arguments: JsonObject,
    source: str | None,
    *,
    is_check: bool = False,
    holds_unloaded: bool = False,
    may_nest: bool = False,
) -> Any | Failure:
    """Call `target` with `arguments` by name; return its value, or a Failure for any exception, exits included.

    Args:
        is_check: return `[verdict, text]` of the value instead of the value: its truth is only known here.
        holds_unloaded: load each `UnloadedValue` among the arguments first: as the step, which a pickle may act as.
        may_nest: let a coroutine call `asyncio.run` itself; only for a process that runs nothing else.
    """
    try:
        if holds_unloaded:
            with OwnProcess():
                arguments = load_arguments(arguments)
    except Cannot as error:
        return Failure(error.code, error.one_line())
    except LookupError as error:
        return Failure("reference_missing", str(error))
    except BaseException as error:  # noqa: BLE001 — an object's own `__setstate__` may raise anything
        return failure_of(error)
    try:
        with OwnProcess():
            is_source = target.startswith(":")
            function = _from_source(target[1:], source) if is_source else _imported(target)
            value = function(**arguments)
            if inspect.isawaitable(value):
                value = _await(value, may_nest=may_nest)
            if is_check and (inspect.isgenerator(value) or inspect.isasyncgen(value)):
                raise TypeError("a check returns its verdict; one that yields has not run")
            return [bool(value), _shown(value)] if is_check else value
    except FunctionMissing as error:
        return Failure("function_missing", str(error))
    except BaseException as error:  # noqa: BLE001 — exits and interrupts raised by a step are the step's failures
        return failure_of(error)


def encode(value: Any) -> tuple[StoredValue, bytes | None] | Failure:
    """Return a value as `value_codec.encode` does, or a Failure for whatever the value's own methods raise."""
    try:
        with OwnProcess():
            return value_codec.encode(value)
    except value_codec.Unserialisable as error:
        return Failure("output_unserialisable", str(error))
    except BaseException as error:  # noqa: BLE001 — a value's own `__reduce__` may raise anything, an exit too
        return failure_of(error)


def as_list(values: list[Any]) -> list[Any]:
    """Return the values of a step's items, loaded, as its own value."""
    return values


def plain(value: Any) -> Any:
    """Return a value as JSON data for a text or a `when`; as text what JSON has no form for, a Failure what has no text."""
    try:
        text = as_text(value)
    except (TypeError, ValueError) as error:
        return Failure("reference_not_text", f"a value cannot be written as text: {error}")
    written = text.encode(errors="backslashreplace").decode()
    if isinstance(value, str) or written != text:
        return written  # half of a character has no form in JSON
    try:
        return json.loads(text, parse_constant=int)
    except ValueError:
        return text


def load(value: UnloadedValue) -> Any:
    """Return the part of a value that it refers to. Raises Cannot, and LookupError for a missing part."""
    loaded = value_codec.decode(value.stored, value.data, trust=True)
    return loaded if value.reference is None else pick(loaded, value.reference)


def load_arguments(value: Any) -> Any:
    """Return arguments with every `UnloadedValue` loaded. Raises as `load` does."""
    if isinstance(value, UnloadedValue):
        return load(value)
    if type(value) is dict:
        return {key: load_arguments(item) for key, item in value.items()}
    return [load_arguments(item) for item in value] if type(value) is list else value


def _shown(value: Any) -> str:
    """Return the beginning of a value's `repr`; its type where that fails."""
    try:
        text = cut(repr(value), SHOWN_LIMIT)
    except BaseException:  # noqa: BLE001 — a value's own `__repr__` changes nothing of its truth
        text = f"a value of type {_type_name(value)}"[:SHOWN_LIMIT]
    return text.encode(errors="backslashreplace").decode()


def _type_name(value: object) -> str:
    """Return the name of a value's class, whatever its metaclass says."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def failure_of(error: BaseException) -> Failure:
    """Return `ValueError: …` and the last lines of the traceback, without our own frames; for a cell's body also its line."""
    try:
        return _described(error)
    except BaseException:  # noqa: BLE001 — an exception's own attributes may raise anything, an exit too
        name = _type_name(error)
        message = f"{name}, which cannot be shown: its attributes raise"
        return Failure("exception", message[:MESSAGE_LIMIT], {"traceback": "", "type": name})


def _described(error: BaseException) -> Failure:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames))
    last = text.rstrip("\n").rsplit("\n", TRACEBACK_LINES)[-TRACEBACK_LINES:]
    lines = [_whole(each) for each in last]
    message = "".join(traceback.format_exception_only(error)).strip()
    if type(error) is SystemExit:
        message = f"step called sys.exit({error.code!r}); return instead"
    if (line := _line_of_cell(error)) is not None:
        message = f"line {line} of the cell: {message}"
    return Failure(
        "exception",
        message[:MESSAGE_LIMIT],
        {
            "traceback": "\n".join(lines),
            "type": _type_name(error),
            "frames": _own_frames(frames),
        },
    )


def _own_frames(begun: TracebackType | None) -> list[JsonObject]:
    """Return the author's frames, the last one first: not those of libraries, unless there are no others."""
    frames = traceback.extract_tb(begun)
    own = [frame for frame in frames if not is_library(frame.filename)]
    return [
        {
            "file": frame.filename,
            "line": frame.lineno,
            "function": frame.name,
            "code": _whole(frame.line or ""),
        }
        for frame in reversed((own or frames)[-FRAMES:])
    ]


def _whole(line: str) -> str:
    """Return a line, or its length where it is long: half a secret is no secret that a mask knows."""
    return f"[a line of {len(line)} characters]" if len(line) > LINE_LIMIT else line


def _imported(target: str) -> Callable[..., Any]:
    module_name, _, name = target.partition(":")
    try:
        module = _import(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module_name}.".startswith(f"{error.name}."):
            raise FunctionMissing(
                f"no module {error.name!r} for {target!r} in sys.path, the folder of the step or the workspace"
            ) from error
        raise
    value: Any = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError as error:
            raise FunctionMissing(f"module {module_name!r} has no function {name!r}") from error
    if not callable(value):
        raise FunctionMissing(f"{target!r} is a {type(value).__name__}, not a function")
    function: Callable[..., Any] = value
    return function


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        # An earlier step may have written the module a moment ago: the finders' directory caches do not know it yet.
        importlib.invalidate_caches()
        return importlib.import_module(name)


def _from_source(name: str, source: str | None) -> Callable[..., Any]:
    if source is None:
        raise FunctionMissing(f"the source of {name!r} was not recorded with the run")
    # Dedenting empties blank lines, inside texts too: only a source that needs it is dedented.
    text = textwrap.dedent(source) if source[:1].isspace() else source
    head = text.split("\n", 1)[0]
    is_cell = CELL_MARK in head
    filename = f"<{head.rpartition('# ')[2]}>" if is_cell else f"<step function {name}>"
    # So that a traceback shows the author's lines, though there is no file.
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: JsonObject = {
        "__name__": "__pixirnb_step__",
        "__builtins__": __builtins__,
        # In a kernel it would ask the person in the middle of other work, and record nothing.
        "input": _unanswered,
    }
    exec(compile(text, filename, "exec"), namespace)  # noqa: S102 — the step's own source is what is to be run
    function = namespace.get(name)
    if not callable(function):
        raise FunctionMissing(f"the recorded source defines no function {name!r}")
    target: Callable[..., Any] = function
    return target


def _unanswered(_prompt: object = "", /) -> str:
    raise EOFError(
        "`input()` is not available in a step; use an `ask` step or an input of the workflow"
    )


def _line_of_cell(error: BaseException) -> int | None:
    """Return the line of the cell at which its body failed; None if the failure came from elsewhere."""
    last_line = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename.startswith(f"<{CELL_MARK.removeprefix('# ')}"):
            last_line = line
    return last_line


def _await(value: Any, *, may_nest: bool) -> Any:
    import anyio

    async def wait_for_value() -> Any:
        if may_nest:
            import nest_asyncio

            nest_asyncio.apply()
        with OwnProcess():
            return await value

    return anyio.run(wait_for_value)
