"""Text that an agent printed and that no message has come for: what is left over when it is cut off.

What is printed and what is told come through two pipes, and either may be read first. So a message takes away the text that
was printed for it, also where that text arrives after the message.
"""

from __future__ import annotations

from typing import Final

LIMIT: Final = 128 * 1024
"""Characters that are kept: the last ones."""


class LooseText:
    """Belongs to one thread."""

    def __init__(self) -> None:
        self.text = ""
        self._late = ""
        """Text of the last message that has not been printed yet, as far as is known."""

    def hear(self, printed: str) -> None:
        """The agent printed something."""
        if self._late:
            length = min(len(self._late), len(printed))
            if printed[:length] == self._late[:length]:
                self._late, printed = self._late[length:], printed[length:]
            else:
                self._late = ""  # it was told and never printed
        self.text = (self.text + printed)[-LIMIT:]

    def told(self, message: str) -> None:
        """A message came, whole or partial."""
        heard = self.text.lstrip("\n")
        self._late = message[len(heard) :] if message.startswith(heard) else ""
        # More may have been printed before the message was read.
        is_first = bool(message) and heard.startswith(message)
        self.text = heard[len(message) :].lstrip("\n") if is_first else ""
