"""Why a step cannot be given its work."""

from __future__ import annotations


class WorkRefused(Exception):
    """Raised when a step cannot be given what it refers to; `kind` is the error kind of the attempt."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
