"""Codec for the values of steps: text, JSON, npy and Parquet for anyone; a signed pickle for everything else.

    encode(object) ──▶ StoredValue (+ bytes for a blob) ──▶ decode(stored, bytes) == object

No value changes on the way: JSON is used only if it returns exactly the same value, so a tuple, an `int` subclass or
a dict with other keys than strings becomes a pickle. A pickle can run code when it is loaded; it is loaded only if
its signature, made with this user's key, is valid, or the caller passes `trust=True`. Source: contract.md §3.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import math
import os
import pickle
import re
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any, Final

from pixirnb.errors import Cannot, InternalError, StateUnusable
from pixirnb.history.events import StoredValue
from pixirnb.json_types import deep_copy
from pixirnb.spec.limits import nests_too_deep
from pixirnb.system.atomic_files import keep_names, let_go
from pixirnb.system.system_calls import open_plain, retry_eintr

INLINE_LIMIT: Final = 16 * 1024
"""Maximum number of bytes of text or JSON in the log itself; anything larger is a blob."""

_KEY_BYTES: Final = 32
_CHUNK: Final = 1024 * 1024
_INT_BITS: Final = 14_284
"""Bits of 4,300 digits, which Python reads by default: a step may have lifted the limit of its process."""
_PURPOSE: Final = b"pixirnb value"
_LOCAL_CLASS: Final = re.compile(r"(?:<locals>|__pixirnb_step__)\.(\w+)")
"""Name of a class, in pickle's own words, that no module leads to."""

_KNOWN = frozenset({"numpy", "pandas", "polars", "pyarrow", "scipy", "torch"})
"""Libraries whose values may be asked for their shape."""
_GLANCE = 80
"""Maximum number of characters of a value in a few words."""


class Unserialisable(Exception):
    """Raised when an object cannot be stored. The text is one sentence for the author of the step."""


def encode(value: object) -> tuple[StoredValue, bytes | None]:
    """Return `value` in its stored form, and its bytes if they belong in a blob (None: all of it is in the StoredValue).

    A pickle is unsigned: `sign` it where the user's key may be read. Raises Unserialisable.
    """
    if value is None:
        return {"format": "none"}, None
    if type(value) is str and (data := _utf8(value)) is not None:
        return _inline_or_blob("text", value, data)
    if _is_plain(value) and (read := _json(value)) is not None:
        return _inline_or_blob("json", *read)
    return _npy(value) or _parquet(value) or _pickle(value)


def sign(stored: StoredValue, data: bytes | None, key: bytes) -> StoredValue:
    """Sign the bytes of `stored` if it is a pickle; else return it unchanged."""
    if stored["format"] != "pickle" or data is None:
        return stored
    return {**stored, "signature": _signature(data, key)}


def decode(
    stored: StoredValue, data: bytes | None = None, key: bytes | None = None, *, trust: bool = False
) -> Any:
    """Return the object, the caller's own. `data` is the blob, if there is one; `key` is needed for pickles only.

    Raises:
        Cannot: code `value_not_trusted`, for a pickle without a valid signature; code `value_unreadable`, if the package
            for it is not installed or the bytes are damaged.
    """
    form = stored["format"]
    if form == "none":
        return None
    if data is None:
        if "value" not in stored:
            raise InternalError("the blob of a stored value is missing")
        return deep_copy(stored["value"])
    if form == "pickle":
        return _unpickle(stored, data, key, trust=trust)
    try:
        return _read(stored, data)
    except Exception as error:  # bytes of a step's process: their reader may raise anything
        raise Cannot(
            f"a stored {form} value cannot be read here: {error}",
            fix="run `pip install 'pixirnb[frames]'`",
            code="value_unreadable",
        ) from error


def sign_file(stored: StoredValue, path: Path, key: bytes) -> StoredValue:
    """Sign bytes in a file that may be larger than memory, like `sign`."""
    if stored["format"] != "pickle":
        return stored
    hashed = _keyed(key)
    with open_plain(path) as file:
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
    return {**stored, "signature": "b2k:" + hashed.hexdigest()}


def is_trusted(stored: StoredValue, data: bytes | None, key: bytes) -> bool:
    """Return whether `decode` would load it without `trust=True`; loads nothing."""
    if stored["format"] != "pickle":
        return True
    return data is not None and _is_signed(stored, data, key)


def require_signature(stored: StoredValue, data: bytes, key: bytes | None) -> None:
    """Raise Cannot (`value_not_trusted`) for a pickle that this user did not sign; loads nothing."""
    if key is None or not _is_signed(stored, data, key):
        raise Cannot(
            f"a stored {stored.get('type', 'object')} is not signed by this user; loading it could run foreign code",
            fix="rerun the step that makes it, or pass trust=True if you trust the source of the run",
            code="value_not_trusted",
        )


