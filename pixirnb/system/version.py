"""Which pixirnb this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    """The installed version; `unpackaged` for a checkout that nobody installed."""
    try:
        return version("pixirnb")
    except PackageNotFoundError:
        return "unpackaged"
