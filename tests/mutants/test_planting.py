"""The bugs that are planted: each still has its place, and each rule of the auditor has one that it alone catches.

One is planted here, all of them by `make mutants`.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from harness.auditor.audit import RULES
from pixirnb.ids import is_step_id
from tests.mutants.plant import CHECKOUT, PACKAGE, PAGE, Bug, Catch, bugs, hunted, page, tried

BUGS = bugs()
RULE_NAMES = {rule.name for rule in RULES}
BY_THE_SIMULATOR = {"course_ends", "loop_holds", "word_holds"}
"""What it sees without the auditor: a course that goes on for ever, a loop that breaks, a word on other files than these."""
FLOORS = (
    "machine/",
    "store/",
    "engine/",
    "history/",
    "operations/",
    "testing/fakes/memory_store.py",
)
"""Where a bug must be for simulation to meet it."""
CONTRACTS = "".join(
    file.read_text(encoding="utf-8") for file in sorted(PACKAGE.glob("testing/contracts/*.py"))
)
"""Tests that the classes of tests take over from there."""
SIMULATED = [bug for bug in BUGS if bug.rule]
TESTED = [bug for bug in BUGS if bug.test]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_each_bug_still_has_its_one_place_and_leaves_python(bug: Bug) -> None:
    text = (PACKAGE / bug.file).read_text(encoding="utf-8")
    assert text.count(bug.old) == 1
    assert bug.new != bug.old
    ast.parse(text.replace(bug.old, bug.new))


def test_bugs_are_planted_in_what_is_judged_and_never_in_the_judge() -> None:
    assert all(bug.file.startswith(FLOORS) for bug in SIMULATED)
    assert {bug.file.split("/")[0] for bug in SIMULATED} >= {
        "machine",
        "history",
        "operations",
        "engine",
    }


def test_every_rule_has_a_bug_that_it_alone_has_to_catch() -> None:
    assert {bug.rule for bug in SIMULATED} == RULE_NAMES | BY_THE_SIMULATOR
    assert {bug.rule for bug in SIMULATED if bug.alone} == RULE_NAMES
    assert not any(bug.also for bug in SIMULATED if bug.alone)


def test_each_bug_names_one_who_must_catch_it_and_a_test_that_is_there() -> None:
    assert all(bool(bug.rule) != bool(bug.test) for bug in BUGS)
    assert not any(bug.alone or bug.also for bug in TESTED)
    for bug in TESTED:
        file, *names = bug.test.split("::")
        text = (CHECKOUT / file).read_text(encoding="utf-8") + CONTRACTS
        assert all(name.partition("[")[0] in text for name in names), bug.test


def test_bugs_have_names_and_sentences_of_their_own() -> None:
    assert len({bug.id for bug in BUGS}) == len({bug.says for bug in BUGS}) == len(BUGS)
    for bug in BUGS:
        assert bug.says.endswith(".")
        assert "|" not in bug.says


def test_the_reference_tells_for_each_rule_the_mutant_that_only_it_catches() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, BUGS) == text, "write it with: python tests/mutants/plant.py --table"
    first = next(bug for bug in BUGS if bug.alone)
    assert page(text, [bug for bug in BUGS if bug is not first]) != text


@pytest.fixture(scope="module")
def catch() -> Catch:
    """What came of a bug that was planted."""
    return hunted(_bug("end-told-twice"), seeds=20, breaching=1)


def test_a_planted_bug_is_caught_by_its_rule_and_no_other(catch: Catch) -> None:
    assert catch.rules == (catch.bug.rule,)
    assert catch.wrong is None


def test_a_bug_that_got_away_or_that_another_rule_caught_is_told(catch: Catch) -> None:
    bug = _bug("end-told-twice")
    harmless = hunted(replace(bug, new=bug.old + "  # no bug"), seeds=2)
    assert harmless.wrong == "nobody caught it"
    assert hunted(replace(bug, rule="chain_holds"), seeds=20, breaching=1).wrong is not None
    crowded = replace(catch, rules=("counts_true", bug.rule))
    assert crowded.wrong == "it is not alone: counts_true"


def test_a_copy_that_cannot_even_be_imported_counts_as_caught_by_nobody() -> None:
    bug = replace(_bug("end-told-twice"), new="        raise SystemExit(self.nobody)", rule="x")
    broken = replace(bug, file="ids.py", old="from __future__ import annotations", new="1 / 0")
    catch = hunted(broken, seeds=1)
    assert catch.rules == ()
    assert "ZeroDivisionError" in str(catch.wrong)


def test_a_bug_for_a_test_is_caught_where_that_test_fails_and_not_where_it_cannot_be_run() -> None:
    bug = Bug(
        id="longer-names",
        says="A name may be longer than it may be.",
        file="ids.py",
        old="{0,63}",
        new="{0,64}",
        test="tests/mutants/test_planting.py::test_names_have_at_most_64_characters",
    )
    assert tried(bug).wrong is None
    assert str(tried(replace(bug, new="{,63}")).wrong).startswith("nobody caught it")
    missing = replace(bug, test="tests/mutants/test_planting.py::test_that_is_not_there")
    assert str(tried(missing).wrong).startswith("nobody caught it")


def test_names_have_at_most_64_characters() -> None:
    assert is_step_id("a" * 64)
    assert not is_step_id("a" * 65)


def _bug(name: str) -> Bug:
    return next(bug for bug in BUGS if bug.id == name)