def config_folder() -> Path:
    """Return the user's own folder, which may be missing: `pixirnb` in the config folder. Raises StateUnusable."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - Path raises another
    if base.startswith("~"):
        raise StateUnusable("this user has no home folder", "set HOME or XDG_CONFIG_HOME")
    return Path(base, "pixirnb")


def user_key() -> bytes:
    """Return this user's signing key, made on first use: `pixirnb/key` in the config folder, readable by its owner alone.

    Raises StateUnusable when it cannot be made or is not this user's own.
    """
    path = config_folder() / "key"
    try:
        if not path.exists():
            _make_key(path)
            keep_names.cache_clear()
        keep_names(path.parent, 2)
        status = path.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise StateUnusable(
                f"the signing key {path} is readable or writable for other users",
                fix=f"remove {path}; a new key is created and steps with values signed by it run again",
            )
        key = path.read_bytes()
    except OSError as error:
        raise StateUnusable(
            f"the signing key {path} cannot be used: {error.strerror or error}",
            fix="make the config folder writable, or set XDG_CONFIG_HOME to a writable one",
        ) from error
    if len(key) != _KEY_BYTES:
        raise StateUnusable(f"the signing key {path} is damaged", fix=f"remove {path}")
    return key


def known_key() -> bytes | None:
    """Return this user's signing key, or None; makes none, and never raises."""
    try:
        return user_key() if (config_folder() / "key").exists() else None
    except (OSError, StateUnusable):
        return None


