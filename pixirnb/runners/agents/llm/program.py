"""An agent on a model: our own loop of requests and tools, one request of the library at a time.

`sessions.turn` decides the next move from the events logged so far; this program executes it. The model's output is
on disk before a tool acts on it. Only a whole answer counts: a clean final message, or an accepted report. Events get
their logged form, secrets masked, before they are sent on: every request follows from the log alone. Source:
contract.md §7, docs/adr/0014-agents-are-sessions.md.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pixirnb.json_types import JsonObject
from pixirnb.runners.agents.channel import Channel, Failed
from pixirnb.runners.agents.llm.model import model_of
from pixirnb.runners.agents.llm.report_tool import (
    DEFINITION,
    NAME,
    mistakes,
    output_mistakes,
    report_of,
)
from pixirnb.runners.agents.tools.engine_calls import EngineTools
from pixirnb.runners.agents.tools.toolbox import Toolbox
from pixirnb.runners.output.mask import Mask
from pixirnb.sessions.compaction import compact
from pixirnb.sessions.events import Pair
from pixirnb.sessions.json_values import plain_data
from pixirnb.sessions.provider_input import provider_bytes, replay
from pixirnb.sessions.turn import ModelRequest, TurnEnded, TurnLimits, Use, next_move

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

    from pixirnb.runners.agents.llm.requests import Requests

_BYTES_A_TOKEN: Final = 3
"""Bytes of JSON a token, a low estimate: a conversation is compacted early, not late."""
_LONGEST_TIMEOUT_S: Final = 7 * 24 * 3600.0
_OVERFLOWS: Final = 2
"""Maximum number of times that a conversation too long for its provider is shortened and sent again."""
_CORRECTIONS: Final = 3
"""Maximum number of times that a report without the declared output is refused; then it is taken, and judged as it is."""
_NO_TURN: Final = {
    "turn_limit": "the turn did not end within {count} model requests",
    "nothing_asked": "the session contains no message to answer",
}


def run(work: JsonObject, line: Channel) -> None:
    """Run one turn. Raises Failed for a turn that did not end clean."""
    # Importing makes a great many objects that all stay: looking through them for rubbish is a sixth of the price.
    gc.disable()
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    name = str(work["session"].get("model") or "")
    model = model_of(name)
    from pixirnb.runners.agents.llm.requests import Requests

    gc.freeze()
    gc.enable()
    timeout_ms = work["session"].get("timeout_ms")
    timeout_s = _LONGEST_TIMEOUT_S if timeout_ms is None else timeout_ms / 1000
    with Requests(model, name, line, timeout_s=timeout_s) as requests:
        _Turn(work, line, requests, _limits(model, name)).take()


def _limits(model: Model, name: str) -> TurnLimits:
    standard = TurnLimits(model=name)
    window = model.profile.get("context_window")
    if not isinstance(window, int) or window <= 0:
        return standard
    room = min(standard.compact_above, window * _BYTES_A_TOKEN * 4 // 5)
    return TurnLimits(model=name, compact_above=room, keep=room // 4)


class _Turn:
    def __init__(
        self, work: JsonObject, line: Channel, requests: Requests, limits: TurnLimits
    ) -> None:
        self._line = line
        self._requests = requests
        self._limits = limits
        self._toolbox = Toolbox(work, line)
        self._engine = EngineTools(work, line)
        self._offered = [
            *self._toolbox.definitions(),
            *self._engine.definitions(),
            DEFINITION,
        ]
        self._mask = Mask(work["secrets"])
        user_message = ("user_message", {"text": work["prompt"], "origin": "prompt"})
        self._events: list[Pair] = [self._kept(kind, data) for kind, data in work["history"]]
        self._events.append(self._kept(*user_message))
        self._given: list[tuple[str, Any]] = []
        """Arguments of open calls, by call id, as given: the masked ones are logged and sent, these are used."""
        self._report: JsonObject | None = None
        self._declared = work.get("output")
        self._corrections = _CORRECTIONS
        self._request_count = 0
        self._overflows = 0

    def take(self) -> None:
        while True:
            match next_move(self._events, self._limits):
                case ModelRequest(items, before):
                    for event in before:
                        self._tell(event)
                    if before:
                        self._line.commit()
                    self._ask(items)
                case Use(calls):
                    self._use(calls)
                case TurnEnded("completed"):
                    return
                case TurnEnded("reported"):
                    self._conclude()
                    return
                case TurnEnded(reason):
                    sentence = _NO_TURN.get(reason, f"the turn ended: {reason}")
                    message = sentence.format(count=self._request_count)
                    raise Failed(reason, message, {"requests": self._request_count})

    def _kept(self, kind: str, data: JsonObject) -> Pair:
        """Return the event as the log will hold it."""
        return kind, self._mask.value(plain_data(data))

    def _tell(self, event: Pair) -> None:
        kind, data = self._kept(*event)
        self._events.append((kind, data))
        self._line.tell(kind, **data)

    def _ask(self, items: list[JsonObject]) -> None:
        from pixirnb.runners.agents.llm.messages import events_of

        response = self._response(items)
        if response is None:
            return
        for kind, data in events_of(response, self._limits.model or ""):
            if kind == "tool_call":
                self._given.append((self._mask.text(data["call_id"]), data["args"]))
            self._tell((kind, data))
        self._line.commit()

    def _response(self, items: list[JsonObject]) -> ModelResponse | None:
        """Return the model's response; None if the conversation had to be shortened first."""
        self._request_count += 1
        try:
            return self._requests.response(items, self._offered)
        except Failed as failed:
            if failed.kind != "context_overflow" or not self._has_shortened():
                raise
            return None

    def _has_shortened(self) -> bool:
        """Shorten the conversation to half, if possible; return whether it was."""
        self._overflows += 1
        if self._overflows > _OVERFLOWS:
            return False
        model = self._limits.model
        size = len(provider_bytes(replay(self._events, model=model)))
        compaction = compact(self._events, limit=size // 2, keep=size // 8, model=model)
        if compaction is None:
            return False
        self._tell(compaction)
        self._line.commit()
        return True

    # --- tools --------------------------------------------------------------------------------------------------

    def _use(self, calls: Sequence[JsonObject]) -> None:
        is_sound = True
        for index, call in enumerate(calls):
            is_last = index == len(calls) - 1
            result = self._result(call, is_last=is_last and is_sound)
            is_sound &= result["ok"]
            self._events += self._engine.take_events()
            self._tell(("tool_result", {"call_id": call["call_id"], **result}))
        self._line.commit()

    def _result(self, call: JsonObject, *, is_last: bool) -> JsonObject:
        name, args = call["name"], self._arguments(call)
        if name not in {tool["name"] for tool in self._offered}:
            names = ", ".join(tool["name"] for tool in self._offered)
            return _refusal("tool_unknown", f"Unknown tool `{name}`. Available tools: {names}.")
        if isinstance(args, str):
            return _refusal(
                "invalid_args",
                f"The arguments of `{name}` are not valid JSON or are nested too deeply: write them again.",
            )
        if not isinstance(args, dict):
            return _refusal("invalid_args", f"The arguments of `{name}` must be one JSON object.")
        if name == NAME:
            return self._take_report(args, is_last=is_last)
        if name in {tool["name"] for tool in self._engine.definitions()}:
            return self._engine.use(name, args, call["call_id"])
        used: JsonObject = self._toolbox.use(name, args, call["call_id"])
        return used

    def _arguments(self, call: JsonObject) -> Any:
        """Return arguments as the model gave them; for a call of a continued session, as in its log."""
        for index, (call_id, args) in enumerate(self._given):
            if call_id == call["call_id"]:
                del self._given[index]
                return args
        return call["args"]

    def _take_report(self, args: JsonObject, *, is_last: bool) -> JsonObject:
        wrong = mistakes(args)
        if wrong:
            return _refusal("invalid_args", f"The report was not accepted: {' '.join(wrong)}")
        if not is_last:
            why = "report after you have seen the results of your other calls, and if none of them failed"
            return _refusal("report_too_early", f"The report was not accepted: {why}.")
        if self._corrections and (wrong := output_mistakes(args, self._declared)):
            self._corrections -= 1
            return _refusal("output_invalid", f"The report was not accepted: {' '.join(wrong)}")
        self._report = report_of(args)
        self._line.report(self._report)
        return {"ok": True, "output": "The report was accepted. The turn is over."}

    def _conclude(self) -> None:
        """Log the report's summary as the agent's final message."""
        summary = str((self._report or {}).get("summary", ""))
        self._line.say(f"{summary}\n")
        data = {"text": summary, "partial": False, "final": True, "model": self._limits.model}
        self._tell(("assistant_message", data))
        self._line.commit()


def _refusal(kind: str, message: str, details: JsonObject | None = None) -> JsonObject:
    error = {"kind": kind, "message": message, "details": details or {}}
    return {"ok": False, "output": message, "error": error}
