"""Colours for what stands in a cell: Python with magics, and the YAML of a `%%workflow`.

What neither can read is shown without a colour: notebooks show mistakes on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from IPython.lib.lexers import IPython3Lexer
from pygments.lexer import Lexer
from pygments.lexers.data import YamlLexer
from pygments.token import Error, Name, Text


class CellLexer(Lexer):
    """A code cell: after a `%%workflow` line YAML, everywhere else what IPython reads."""

    name = "cell"
    aliases = ("cell",)

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Pygments' tokens: index, type and text."""
        for index, kind, value in _tokens(text):
            yield index, Text if kind is Error else kind, value


def _tokens(text: str) -> Iterator[tuple[int, Any, str]]:
    head, newline, body = text.partition("\n")
    if not head.startswith("%%workflow"):
        yield from IPython3Lexer().get_tokens_unprocessed(text)
        return
    yield 0, Name.Decorator, head
    yield len(head), Text, newline
    start = len(head) + len(newline)
    for index, kind, value in YamlLexer().get_tokens_unprocessed(body):
        yield start + index, kind, value
