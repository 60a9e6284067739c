"""What went wrong with a request to a model, in our words: the attempt's error kind, one sentence, and what to do next.

before anything was shown   429, 5xx and broken connections are worth another try
after the first delta       nothing is tried again: what was shown stands, as partial text
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_ai import exceptions as library

from pixirnb.runners.agents.channel import Failed

_OVERFLOW: Final = ("context length", "context size", "context window", "exceed_context")
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request came to nothing."""

    kind: str
    """`provider_transient provider_permanent provider_denied provider_unreachable provider_stream_cut
    provider_malformed context_overflow model_unknown`."""
    message: str
    is_passing: bool = False
    """The same request may well succeed in a moment."""
    retry_after_s: float | None = None
    """What the provider asked for."""
    details: dict[str, Any] = field(default_factory=dict)

    def failed(self, tries: int) -> Failed:
        """The end of the turn, after so many tries."""
        again = f" It was asked {tries} times." if tries > 1 else ""
        said = {"tries": tries, **self.details}
        if self.retry_after_s is not None:
            said["retry_after_s"] = self.retry_after_s
        return Failed(self.kind, f"{self.message}{again}", said)


def fault_of(error: Exception, *, model: str, base_url: str, has_shown: bool) -> Fault:
    """The fault behind what the library raised. `has_shown`: something of the response had come."""
    fault = _fault(error, model, base_url)
    if has_shown and fault.is_passing:
        message = f"the answer of `{model}` was cut off: {_said(error)}. What had come is kept as partial text."
        return Fault("provider_stream_cut", message, details=fault.details)
    return fault


def cut_off(model: str) -> Fault:
    """A stream that ended well as far as the network knows, and never said that the answer was whole."""
    message = f"the answer of `{model}` stopped before the provider said that it was whole."
    return Fault("provider_stream_cut", message, details={"finish_reason": None})


def _fault(error: Exception, model: str, base_url: str) -> Fault:
    status = getattr(error, "status_code", None)
    details = {"model": model} | ({} if status is None else {"status": status})
    said, number = _said(error), "" if status is None else f" ({status})"
    match error:
        case library.ModelContextWindowExceededError():
            return _overflow(model, said, details)
        case library.ModelRequestRejectedError() if _is_overflow(said):
            return _overflow(model, said, details)
        case library.ModelAuthenticationError():
            message = (
                f"the provider refuses the key{number}: {said}. Check the key and what it may use."
            )
            return Fault("provider_denied", message, details=details)
        case library.ModelNotFoundError():
            message = f"the provider knows no `{model}`{number}: {said}. Check the model's name and the base URL."
            return Fault("model_unknown", message, details=details)
        case library.ModelHTTPError(status_code=408 | 425):
            message = f"the provider cannot answer now{number}: {said}. Try again later."
            return Fault("provider_transient", message, True, None, details)
        case library.ModelQuotaExceededError() | library.ModelRequestRejectedError():
            message = f"the provider refuses the request{number}: {said}. The same request would be refused again."
            return Fault("provider_permanent", message, details=details)
        case library.ModelConnectionError():
            return _broken(error, base_url, said, details)
        case (
            library.ModelRateLimitError()
            | library.ModelUnavailableError()
            | library.ModelServerError()
        ):
            message = f"the provider cannot answer now{number}: {said}. Try again later."
            return Fault("provider_transient", message, True, error.retry_after, details)
        case library.ModelHTTPError():
            message = f"the provider answers with an error{number}: {said}."
            return Fault("provider_permanent", message, details=details)
        case library.ModelAPIError() if not _is_garbage(error):
            message = f"the provider reports an error: {said}. Try again later."
            return Fault("provider_transient", message, True, error.retry_after, details)
        case library.UserError():
            return Fault(
                "provider_permanent", f"`{model}` cannot be asked this: {said}.", details=details
            )
        case OSError():
            return _broken(error, base_url, said, details)
        case _:
            # A library that meets what it cannot read stumbles in many ways; every one of them is the stream's fault.
            message = f"what `{model}` sent is no answer in its provider's protocol: {said}. Check the base URL."
            return Fault("provider_malformed", message, details=details)


def _broken(error: Exception, base_url: str, said: str, details: dict[str, Any]) -> Fault:
    """The connection was not made, or broke."""
    phase = getattr(error, "phase", None)
    if phase in {"write", "read"}:
        message = f"the connection to the provider broke: {said}. Try again later."
        return Fault("provider_transient", message, True, None, {**details, "phase": phase})
    message = (
        f"the provider cannot be reached at {base_url}: {said}. Check the base URL and the network."
    )
    return Fault("provider_unreachable", message, True, None, {**details, "base_url": base_url})


def _overflow(model: str, said: str, details: dict[str, Any]) -> Fault:
    message = (
        f"the conversation no longer fits into `{model}`: {said}. Give the step less, or split it."
    )
    return Fault("context_overflow", message, details=details)


def _is_overflow(said: str) -> bool:
    return any(words in said.lower() for words in _OVERFLOW)


def _is_garbage(error: BaseException) -> bool:
    """Whether it was raised for bytes that could not be read."""
    return isinstance(error.__cause__, json.JSONDecodeError | UnicodeDecodeError) or (
        "Expected a JSON response" in str(error)
    )


def _said(error: Exception) -> str:
    """The provider's own words, on one line, without a last full stop."""
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error")
        body = inner if isinstance(inner, dict) else body
    told = body.get("message") if isinstance(body, dict) else None
    text = " ".join(str(told or error).split())[:_LONGEST].rstrip(".")
    beneath = "" if told or isinstance(error, library.ModelHTTPError) else _beneath(error)
    return f"{text} ({beneath})" if beneath and beneath not in text else text


def _beneath(error: Exception) -> str:
    """What the network said, below the libraries' words for it."""
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    name = type(root).__name__
    is_of_the_library = isinstance(root, library.AgentRunError)
    return "" if is_of_the_library else f"{name}: {root}"[:200] if str(root) else name
