"""Providers of models, known without an import of their library: the kernel never imports one."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pixirnb.spec.did_you_mean import nearest

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
