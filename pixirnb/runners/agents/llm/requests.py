"""Requests to a model, one at a time: streamed, retried while nothing was shown, every attempt in the log.

The library keeps no history and retries nothing: `max_retries` is 0 wherever a provider's client takes it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final, Self

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from pixirnb.json_types import JsonObject
from pixirnb.runners.agents.channel import Channel, Failed
from pixirnb.runners.agents.llm.errors import Fault, cut_off, fault_of
from pixirnb.runners.agents.llm.messages import definitions_of, messages_of

TRIES: Final = 3
_LONGEST_WAIT_S: Final = 60.0
"""Maximum wait in seconds: if a provider asks for more, the turn ends; a retry of the step may wait that long."""
_FIRST_WAIT_S: Final = 0.5


class Requests:
    """Calls one model, on its own event loop. A context manager."""

    def __init__(self, model: Model, name: str, line: Channel, *, timeout_s: float) -> None:
        """Prepare requests to `model`; `name`: as in the spec.

        `timeout_s`: of the attempt; what the engine ends is not ended here.
        """
        self._model = model
        self._name = name
        self._line = line
        self._deadline = time.monotonic() + timeout_s
        self._settings = ModelSettings(max_retries=0, timeout=timeout_s)
        self._runner = asyncio.Runner()
        self._shown = ""
        """Text of the current response, as shown."""
        self._has_come = False
        """True if part of the response has come."""
        self._usage = RequestUsage()

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.close()

    def response(self, items: Sequence[JsonObject], tools: Sequence[JsonObject]) -> ModelResponse:
        """Return the whole response. Logs the usage of every attempt. Raises Failed, after logging the partial text."""
        parameters = ModelRequestParameters(function_tools=definitions_of(tools))
        for count in range(1, TRIES + 1):
            started = time.monotonic()
            self._shown, self._has_come, self._usage = "", False, RequestUsage()
            outcome = self._runner.run(self._stream(items, parameters))
            elapsed_ms = round((time.monotonic() - started) * 1000)
            self._end_line()
            self._tell_usage(elapsed_ms, None if isinstance(outcome, ModelResponse) else outcome)
            if isinstance(outcome, ModelResponse):
                return outcome
            wait_s = self._wait_s(outcome, count)
            if wait_s is None:
                raise self._given_up(outcome, count)
            self._line.progress(f"{outcome.kind}: retrying in {wait_s:g} s")
            time.sleep(wait_s)
        raise AssertionError("the last attempt either answers or fails")

    async def _stream(
        self, items: Sequence[JsonObject], parameters: ModelRequestParameters
    ) -> ModelResponse | Fault:
        try:
            async with model_request_stream(
                self._model,
                messages_of(items),
                model_settings=self._settings,
                model_request_parameters=parameters,
                instrument=False,
            ) as stream:
                async for event in stream:
                    self._has_come = True
                    match event:
                        case PartStartEvent(part=TextPart(content=text)):
                            self._show(text)
                        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                            self._show(text)
                        case _:
                            pass
                response = stream.get()
                self._usage = response.usage
                return _whole(response, self._name)
        except Exception as error:  # noqa: BLE001 - whatever a provider's library raises is a fault of the request
            base_url = self._model.base_url or "its base URL"
            return fault_of(error, model=self._name, base_url=base_url, has_shown=self._has_come)

    def _show(self, text: str) -> None:
        self._shown += text
        self._line.say(text)

    def _end_line(self) -> None:
        if self._shown and not self._shown.endswith("\n"):
            self._line.say("\n")

    def _wait_s(self, fault: Fault, count: int) -> float | None:
        """Return the seconds until the next attempt; None if there is none."""
        if self._has_come or not fault.is_passing or count == TRIES:
            return None
        retry_after_s = fault.retry_after_s
        wait_s = _FIRST_WAIT_S * 2 ** (count - 1) if retry_after_s is None else retry_after_s
        is_too_long = wait_s > min(_LONGEST_WAIT_S, self._deadline - time.monotonic())
        return None if is_too_long else wait_s

    def _given_up(self, fault: Fault, count: int) -> Failed:
        if self._shown:
            data = {"text": self._shown, "partial": True, "final": False, "model": self._name}
            self._line.tell("assistant_message", **data)
            self._line.commit()
        return fault.failed(count)

    def _tell_usage(self, elapsed_ms: int, fault: Fault | None) -> None:
        data: JsonObject = {
            "model": self._name,
            "input_tokens": self._usage.input_tokens,
            "output_tokens": self._usage.output_tokens,
            "requests": 1,
            "elapsed_ms": elapsed_ms,
        }
        if fault is not None:
            data["error"] = {"kind": fault.kind, "message": fault.message, **fault.details}
        self._line.tell("provider_usage", **data)


def _whole(response: ModelResponse, name: str) -> ModelResponse | Fault:
    """Return the response if its provider marked it as complete, with an end that we can go on from."""
    reason = response.finish_reason
    has_reason = "finish_reason" in (response.provider_details or {})
    # Of a stream of chat completions that never says why it ends the library thinks that it stopped.
    if not has_reason and (reason is None or response.provider_name not in _SILENT_ON_DETAILS):
        return cut_off(name)
    match reason:
        case "length":
            message = f"`{name}` reached its output limit during the answer"
            return Fault("output_limit", message, details={"finish_reason": reason})
        case "content_filter":
            message = f"the content filter of the provider of `{name}` blocked the answer"
            return Fault("provider_permanent", message, details={"finish_reason": reason})
        case "error":
            return cut_off(name)
        case _:
            return response


_SILENT_ON_DETAILS: Final = frozenset({"xai"})
"""Providers whose own reason for the end is mapped, not kept, by the library."""
