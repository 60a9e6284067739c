"""The reason why a coding agent exited: its last message, and whether a retry may help.

An agent that gives up gives the reason on standard error, or in its last line. That line goes into the error, and a
missing login is not retried. Well-known phrases decide; in doubt the kind stays unchanged.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from pixirnb.protocols.work import Ended, Output, RunnerEvent
from pixirnb.runners.output.ansi import plain

_KEPT: Final = 8 * 1024
"""Number of bytes kept of a stream's end. A line that begins before them is not shown: masks need a whole secret."""
_LINES: Final = 30
_UNEXPLAINED: Final = frozenset({"exit", "crash", "agent_silent", "protocol_error"})
"""Kinds of end without a reason of their own."""
_TELLING: Final = re.compile(
    r"\b(errors?|fatal|fail(ed|ure)|denied|invalid|unauthori[sz]ed|required|cannot|unable|refused|limit)\b"
    r"|\bnot (found|logged in|set)\b|\b(log|sign) ?in\b|Error:",
    re.IGNORECASE,
)
_AUTH: Final = re.compile(
    r"unauthori[sz]ed|not (logged|signed) in|\bplease (run\W{0,3}\S*\W{0,2})?(/?log ?in|sign ?in|authenticate)\b"
    r"|\b(run|use)\W{1,3}([\w-]+ )*/?(auth )?login\b"
    r"|\bauthenticat(ion|e)\b.{0,40}\b(required|failed|missing|error|expired|invalid)"
    r"|\b(missing|no|invalid|required?)\b.{0,30}\bauth(entication|orization)?\b( \w+)?"
    r"( (method|type|information|found|header|is selected))"
    r"|set an auth method|\b(invalid|incorrect|missing|expired|no)\b.{0,20}\bapi[ _-]?key\b|\binvalid x-api-key\b"
    r"|\bapi[ _-]?key\b.{0,40}\b(not set|missing|invalid|required|must be set|not found|not valid)\b"
    r"|\b[A-Z]+_(API_KEY|TOKEN)\b.{0,40}\b(not set|missing|required|must be set)\b"
    r"|\b(oauth )?token\b.{0,20}\b(expired|revoked)\b|\bno provider configured\b"
    r"|\b(status|http|error|code)\b\W{0,3}(code\W{0,2})?401\b",
    re.IGNORECASE,
)
_BUSY: Final = re.compile(
    r"\b(status|http|error|code)\b\W{0,3}(code\W{0,2})?(408|425|429|500|502|503|504|529)\b"
    r"|\brate.?limit|\btoo many requests\b|\boverloaded\b|\bservice unavailable\b|\bbad gateway\b"
    r"|\bgateway time-?out\b|\brequest time-?out\b|\bfetch failed\b|\bconnection (refused|reset|closed|error)\b"
    r"|\bstream (disconnected|closed)\b|\bE(CONNRESET|CONNREFUSED|TIMEDOUT|NOTFOUND|AI_AGAIN|PIPE)\b",
    re.IGNORECASE,
)


def kind_of_message(text: str) -> str | None:
    """Return the error kind of an agent's message: `auth_required`, `provider_transient`; None for any other."""
    if _AUTH.search(text):
        return "auth_required"
    return "provider_transient" if _BUSY.search(text) else None


class LastWords:
    """Collects the output of a coding agent's process to find its last message."""

    def __init__(self) -> None:
        self._tails = {"stderr": bytearray(), "stdout": bytearray()}

    def hear(self, event: RunnerEvent) -> None:
        """Add an event of the work."""
        if isinstance(event, Output):
            tail = self._tails[event.stream]
            tail += event.chunk[-_KEPT - 1 :]
            del tail[: -_KEPT - 1]

    def explained(self, ended: Ended) -> Ended:
        """Return the end with its reason, if the agent exited by itself and gave one."""
        if ended.status != "failed" or ended.error_kind not in _UNEXPLAINED | {"agent_failed"}:
            return ended
        last_message = str(ended.details.get("said") or "")
        if not last_message and ended.error_kind in _UNEXPLAINED:
            last_message = self._last()
            if last_message:
                message = (
                    f"{ended.message.rstrip().removesuffix('.')}; its last message: {last_message}"
                )
                ended = replace(
                    ended, message=message, details={**ended.details, "said": last_message}
                )
        can_say = ended.error_kind in {"exit", "agent_failed"} or ended.details.get("exit_code")
        kind = kind_of_message(last_message) if can_say else None
        return ended if kind is None else replace(ended, error_kind=kind)

    def _last(self) -> str:
        """Return the last line with content, of standard error before standard output."""
        for tail in self._tails.values():
            text = tail.decode("utf-8", errors="replace")
            if len(tail) > _KEPT:
                text = text.partition("\n")[2]
            lines = [line for line in map(str.strip, plain(text).splitlines()) if line]
            lines = [line for line in lines[-_LINES:] if not line.startswith("[acp] ")]
            if lines:
                return next(filter(_TELLING.search, reversed(lines)), lines[-1])
        return ""
