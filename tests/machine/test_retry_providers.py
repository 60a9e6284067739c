"""What became of a request to a model says whether the step is worth another attempt."""

from __future__ import annotations

import pytest

from pixirnb.machine.retry import retry_class
from pixirnb.spec.policies import DEFAULT_RETRY_CLASSES

PASSING = [
    "provider_transient",
    "provider_unreachable",
    "provider_stream_cut",
    "provider_malformed",
]
LASTING = [
    "provider_permanent",
    "provider_denied",
    "provider_key_missing",
    "model_unknown",
    "auth_required",
]


@pytest.mark.parametrize("kind", [*PASSING, "context_overflow"])
def test_what_may_pass_is_tried_again_unless_the_author_says_otherwise(kind: str) -> None:
    assert retry_class(kind) in DEFAULT_RETRY_CLASSES


@pytest.mark.parametrize("kind", LASTING)
def test_what_would_be_refused_again_is_tried_again_only_where_the_author_says_so(
    kind: str,
) -> None:
    assert retry_class(kind) == "provider_permanent"
    assert retry_class(kind) not in DEFAULT_RETRY_CLASSES


@pytest.mark.parametrize("kind", ["extra_missing", "turn_limit", "output_limit"])
def test_what_no_attempt_can_mend_has_no_class(kind: str) -> None:
    assert retry_class(kind) is None
