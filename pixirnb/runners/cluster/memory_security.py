"""The key of a `local:N`, which no file has: to load a key, Dask writes it to a folder for temporary files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Security

from pixirnb.errors import Cannot


class MemorySecurity(Security):
    """Certificates and a key as texts. A worker process gets them from its nanny, by a pipe."""

    @classmethod
    def new(cls) -> MemorySecurity:
        """Return new ones. Raises Cannot (`dask_missing`)."""
        try:
            security: MemorySecurity = cls.temporary()
        except ImportError as error:
            raise Cannot(
                "workers on this machine need `cryptography`, which is not installed",
                fix="run `pip install 'pixirnb[dask]'`",
                code="dask_missing",
            ) from error
        return security

    @classmethod
    def read(cls, line: str) -> MemorySecurity:
        """Return those of a line that `line` made."""
        return cls(require_encryption=True, **json.loads(line))

    def line(self) -> bytes:
        """Return them as a line of JSON."""
        fields = {name: getattr(self, name) for name in Security.__slots__}
        texts = {name: text for name, text in fields.items() if isinstance(text, str)}
        return json.dumps(texts).encode() + b"\n"

    def _get_tls_context(self, tls: dict[str, str], purpose: Any) -> Any:
        if not hasattr(os, "memfd_create"):
            return super()._get_tls_context(tls, purpose)  # macOS: a folder of the user's own
        with _nameless(tls["cert"]) as certificate, _nameless(tls["key"]) as key:
            return super()._get_tls_context({**tls, "cert": certificate, "key": key}, purpose)


@contextmanager
def _nameless(text: str) -> Iterator[str]:
    """Yield a path to a text that only this process has."""
    descriptor = os.memfd_create("pixirnb")
    try:
        os.write(descriptor, text.encode())
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
