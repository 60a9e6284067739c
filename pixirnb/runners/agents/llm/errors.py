"""Errors of requests to a model: the attempt's error kind, one sentence, and the fix.

before anything was shown   429, 5xx and broken connections are retried
after the first delta       nothing is retried: the text so far is kept as partial
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from pydantic_ai import exceptions as library

from pixirnb.json_types import JsonObject
from pixirnb.runners.agents.channel import Failed
from pixirnb.wording import cut

_OVERFLOW: Final = ("context length", "context size", "context window", "exceed_context")
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class Fault:
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
