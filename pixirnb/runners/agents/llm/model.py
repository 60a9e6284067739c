"""The model that a spec names, ready for requests: `openai:gpt-…`, `anthropic:…`, any provider the library knows.

Keys and base URLs come from the environment alone, under each provider's own names: those that `pass_env` lets
through. Which providers there are is known without an import of their library: the kernel never imports one.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pixirnb.runners.agents.channel import Failed
from pixirnb.spec.did_you_mean import nearest
from pixirnb.wording import cut

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_LIBRARIES: Final = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google.genai",
    "groq": "groq",
    "mistral": "mistralai",
    "cohere": "cohere",
    "bedrock": "boto3",
    "huggingface": "huggingface_hub",
}
"""Provider, which is also the name of its extra of pydantic-ai-slim, to the package that it imports."""


def meant_provider(provider: str) -> str | None:
    """Return the provider that an unknown name most likely means; None for a known name, or one like no other."""
    spec = find_spec("pydantic_ai")
    folders = (spec and spec.submodule_search_locations) or ()
    names = [
        path.stem.replace("_", "-")
        for folder in folders
        for path in Path(folder, "providers").glob("[a-z]*.py")
    ]
    # `openai-chat`, `google-gla` and `gateway/…` are variants of a provider, not modules.
    if any(provider == name or provider.startswith((f"{name}-", f"{name}/")) for name in names):
        return None
    return nearest(provider, names)


def missing_extra(provider: str) -> str | None:
    """Return the extra of pydantic-ai-slim that a provider needs and that is not installed; None if it lacks none."""
    name = provider if provider in _LIBRARIES else provider.partition("-")[0]
    library = _LIBRARIES.get(name)
    try:
        is_there = library is None or find_spec(library) is not None
    except ModuleNotFoundError:  # the parent of a package within a package
        is_there = False
    return None if is_there else name


_OPENAI_ITSELF: Final = "api.openai.com"
_FIX: Final = "set `model` to `PROVIDER:NAME`, such as `openai:NAME`"
_VARIABLE: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_GROUP: Final = re.compile(r"pydantic-ai-slim\[([a-z0-9-]+)\]")


def model_of(name: str | None) -> Model:
    """Return the model of that name. Raises Failed: `model_unknown`, `provider_key_missing`, `extra_missing`."""
    if not name or ":" not in name:
        problem_text = f"model `{name}` names no provider" if name else "the agent has no `model`"
        raise Failed("model_unknown", f'{problem_text}; write `model: "openai:NAME"`')
    provider = name.partition(":")[0]
    if (meant := meant_provider(provider)) is not None:
        message = f"unknown provider `{provider}`; did you mean `{meant}`?"
        raise Failed("model_unknown", message, {"model": name})
    import pydantic_ai.exceptions
    from pydantic_ai.models import infer_model

    try:
        return infer_model(_on_this_wire(name))
    except ImportError as error:
        raise _extra_missing(name, error) from error
    except pydantic_ai.exceptions.UserError as error:
        raise _refused(name, str(error)) from error
    # Each provider's own constructor checks what it is given, in its own way.
    except Exception as error:
        message = f"the model `{name}` cannot be set up: {error}"
        sentence = f"{_one_line(message).rstrip('.')}; {_FIX}"
        raise Failed("model_unknown", sentence, {"model": name}) from error


def _on_this_wire(name: str) -> str:
    """Return a name for the chat completions interface if the server is the user's own; the library would use
    OpenAI's newer one.
    """
    provider, _, model = name.partition(":")
    base = os.environ.get("OPENAI_BASE_URL", "")
    is_elsewhere = base and _OPENAI_ITSELF not in base
    return f"openai-chat:{model}" if provider == "openai" and is_elsewhere else name


def _extra_missing(name: str, error: ImportError) -> Failed:
    group = _GROUP.search(str(error))
    package = f"pydantic-ai-slim[{group[1]}]" if group else "pixirnb[llm]"
    provider = name.partition(":")[0]
    message = f"the library for `{provider}` is not installed; run `pip install '{package}'`"
    return Failed("extra_missing", message, {"model": name})


def _refused(name: str, problem_text: str) -> Failed:
    """Return the failure if the library cannot make a model: it is unknown, or lacks its key."""
    provider = name.partition(":")[0]
    variables = list(dict.fromkeys(_VARIABLE.findall(problem_text)))
    if variables and not problem_text.startswith("Unknown model"):
        first = variables[0]
        message = f"no key for `{provider}`; set {first} where the run is started; the agent's `pass_env` must list it"
        return Failed("provider_key_missing", message, {"model": name, "variables": variables})
    what = problem_text.removeprefix("Unknown model: ")
    sentence = f"{_one_line(f'unknown model: {what}').rstrip('.')}; {_FIX}"
    return Failed("model_unknown", sentence, {"model": name})


def _one_line(text: str) -> str:
    return cut(" ".join(text.split()), 500)
