"""How a coding agent failed says whether its step is worth another attempt."""

from __future__ import annotations

import pytest

from pixirnb.machine.retry import retry_class
from pixirnb.spec.policies import DEFAULT_RETRY_CLASSES


@pytest.mark.parametrize("kind", ["agent_failed", "agent_silent", "protocol_error"])
def test_an_agent_that_broke_is_tried_again_as_any_program_is(kind: str) -> None:
    assert retry_class(kind) in DEFAULT_RETRY_CLASSES


def test_a_login_is_tried_again_only_where_the_author_says_so() -> None:
    assert retry_class("auth_required") not in DEFAULT_RETRY_CLASSES


@pytest.mark.parametrize("kind", ["agent_missing_binary", "agent_command_unknown", "refused"])
def test_what_another_attempt_cannot_mend_has_no_class(kind: str) -> None:
    assert retry_class(kind) is None
