"""The list of verbs says of each what the verb itself says."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

from pixirnb.verbs.verb_list import HOMES, VERBS


@pytest.mark.parametrize("verb", HOMES)
def test_a_summary_is_the_first_paragraph_of_the_verbs_docstring(verb: str) -> None:
    module, _, function = HOMES[verb].partition(":")
    text = inspect.getdoc(getattr(import_module(module), function)) or ""
    (summary,) = (verbs[verb].summary for verbs in VERBS.values() if verb in verbs)
    assert summary == " ".join(text.split("\n\n")[0].split())
