"""The version of pixirnb."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    """Return the installed version; `unpackaged` for a checkout that is not installed."""
    try:
        return version("pixirnb")
    except PackageNotFoundError:
        return "unpackaged"
