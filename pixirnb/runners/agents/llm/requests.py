"""Requests to a model, one at a time: streamed, retried while nothing was shown, every attempt in the log.

The library keeps no history and retries nothing: `max_retries` is 0 wherever a provider's client takes it.

before anything was shown   429, 5xx and broken connections are retried
after the first delta       nothing is retried: the text so far is kept as partial
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Final, Self

from msgspec import Struct, field
from pydantic_ai import exceptions as library
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
from pixirnb.runners.agents.llm.messages import definitions_of, messages_of
from pixirnb.wording import cut

_OVERFLOW: Final = ("context length", "context size", "context window", "exceed_context")
_LONGEST: Final = 400


class Fault(Struct, frozen=True):
    """The reason why a request failed."""

    kind: str
    """`provider_transient provider_permanent provider_denied provider_unreachable provider_stream_cut
    provider_malformed context_overflow model_unknown`."""
    message: str
    is_passing: bool = False
    """True if the same request may succeed in a moment."""
    retry_after_s: float | None = None
    """Seconds that the provider asks to wait."""
    details: JsonObject = field(default_factory=dict)

    def failed(self, tries: int) -> Failed:
        """Return the failure of the turn, after `tries` attempts."""
        again = f" ({tries} attempts)" if tries > 1 else ""
        details = {"tries": tries, **self.details}
        if self.retry_after_s is not None:
            details["retry_after_s"] = self.retry_after_s
        return Failed(self.kind, f"{self.message}{again}", details)


def fault_of(error: Exception, *, model: str, base_url: str, has_shown: bool) -> Fault:
    """Return the fault of a library's exception. `has_shown`: part of the response had come."""
    fault = _fault(error, model, base_url)
    if has_shown and fault.is_passing:
        message = f"the answer of `{model}` was cut off (kept as partial text): {_provider_message(error)}"
        return Fault("provider_stream_cut", message, details=fault.details)
    return fault


def cut_off(model: str) -> Fault:
    """Return the fault of a stream that ended without an error, but without its final marker."""
    message = f"the answer of `{model}` ended before the provider marked it as complete"
    return Fault("provider_stream_cut", message, details={"finish_reason": None})


def _fault(error: Exception, model: str, base_url: str) -> Fault:
    status = getattr(error, "status_code", None)
    details = {"model": model} | ({} if status is None else {"status": status})
    provider_message, number = _provider_message(error), "" if status is None else f" ({status})"
    match error:
        case library.ModelContextWindowExceededError():
            return _overflow(model, provider_message, details)
        case library.ModelRequestRejectedError() if _is_overflow(provider_message):
            return _overflow(model, provider_message, details)
        case library.ModelAuthenticationError():
            message = f"the provider rejected the key{number}: {provider_message}; check the key and its permissions"
            return Fault("provider_denied", message, details=details)
        case library.ModelNotFoundError():
            message = f"unknown model `{model}`{number}: {provider_message}; check the model name and the base URL"
            return Fault("model_unknown", message, details=details)
        case library.ModelHTTPError(status_code=408 | 425):
            message = f"the provider is unavailable{number}: {provider_message}; try again later"
            return Fault("provider_transient", message, True, None, details)
        case library.ModelQuotaExceededError() | library.ModelRequestRejectedError():
            message = f"the provider rejected the request{number} (a retry would fail too): {provider_message}"
            return Fault("provider_permanent", message, details=details)
        case library.ModelConnectionError():
            return _broken(error, base_url, provider_message, details)
        case (
            library.ModelRateLimitError()
            | library.ModelUnavailableError()
            | library.ModelServerError()
        ):
            message = f"the provider is unavailable{number}: {provider_message}; try again later"
            return Fault("provider_transient", message, True, error.retry_after, details)
        case library.ModelHTTPError():
            message = f"the provider returned an error{number}: {provider_message}"
            return Fault("provider_permanent", message, details=details)
        case library.ModelAPIError() if not _is_garbage(error):
            message = f"the provider reported an error: {provider_message}; try again later"
            return Fault("provider_transient", message, True, error.retry_after, details)
        case library.UserError():
            return Fault(
                "provider_permanent",
                f"`{model}` does not support this request: {provider_message}",
                details=details,
            )
        case OSError():
            return _broken(error, base_url, provider_message, details)
        case _:
            # A library fails in many ways on bytes it cannot read; each is the fault of the stream.
            message = f"invalid answer from `{model}`: {provider_message}; check the base URL"
            return Fault("provider_malformed", message, details=details)


def _broken(error: Exception, base_url: str, provider_message: str, details: JsonObject) -> Fault:
    """Return the fault of a connection that was not made, or broke."""
    phase = getattr(error, "phase", None)
    if phase in {"write", "read"}:
        message = f"the connection to the provider broke: {provider_message}; try again later"
        return Fault("provider_transient", message, True, None, {**details, "phase": phase})
    message = f"cannot reach the provider at {base_url}: {provider_message}; check the base URL and the network"
    return Fault("provider_unreachable", message, True, None, {**details, "base_url": base_url})


def _overflow(model: str, provider_message: str, details: JsonObject) -> Fault:
    message = f"the conversation exceeds the context of `{model}`: {provider_message}; shorten the input or split the step"
    return Fault("context_overflow", message, details=details)


def _is_overflow(message: str) -> bool:
    return any(words in message.lower() for words in _OVERFLOW)


def _is_garbage(error: BaseException) -> bool:
    """Return whether the error was raised for unreadable bytes."""
    return isinstance(error.__cause__, json.JSONDecodeError | UnicodeDecodeError) or (
        "Expected a JSON response" in str(error)
    )


def _provider_message(error: Exception) -> str:
    """Return the provider's message, on one line, without its final full stop."""
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error")
        body = inner if isinstance(inner, dict) else body
    provider_text = body.get("message") if isinstance(body, dict) else None
    text = cut(" ".join(str(provider_text or error).split()), _LONGEST).rstrip(".")
    beneath = "" if provider_text or isinstance(error, library.ModelHTTPError) else _beneath(error)
    return f"{text} ({beneath})" if beneath and beneath not in text else text


def _beneath(error: Exception) -> str:
    """Return the network's error below the libraries' exceptions."""
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    name = type(root).__name__
    is_of_the_library = isinstance(root, library.AgentRunError)
    return "" if is_of_the_library else cut(f"{name}: {root}", 200) if str(root) else name


TRIES: Final = 3
_LONGEST_WAIT_S: Final = 60.0
"""Maximum wait in seconds: if a provider asks for more, the turn ends; a retry of the step may wait that long."""
_FIRST_WAIT_S: Final = 0.5


class Requests:
    """Client of one model, on its own event loop. A context manager."""

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