def _make_key(path: Path) -> None:
    """Make the key completely or not at all; the first of two makers wins: written to a temporary file, then linked."""
    retry_eintr(path.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f"key.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process was first: its key is the key
            retry_eintr(os.link, aside, path)
    finally:
        let_go(aside)


def _inline_or_blob(form: Any, value: object, data: bytes) -> tuple[StoredValue, bytes | None]:
    # An event takes nothing that nests without end; in a blob it is bytes like any other.
    if len(data) <= INLINE_LIMIT and not nests_too_deep(value):
        return {"format": form, "value": value, "bytes": len(data)}, None
    if form == "text":
        return {"format": "text", "bytes": len(data)}, data
    return {"format": form, "bytes": len(data), "glance": glance(value)}, data


def _utf8(text: str) -> bytes | None:
    """Return UTF-8; None for lone surrogates, which a log would have to replace."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _is_plain(value: object) -> bool:
    """Return whether JSON returns exactly this value.

    Walks without recursion: users decide the depth, cycles end in `_json`.
    """
    queue: list[object] = [value]
    seen: set[int] = set()
    while queue:
        item = queue.pop()
        kind = type(item)
        if kind in (str, bool, type(None)):
            continue
        if kind is int:
            assert isinstance(item, int)
            if item.bit_length() > _INT_BITS:
                return False
            continue
        if kind is float:
            assert isinstance(item, float)
            if not math.isfinite(item):
                return False
        elif kind is list or kind is dict:
            if id(item) in seen:
                return False  # shared or circular: JSON would make copies of it
            seen.add(id(item))
            if isinstance(item, dict):
                if any(type(key) is not str for key in item):
                    return False
                queue.extend(item)
                queue.extend(item.values())
            elif isinstance(item, list):
                queue.extend(item)
        else:
            return False
    return True


def _json(value: object) -> tuple[object, bytes] | None:
    """Return the value as it is read back, which the step does not hold, and its bytes.

    None for what cannot be read back: depth, digits beyond the interpreter's limit.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = text.encode()
        return json.loads(data), data
    except (ValueError, RecursionError):
        return None


def _npy(value: object) -> tuple[StoredValue, bytes] | None:
    numpy = sys.modules.get("numpy")
    # An array can only come from a numpy that is imported already: looking never imports it.
    if numpy is None or type(value) is not getattr(numpy, "ndarray", None):
        return None
    assert isinstance(value, numpy.ndarray)
    if value.dtype.hasobject:
        return None
    file = io.BytesIO()
    numpy.save(file, value, allow_pickle=False)
    data = file.getvalue()
    return {
        "format": "npy",
        "bytes": len(data),
        "type": "numpy.ndarray",
        "glance": glance(value),
    }, data


def _parquet(value: object) -> tuple[StoredValue, bytes] | None:
    """Return a frame as Parquet if the round trip is exact; frames that it would change (other labels, attrs,
    objects) are pickled.
    """
    arrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
    is_table = type(value) is getattr(arrow, "Table", ())
    if not is_table and type(value) is not getattr(pandas, "DataFrame", ()):
        return None
    frame: Any = value
    if not is_table and any(type(label) is not str for label in frame.columns):
        return None
    try:
        import pyarrow
        import pyarrow.parquet

        table = frame if is_table else pyarrow.Table.from_pandas(frame)
        file = io.BytesIO()
        pyarrow.parquet.write_table(table, file)
        data = file.getvalue()
        back = pyarrow.parquet.read_table(io.BytesIO(data))
        same = back.equals(frame) if is_table else _same_frame(back.to_pandas(), frame)
    except (ImportError, ValueError, TypeError, NotImplementedError):
        return None  # pyarrow's own errors are ValueErrors and TypeErrors: a pickle will do
    if not same:
        return None
    kind = "pyarrow.Table" if is_table else "pandas.DataFrame"
    return {"format": "parquet", "bytes": len(data), "type": kind, "glance": glance(value)}, data


def _same_frame(back: Any, frame: Any) -> bool:
    return bool(
        back.equals(frame)
        and back.columns.equals(frame.columns)
        and back.index.equals(frame.index)
        and list(back.dtypes) == list(frame.dtypes)
        and getattr(back.index, "freq", None) == getattr(frame.index, "freq", None)
        and back.flags == frame.flags
        and not frame.attrs
        # `equals` takes NaN for None, 1.0 for 1.00 and `bytearray` for `bytes`.
        and all(
            set(map(type, frame.iloc[:, position])) <= {str, type(None)}
            for position, dtype in enumerate(frame.dtypes)
            if str(dtype) == "object"
        )
    )


def _pickle(value: object) -> tuple[StoredValue, bytes]:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    try:
        data = pickle.dumps(value, protocol=5)
    except Exception as error:  # an object's own __reduce__ may raise anything
        if local := _LOCAL_CLASS.search(str(error)):
            kinds = "functions" if isinstance(value, FunctionType) else "classes"
            raise Unserialisable(
                f"{kinds} defined in a cell or a function cannot be stored; "
                f"define `{local[1]}` in a module, or return data"
            ) from error
        raise Unserialisable(
            f"a value of type {kind} cannot be stored ({type(error).__name__}: {error}); "
            "return data or write a file"
        ) from error
    return {"format": "pickle", "bytes": len(data), "type": kind, "glance": glance(value)}, data


def glance(value: object) -> str:
    """Return a value in a few words: `20 × 2 DataFrame`, `array of 6`, `90`, `tuple of 3`, `Figure`.

    Asks only builtin containers and values of well-known libraries for more than their type: all else could run anything.
    """
    kind = type(value)
    name = {"ndarray": "array"}.get(kind.__name__, kind.__name__)
    if isinstance(value, list | tuple | dict | set | frozenset) and kind.__module__ == "builtins":
        return f"{name} of {len(value):,}"
    shape = getattr(value, "shape", None) if kind.__module__.split(".")[0] in _KNOWN else None
    if not isinstance(shape, tuple):
        return name[:_GLANCE]
    if not shape:
        return " ".join(str(value).split())[:_GLANCE]
    if len(shape) == 1:
        return f"{name} of {shape[0]:,}"
    return f"{' × '.join(f'{size:,}' for size in shape)} {name}"


def _unpickle(stored: StoredValue, data: bytes, key: bytes | None, *, trust: bool) -> Any:
    if not trust:
        require_signature(stored, data, key)
    try:
        return _on_its_own(pickle.loads(data))  # noqa: S301 — signed by this user, or explicitly trusted
    except Exception as error:  # an object's own __setstate__ may raise anything
        raise Cannot(
            f"a stored {stored.get('type', 'object')} cannot be read here: {type(error).__name__}: {error}",
            fix="rerun the step that makes it, with the module of its class importable",
            code="value_unreadable",
        ) from error


def _on_its_own(value: Any) -> Any:
    """Remove a loaded figure from pyplot's open figures, so that a cell does not draw it twice."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and isinstance(value, pyplot.Figure):
        pyplot.close(value)
    return value


def _is_signed(stored: StoredValue, data: bytes, key: bytes) -> bool:
    # As bytes: a stranger's text need not be ASCII, and only such texts can be compared.
    signature = str(stored.get("signature", "")).encode("utf-8", "surrogatepass")
    return hmac.compare_digest(signature, _signature(data, key).encode())


def _signature(data: bytes, key: bytes) -> str:
    hashed = _keyed(key)
    hashed.update(data)
    return "b2k:" + hashed.hexdigest()


def _keyed(key: bytes) -> hashlib.blake2b:
    return hashlib.blake2b(key=key, person=_PURPOSE, digest_size=32)


def _read(stored: StoredValue, data: bytes) -> Any:
    match stored["format"]:
        case "text":
            return data.decode("utf-8", errors="replace")  # what was printed is kept as it was
        case "json":
            return json.loads(data)
        case "jsonl":
            return [json.loads(line) for line in data.splitlines()]
        case "npy":
            import numpy

            return numpy.load(io.BytesIO(data), allow_pickle=False)
        case "parquet":
            import pyarrow.parquet

            table = pyarrow.parquet.read_table(io.BytesIO(data))
            return table if stored.get("type") == "pyarrow.Table" else table.to_pandas()
        case form:
            raise ValueError(f"unknown format {form!r}")
