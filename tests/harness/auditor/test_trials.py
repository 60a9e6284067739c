"""Each rule finds what it is named for in a log that was sound before it was doctored, and no other rule does."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.auditor.audit import RULES
from tests.harness.auditor.file_trials import TRIALS as OF_FILES
from tests.harness.auditor.item_trials import TRIALS as OF_LISTS
from tests.harness.auditor.place_trials import TRIALS as ON_CLUSTERS
from tests.harness.auditor.resume_trials import TRIALS as LATER
from tests.harness.auditor.session_trials import TRIALS as DELEGATED
from tests.harness.auditor.verdict_trials import TRIALS as EARLIER
from tests.harness.auditor.verdict_trials import Trial

TRIALS = [*EARLIER, *LATER, *DELEGATED, *OF_FILES, *OF_LISTS, *ON_CLUSTERS]
IDS = [f"{rule}: {what}" for rule, what, _, _ in TRIALS]


@pytest.mark.parametrize("trial", TRIALS, ids=IDS)
def test_a_doctored_log_breaches_the_one_rule_that_it_breaks(trial: Trial) -> None:
    rule, _, sound, doctor = trial
    assert sound().audit() == []
    exhibit = sound()
    doctor(exhibit)
    breaches = exhibit.audit()
    assert {breach.rule for breach in breaches} == {rule}, breaches
    assert all(breach.message for breach in breaches)


def test_every_rule_is_tried() -> None:
    assert {trial[0] for trial in TRIALS} == {rule.name for rule in RULES}


def test_rules_are_named_once_and_each_says_what_it_promises() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(rule.sentence.endswith(".") and len(rule.sentence) > 20 for rule in RULES)
    assert len({rule.sentence for rule in RULES}) == len(names)


def test_every_rule_stands_in_the_reference_with_its_sentence_and_section() -> None:
    page = (Path(__file__).parents[3] / "docs/internals/auditor.md").read_text(encoding="utf-8")
    for rule in RULES:
        assert f"| `{rule.name}` | {rule.sentence} | {rule.section} |" in page
    assert page.partition("## Rules")[2].count("\n| `") == len(RULES)
