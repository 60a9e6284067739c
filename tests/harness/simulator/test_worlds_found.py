"""Bugs that seeds found, each told by the smallest world in which it showed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.simulator.campaign import judged
from harness.simulator.life import Life
from harness.simulator.world import World
from pixirnb.history.file_events import CONFLICT

Event = dict[str, Any]


def lived(
    steps: list[dict[str, Any]], *acts: dict[str, Any], salt: str = "told", **behaviours: Any
) -> Life:
    """A world of a few steps that keeps every promise the auditor knows of."""
    workflow = {"name": "world", "agents": {"helper": {}}, "steps": steps}
    known = {"a": [{"lasts": 3.0}], **behaviours}
    life = judged(World(salt, workflow, known, acts=list(acts)))
    assert life.breaches == []
    return life


def events(life: Life, kind: str, step: str | None = None) -> list[Event]:
    lines = life.log(life.run_ids[0]).splitlines()
    read = [json.loads(line) for line in lines]
    found = [event for event in read if event["kind"] == kind]
    return [event for event in found if step is None or event["data"]["step"] == step]


def entries(life: Life, resume: int) -> dict[str, tuple[str, str]]:
    """What the n-th resume planned: step to action and reason."""
    planned = events(life, "run_resumed")[resume]["data"]["steps"]
    return {entry["step_id"]: (entry["action"], entry["reason"]) for entry in planned}


CHAIN: list[dict[str, Any]] = [
    {"id": "a", "run": ["work"]},
    {"id": "b", "run": ["work", "{{ steps.a.output }}"], "depends_on": ["a"]},
]
EDITED: list[dict[str, Any]] = [{**CHAIN[0], "env": {"EDITED": "1"}}, CHAIN[1]]


def test_a_step_that_was_held_while_the_inputs_were_others_is_not_done_again() -> None:
    steps: list[dict[str, Any]] = [
        {"id": "a", "run": ["work", "{{ inputs.n }}"]},
        {"id": "b", "task": "Think.", "agent": "helper"},
    ]
    inputs = {"n": {"type": "integer", "default": 0}}
    workflow = {"name": "world", "inputs": inputs, "agents": {"helper": {}}, "steps": steps}
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "inputs": {"n": 3}, "flags": {"from": "b"}},
        {"form": "resume", "inputs": {"n": 0}},
    ]
    life = judged(World("told", workflow, {}, acts=acts))
    assert life.breaches == []
    assert entries(life, 0)["a"] == ("hold", "not_selected")
    assert entries(life, 1)["a"] == ("reuse", "ready")


def test_a_ready_step_that_a_dying_resume_was_about_to_look_at_is_not_done_again() -> None:
    life = lived(
        CHAIN,
        {"form": "start"},
        # `a` was edited and runs again; it dies, and so does what takes the run up after it.
        {"form": "resume", "workflow": _workflow(EDITED), "death": {"at": 1.0}},
        {"form": "resume", "death": {"at": 1.0}},
        {"form": "resume"},
        b=[{"lasts": 1.0}],
        a=[{"lasts": 3.0, "value": "const"}],
    )
    assert entries(life, 0)["b"] == ("rerun", "upstream_changed")
    assert entries(life, 2)["b"] == ("rerun", "upstream_changed")
    assert len(events(life, "step_scheduled", "b")) == 1
    assert events(life, "checkpoint_decided", "b")[-1]["data"]["reused"] is True


def test_a_person_s_word_survives_two_deaths_before_it_could_count() -> None:
    steps = [
        {**CHAIN[0], "reuse": "never"},
        {"id": "b", "ask": {"question": "go?"}, "depends_on": ["a"]},
    ]
    life = lived(
        steps,
        {"form": "start"},
        {"form": "record", "verdict": "accept"},
        {"form": "resume", "death": {"at": 1.0}},
        {"form": "resume", "death": {"at": 1.0}},
        {"form": "resume"},
    )
    assert len(events(life, "decision_recorded", "b")) == 1
    assert len(events(life, "decision_requested", "b")) == 1
    assert events(life, "run_finished")[-1]["data"]["status"] == "completed"


def test_what_was_in_flight_at_a_death_is_warned_of_though_it_was_named_to_be_rerun() -> None:
    life = lived(
        CHAIN,
        {"form": "start", "death": {"at": 1.0}},
        {"form": "resume", "flags": {"from": "a"}},
    )
    assert entries(life, 0)["a"] == ("rerun", "selected")
    warned = [event["data"]["step"] for event in events(life, "warning_raised")]
    assert warned == ["a"]


def test_a_step_that_asks_before_it_reruns_asks_though_the_next_resume_left_it_out() -> None:
    steps = [{**CHAIN[0], "rerun": "ask"}, {"id": "other", "run": ["work"]}]
    life = lived(
        steps,
        {"form": "start", "death": {"at": 2.0}},
        {"form": "resume", "flags": {"only": "other"}},
        {"form": "resume"},
    )
    assert entries(life, 0)["a"] == ("hold", "not_selected")
    asked = events(life, "decision_requested", "a")
    assert [event["data"]["reason"] for event in asked] == ["in_flight"]
    assert len(events(life, "step_scheduled", "a")) == 1


def test_a_fork_that_died_before_it_was_taken_up_can_be_spoken_to_and_resumed() -> None:
    life = lived(
        [{"id": "a", "ask": {"question": "go?"}}],
        {"form": "start"},
        {"form": "fork", "death": {"append": 1, "how": "before"}},
        {"form": "record", "run": 1, "verdict": "accept"},
    )
    assert len(life.run_ids) == 2
    assert set(life.ends[life.run_ids[1]].values()) == {"checkpoint_ready"}


def test_nothing_is_merged_whose_readiness_the_disk_has_refused() -> None:
    life = lived(
        [
            {"id": "a", "run": ["work"], "workspace": "isolated"},
            {"id": "b", "run": ["work"]},
        ],
        {
            "form": "start",
            "ops": [
                {"at": 2.9, "do": "disk", "full": True, "torn": 0},
                # Taken up in the turn in which `a` ends, or after it: its end is in memory only.
                {"at": 2.95, "do": "merge", "pick": 0, "again": None},
                {"at": 3.2, "do": "merge", "pick": 0, "again": None},
            ],
        },
        {"form": "resume"},
        a=[{"lasts": 3.0, "writes": ["c"]}],
        b=[{"lasts": 9.0, "stubborn": True, "returns": 60.0}],
    )
    assert events(life, "merge_applied") == []
    assert [event["data"]["attempt"] for event in events(life, "step_scheduled", "a")] == [1, 2]


def test_a_step_is_told_of_files_that_another_claimed_until_just_before_it_began() -> None:
    life = lived(
        [
            {"id": "a", "run": ["work"]},
            {"id": "b", "run": ["work"], "write_set": ["a/**"], "retry": {"max_attempts": 2}},
            {
                "id": "c",
                "call": "simulated.work:step",
                "depends_on": ["a"],
                "posture": "read_only",
            },
        ],
        {"form": "start"},
        a=[{"lasts": 3.0}],
        b=[{"lasts": 3.005, "end": "exit"}],
        c=[{"writes": ["a/x"]}],
    )
    assert events(life, "attempt_ended", "c")[-1]["data"]["outside"]["paths"] == ["a/x"]


def test_a_merge_that_only_its_journal_proves_is_kept_where_the_log_lost_what_it_brought() -> None:
    life = lived(
        [{"id": "a", "run": ["work"], "workspace": "isolated"}, {"id": "b", "run": ["work"]}],
        {
            "form": "start",
            "ops": [{"at": 2.9, "do": "merge", "pick": 0, "again": None}],
            "death": {"append": 4, "how": "torn", "bytes": 20},
        },
        {"form": "resume", "damage": 0},
        a=[{"lasts": 1.0, "writes": ["c"]}],
        b=[{"lasts": 9.0}],
    )
    assert [event["data"]["attempts"] for event in events(life, "merge_applied")] == [{"a": 1}]
    assert [event["data"]["attempt"] for event in events(life, "workspace_captured")] == [1]


def test_a_session_is_closed_unread_whose_blob_is_gone_and_comes_back() -> None:
    report = {"checkpoint_status": "checkpoint_ready", "huge": True}
    life = lived(
        [{"id": "a", "task": "Think", "agent": "helper", "verify": [{"command": "check it"}]}],
        {"form": "start", "death": {"at": 0.7}},
        {"form": "resume", "lose_blob": 0},
        a=[{"lasts": 0.5, "report": report}] * 2,
    )
    ends = [event["data"] for event in events(life, "subagent_event")]
    assert [(end["session_id"], end["runner"]) for end in ends] == [
        ("a.1", ""),
        ("a.2", "scripted"),
    ]


def test_a_thread_that_returns_while_its_run_ends_keeps_no_step_from_a_resume() -> None:
    life = lived(
        [
            {"id": "a", "call": "simulated.work:step", "timeout": "20s"},
            {"id": "b", "ask": {"question": "go?"}, "timeout": "35s"},
        ],
        {"form": "start"},
        {"form": "resume"},
        a=[{"end": "hang", "returns": 15.0}, {}],
        salt="t1",  # the end of the run is on its way to the disk when it returns
    )
    assert [event["data"]["attempt"] for event in events(life, "step_scheduled", "a")] == [1, 2]


def test_a_word_on_a_step_holds_no_more_once_what_the_step_was_made_of_is_another() -> None:
    agent: dict[str, Any] = {"id": "a", "task": "Think.", "agent": "helper"}
    asks = {
        "id": "b",
        "task": "Look.",
        "agent": "helper",
        "depends_on": ["a"],
        "when": "{{ steps.a.output.n }} != 1",
    }
    ready = {"checkpoint_status": "checkpoint_ready"}
    life = lived(
        [agent, asks],
        {"form": "start"},
        {"form": "record"},
        {"form": "resume", "workflow": _workflow([{**agent, "env": {"EDITED": "1"}}, asks])},
        a=[{"report": {**ready, "with_output": True}}, {"report": ready}],
        b=[{"report": {"checkpoint_status": "partial"}}],
    )
    decided = [event["data"] for event in events(life, "checkpoint_decided", "b")]
    assert {each["status"] for each in decided} == {"partial", "failed"}
    assert decided[-1]["error"]["kind"] == "reference_missing"


def _workflow(steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": "world", "agents": {"helper": {}}, "steps": steps}


def test_what_a_person_means_to_do_in_a_course_is_not_done_in_the_next() -> None:
    late = {"at": 4.5, "do": "cancel", "via": "here"}
    life = lived(CHAIN, {"form": "start", "ops": [late]}, a=[{"lasts": 1.0, "end": "exit"}] * 9)
    ends = [event["data"]["reasons"] for event in events(life, "run_finished")]
    assert len(ends) > 1
    assert "cancelled" not in {reason["code"] for end in ends for reason in end}


def test_a_fork_whose_log_was_damaged_right_after_it_says_so_before_it_goes_on() -> None:
    life = lived(
        CHAIN,
        {"form": "start"},
        {"form": "fork", "pick": 0},
        {"form": "resume", "run": 1, "fresh": True, "damage": 10},
        b=[{"lasts": 1.0}],
    )
    fork = [json.loads(line)["kind"] for line in life.log(life.run_ids[1]).splitlines()]
    assert fork[fork.index("run_forked") :][:3] == ["run_forked", "warning_raised", "run_resumed"]


def test_what_items_had_to_do_with_each_other_is_over_when_a_resume_runs_them_again() -> None:
    each = {
        "id": "each",
        "for_each": ["x", "y", "z"],
        "run": ["work", "{{ item }}"],
        "workspace": "isolated",
        "write_set": ["c"],
    }
    life = lived(
        [each],
        {"form": "start"},
        {"form": "resume", "death": {"append": 1, "how": "after", "bytes": 257}},
        each=[{"writes": ["beside/@", "c"]}],
    )
    assert events(life, "seam_opened")


def test_an_item_that_comes_back_to_a_list_was_left_out_by_no_resume() -> None:
    names = {"names": {"type": "array", "default": ["x", "y", "z"]}}
    each = {"id": "each", "for_each": "{{ inputs.names }}", "run": ["work", "{{ item }}"]}
    workflow = {"name": "world", "inputs": names, "steps": [each]}
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "flags": {"only": "each@1"}, "inputs": {"names": ["x", "y"]}},
        {
            "form": "resume",
            "inputs": {"names": ["x", "z"]},
            "workflow": {**workflow, "steps": [{**each, "env": {"EDITED": "1"}}]},
        },
    ]
    life = judged(World("told", workflow, {"each": [{}]}, acts=acts))
    assert life.breaches == []
    assert not events(life, "step_held")


def test_a_list_that_a_person_rejected_is_at_rest_though_its_item_never_tried_again() -> None:
    each = {"id": "each", "for_each": ["p", "q"], "run": ["work", "{{ item }}"]}
    reject = {"at": 4.0, "do": "decide", "pick": 0, "verdict": "accept"}
    reject |= {"value": "v1", "again": "other"}
    workflow = {"name": "world", "steps": [{"id": "a", "run": ["work"]}, each]}
    behaviours: dict[str, Any] = {
        "a": [{"lasts": 20.0}],
        "each": [{"end": "lost"}, {}],
        "each@0": [{}],
    }
    acts: list[dict[str, Any]] = [{"form": "start", "ops": [reject]}]
    life = judged(World("told", workflow, behaviours, acts=acts))
    assert life.breaches == []
    (decided,) = events(life, "decision_recorded", "each")
    assert decided["data"]["verdict"] == "reject"


def test_of_two_lists_that_a_person_accepted_the_second_is_collected_anew_and_stays_accepted() -> (
    None
):
    each = {"id": "each", "for_each": ["p", "q"], "run": ["work", "{{ item }}"]}
    output = "{{ steps.each.output }}"
    then = {"id": "then", "for_each": {"same_as": "each"}, "run": ["work", output]}
    behaviours: dict[str, Any] = {"each": [{"end": "lost"}] * 3, "each@0": [{}]}
    accept = {"form": "record", "pick": 0, "verdict": "accept"}
    acts: list[dict[str, Any]] = [{"form": "start"}, accept, accept, {"form": "resume"}]
    workflow = {"name": "world", "steps": [each, then]}
    life = judged(World("told", workflow, behaviours, acts=acts))
    assert life.breaches == []
    assert entries(life, 0) == {
        "each": ("reuse", "decided"),
        "then": ("rerun", "upstream_changed"),
    }
    assert events(life, "run_finished")[-1]["data"]["status"] == "completed"


def test_what_a_merge_step_brought_of_items_that_left_their_list_is_no_result_of_its_next_attempt() -> (
    None
):
    each = {"id": "each", "for_each": "{{ inputs.names }}", "run": ["work", "{{ item }}"]}
    steps = [
        {**each, "workspace": "isolated"},
        {"id": "bring", "merge": ["each"], "depends_on": ["each"]},
    ]
    inputs = {"names": {"type": "array", "default": ["r"]}}
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "inputs": {"names": ["p"]}},
        {"form": "resume", "inputs": {"names": ["r"]}},
    ]
    workflow = {"name": "world", "inputs": inputs, "steps": steps}
    life = judged(World("told", workflow, {"each": [{"writes": ["w/@"]}]}, acts=acts))
    assert life.breaches == []
    assert len(events(life, "merge_applied")) == 2
    digests = [each["data"]["digest"] for each in events(life, "checkpoint_decided", "bring")]
    assert len(set(digests)) == 3


@pytest.mark.parametrize("lasts", [0.5, 1.5])
def test_an_item_is_tried_again_though_the_next_one_may_not_begin_any_more(lasts: float) -> None:
    limited = {"items": ["p", "q", "r"], "max_parallel": 1}
    again = {"max_attempts": 2, "delay": "5s"}
    each = {"id": "each", "for_each": limited, "run": ["work", "{{ item }}"], "retry": again}
    steps = [each, {"id": "a", "run": ["work"]}]
    behaviours: dict[str, Any] = {
        "each": [{"lasts": 1.0}],
        "each@0": [{"lasts": 1.0, "end": "exit"}, {}],
        "a": [{"lasts": lasts, "end": "exit"}],
    }
    workflow = {"name": "world", "on_failure": "stop", "steps": steps}
    life = judged(World("told", workflow, behaviours, acts=[{"form": "start"}]))
    assert life.breaches == []
    assert events(life, "checkpoint_decided", "each@0")[0]["data"]["status"] == "checkpoint_ready"


def test_an_item_is_reused_only_once_all_that_its_step_depends_on_stands_again() -> None:
    each = {"id": "each", "for_each": ["p", "q"], "run": ["work", "{{ item }}"]}
    then = {"id": "then", "for_each": {"same_as": "each"}, "run": ["work", "{{ item }}"]}
    steps = [
        {"id": "s", "run": ["work"], "reuse": "never"},
        {"id": "t", "run": ["work", "{{ steps.s.output }}"], "depends_on": ["s"]},
        each,
        {**then, "depends_on": ["t"]},
    ]
    behaviours: dict[str, Any] = {
        "s": [{"value": "const"}, {"lasts": 2.0, "value": "big"}],
        "t": [{"value": "const"}, {"value": "big"}],
        "each": [{"end": "lost"}, {}],
        "each@0": [{}],
    }
    workflow = {"name": "world", "steps": steps}
    acts: list[dict[str, Any]] = [{"form": "start"}, {"form": "resume"}]
    life = judged(World("told", workflow, behaviours, acts=acts))
    assert life.breaches == []
    assert not any(each["data"]["reused"] for each in events(life, "step_expanded", "then"))
    assert len(events(life, "attempt_started", "then@0")) == 2


def test_items_of_a_list_that_is_named_as_a_whole_run_again_without_a_question() -> None:
    each = {"id": "each", "for_each": ["p", "q"], "run": ["work", "{{ item }}"], "rerun": "ask"}
    death = {"at": 0.5, "strays": False}
    resume = {"form": "resume", "flags": {"from": "each"}}
    acts: list[dict[str, Any]] = [{"form": "start", "death": death}, resume]
    workflow = {"name": "world", "steps": [each]}
    life = judged(World("told", workflow, {"each": [{"lasts": 3.0}]}, acts=acts))
    assert life.breaches == []
    assert events(life, "decision_requested") == []
    assert len(events(life, "attempt_started", "each@0")) == 2


def test_an_item_that_is_named_runs_again_without_a_question_and_the_others_ask() -> None:
    each = {"id": "each", "for_each": ["p", "q"], "run": ["work", "{{ item }}"], "rerun": "ask"}
    death = {"append": 2, "how": "before", "bytes": 1144, "strays": False}
    resume = {"form": "resume", "flags": {"from": "each@0"}}
    acts: list[dict[str, Any]] = [{"form": "start", "death": death}, resume]
    workflow = {"name": "world", "steps": [each]}
    life = judged(World("told", workflow, {"each": [{}]}, acts=acts))
    assert life.breaches == []
    [asked] = events(life, "decision_requested")
    assert asked["data"]["step"] == "each@1"


def test_a_decision_reuses_no_step_whose_new_dependency_still_asks() -> None:
    plain = {"id": "s0", "run": ["work"]}
    ask = {"id": "s1", "ask": {"question": "Go on?"}}
    task = {"id": "s2", "task": "Think.", "agent": "helper"}
    agents = {"helper": {"role": "You help."}}
    behaviours: dict[str, Any] = {"s2": [{"asks": ["make"]}]}
    before = {"name": "world", "agents": agents, "steps": [plain, ask, task]}
    after = {**before, "steps": [{**plain, "depends_on": ["s1"]}, ask, task]}
    edited = {"form": "resume", "workflow": after}
    acts: list[dict[str, Any]] = [{"form": "start"}, edited, {"form": "decide"}]
    life = judged(World("1212283", before, behaviours, acts=acts))
    assert life.breaches == []
    permitted = events(life, "run_resumed")[1]["data"]["steps"]
    assert [(each["step_id"], each["action"]) for each in permitted] == [
        ("s0", "rerun"),
        ("s1", "hold"),
        ("s2", "rerun"),
    ]


def test_a_run_waits_for_a_merge_that_comes_to_nothing() -> None:
    task = {"id": "s0", "task": "Think.", "agent": "reader"}
    items = {"items": "{{ inputs.names }}", "max_parallel": 2, "require": "any"}
    call = {"call": "simulated.work:step", "with": {"x0": "{{ index }}"}, "timeout": "20s"}
    each = {"id": "each", "for_each": items, **call, "retry": {"max_attempts": 2, "delay": "5s"}}
    then = {"id": "then", "for_each": {"same_as": "each"}, "ask": {"question": "Keep {{ item }}?"}}
    workflow = {
        "name": "world",
        "max_concurrency": 1,
        "inputs": {"names": {"type": "array", "default": ["x"]}},
        "agents": {"reader": {"posture": "read_only"}},
        "steps": [task, each, then],
    }
    behaviours: dict[str, Any] = {
        "s0": [{"lasts": 3.0, "end": "turn_limit"}],
        "each": [{"end": "hang"}, {"end": "crash"}],
    }
    # It is asked for as the item fails, and is under way while list after list is collected.
    merges = [{"at": 29.2 + number / 50, "do": "merge", "pick": 11} for number in range(6)]
    for merge in merges:
        acts = [{"form": "start", "ops": [merge]}]
        life = judged(World("1219870", workflow, behaviours, acts=acts))
        assert life.breaches == []
        assert events(life, "merge_applied") == []


def test_an_item_alone_is_run_alone_though_the_list_has_new_ones() -> None:
    each = {"id": "each", "for_each": "{{ inputs.names }}", "run": ["work", "{{ item }}"]}
    inputs = {"names": {"type": "array", "default": ["p", "q"]}}
    workflow = {"name": "world", "inputs": inputs, "steps": [each]}
    only = {"form": "resume", "inputs": {"names": ["p", "q", "r"]}, "flags": {"only": "each@1"}}
    acts: list[dict[str, Any]] = [{"form": "start"}, only]
    life = judged(World("told", workflow, {"each": [{}]}, acts=acts))
    assert life.breaches == []
    course = events(life, "run_resumed")[0]["seq"]
    begun = [
        each["data"]["step"] for each in events(life, "attempt_started") if each["seq"] > course
    ]
    assert begun[0] == "each@1"
    held = [each["data"] for each in events(life, "step_held") if each["seq"] > course]
    why = {each["step"]: each["held_by"]["kind"] for each in held}
    assert why["each@2"] == "not_selected"


ISOLATED = {"id": "a", "run": ["work", "{{ inputs.n }}"], "write_set": ["a/x"]}
MERGED = [
    {**ISOLATED, "workspace": "isolated"},
    {"id": "land", "merge": ["a"], "depends_on": ["a"]},
]


def test_a_merge_step_whose_verdict_was_torn_off_is_not_ready_once_its_merge_is_undone() -> None:
    workflow = {"name": "world", "inputs": {"n": {"type": "integer", "default": 3}}}
    life = judged(
        World(
            "told",
            {**workflow, "steps": MERGED},
            {"a": [{"lasts": 5.0, "writes": ["a/x"]}]},
            acts=[
                {"form": "start", "death": {"append": 4, "how": "torn", "bytes": 900}},
                {"form": "merge", "gap": 1.0, "run": 0, "undo": True},
                {"form": "resume", "gap": 1.0},
            ],
        )
    )
    assert life.breaches == []
    assert [event["data"]["merge"] for event in events(life, "merge_applied")] == [
        "land.1",
        "m2",
        "land.2",
    ]
    assert [event["data"]["attempt"] for event in events(life, "checkpoint_decided", "land")] == [2]


@pytest.mark.parametrize(
    ("append", "damage"), [(4, 60), (4, 72), (4, 73), (4, 74), (5, 60), (5, 66), (5, 72), (5, 74)]
)
def test_what_only_a_journal_proves_of_merges_is_told_where_the_log_was_cut_before_it(
    append: int, damage: int
) -> None:
    workflow = {"name": "world", "inputs": {"n": {"type": "integer", "default": 3}}}
    question = {"id": "s1", "ask": {"question": "Go on?"}, "timeout": "25s"}
    death = {"append": append, "how": "before", "bytes": 138}
    undo = {"at": 7.5, "do": "undo", "pick": 82}
    life = judged(
        World(
            "told",
            {**workflow, "steps": [question, *MERGED]},
            {"a": [{"lasts": 5.0, "writes": ["a/x"]}]},
            acts=[
                {"form": "start", "attended": True},
                {
                    "form": "resume",
                    "fresh": True,
                    "attended": True,
                    "inputs": {"n": 2},
                    "death": death,
                    "ops": [undo],
                },
                {"form": "resume", "fresh": True, "damage": damage},
            ],
        )
    )
    assert life.breaches == []
    recovered = [event["seq"] for event in events(life, "warning_raised")]
    told = [event["seq"] - 1 for event in events(life, "merge_applied")]
    assert set(recovered) & set(told)


def test_an_item_waits_for_no_large_value_of_an_item_of_another_list() -> None:
    each = {
        "id": "each",
        "for_each": ["a", "b"],
        "run": ["work", "{{ item }}"],
        "verify": [{"command": "check it"}],
    }
    again = {
        "id": "again",
        "for_each": "{{ steps.each.output }}",
        "depends_on": ["each"],
        "run": ["work", "{{ index }}"],
    }
    life = judged(
        World(
            "told",
            {"name": "world", "steps": [each, again]},
            {"each": [{}], "each@1": [{"value": "big", "check": "fail"}], "again": [{}]},
            acts=[{"form": "start"}, {"form": "decide"}],
        )
    )
    assert events(life, "step_scheduled", "again@1")
    assert life.breaches == []


def test_a_merge_step_that_found_a_persons_merge_is_not_ready_once_that_is_undone() -> None:
    apart = {"run": ["work"], "workspace": "isolated"}
    steps = [
        {"id": "warm", **apart},
        {"id": "cold", **apart},
        {"id": "settle", "merge": ["warm", "cold"], "depends_on": ["warm", "cold"]},
    ]
    life = judged(
        World(
            "1318683",
            {"name": "world", "steps": steps},
            {"warm": [{"writes": ["c"]}], "cold": [{"writes": ["-c"]}]},
            acts=[
                {"form": "start"},
                {"form": "merge", "pick": 70, "sides": "workspace"},
                {"form": "resume", "death": {"end": 1, "strays": True}},
                {"form": "merge", "undo": True},
            ],
        )
    )
    assert life.breaches == []
    ends = [each["data"]["error"] for each in events(life, "attempt_ended", "settle")]
    assert [None if each is None else each["kind"] for each in ends][1:3] == [None, CONFLICT]


def test_a_step_that_shares_the_list_of_one_that_stays_failed_keeps_what_it_has() -> None:
    again = {"call": "simulated.work:step", "with": {"x0": "{{ item }}"}, "reuse": "never"}
    steps = [
        {"id": "gate", "ask": {"question": "Go on?"}},
        {"id": "each", "for_each": ["a", "b"], **again},
        {"id": "then", "for_each": {"same_as": "each"}, "run": ["work", "{{ item }}"]},
        {
            "id": "last",
            "for_each": {"same_as": "then", "require": "any"},
            "run": ["work", "{{ steps.then.output }}"],
        },
    ]
    fails = {"then@1": [{"end": "exit"}]}
    acts = [{"form": "start"}, {"form": "decide"}]
    life = judged(World("told", {"name": "world", "steps": steps}, fails, acts=acts))
    assert life.breaches == []
    assert events(life, "attempt_started", "each@0")[1]["data"]["attempt"] == 2
    assert entries(life, 0)["then"] == ("hold", "partial")
    assert len(events(life, "attempt_started", "last@0")) == 1
    assert events(life, "checkpoint_decided", "last")[1]["data"]["reused"] is True


def test_a_merge_step_that_was_ready_by_a_persons_merge_is_not_once_that_is_undone() -> None:
    steps = [
        {"id": "warm", "run": ["work"], "workspace": "isolated"},
        {"id": "gate", "ask": {"question": "Land it?"}, "depends_on": ["warm"]},
        {"id": "settle", "merge": ["warm"], "depends_on": ["warm", "gate"]},
    ]
    life = judged(
        World(
            "told",
            {"name": "world", "steps": steps},
            {"warm": [{"writes": ["c"]}]},
            acts=[
                {"form": "start"},
                {"form": "merge"},
                {"form": "decide"},
                {"form": "merge", "undo": True},
                {"form": "resume"},
            ],
        )
    )
    assert life.breaches == []
    assert events(life, "merge_applied")[0]["data"]["merge"] == "m1"
    assert len(events(life, "checkpoint_decided", "settle")) == 2


def test_what_a_merge_step_brought_of_items_that_come_back_to_their_list_is_its_result_again() -> (
    None
):
    each = {"id": "each", "for_each": "{{ inputs.names }}", "run": ["work", "{{ item }}"]}
    steps = [
        {**each, "workspace": "isolated"},
        {"id": "bring", "merge": ["each"], "depends_on": ["each"]},
    ]
    inputs = {"names": {"type": "array", "default": ["p", "r"]}}
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "inputs": {"names": ["p"]}},
        {"form": "resume", "inputs": {"names": ["p", "r"]}},
    ]
    workflow = {"name": "world", "inputs": inputs, "steps": steps}
    life = judged(World("told", workflow, {"each": [{"writes": ["w/@"]}]}, acts=acts))
    assert life.breaches == []
    assert len(events(life, "merge_applied")) == 1
    before, between, after = (
        each["data"]["digest"] for each in events(life, "checkpoint_decided", "bring")
    )
    assert (before == after, before == between) == (True, False)


def test_an_attempt_that_began_with_files_of_a_merge_is_made_again_once_that_is_undone() -> None:
    steps = [
        {"id": "one", "run": ["work"], "workspace": "isolated"},
        {"id": "settle", "merge": ["one"], "depends_on": ["one"]},
    ]
    life = judged(
        World(
            "told",
            {"name": "world", "steps": steps},
            {"one": [{"writes": ["c"]}]},
            acts=[
                {"form": "start"},
                {"form": "resume", "flags": {"from": "one"}},
                {"form": "merge", "undo": True},
                {"form": "resume"},
            ],
        )
    )
    assert life.breaches == []
    starts = [each["data"]["attempt"] for each in events(life, "attempt_started", "one")]
    assert starts[:3] == [1, 2, 3]
    assert events(life, "workspace_captured", "one")[2]["data"]["changes"]["count"] == 1


def test_the_values_of_a_list_that_is_sorted_again_are_in_its_order_where_it_is_shared_too() -> (
    None
):
    steps = [
        {"id": "each", "for_each": "{{ inputs.names }}", "run": ["work", "{{ item }}"]},
        {"id": "up", "for_each": {"same_as": "each"}, "run": ["work", "{{ steps.each.output }}"]},
        {"id": "sum", "run": ["work", "{{ steps.up.output }}"], "depends_on": ["up"]},
    ]
    inputs = {"names": {"type": "array", "default": ["p", "q", "r"]}}
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "inputs": {"names": ["r", "p", "q"]}},
    ]
    life = judged(World("told", {"name": "world", "inputs": inputs, "steps": steps}, {}, acts=acts))
    assert life.breaches == []
    first, second = (each["data"]["output"] for each in events(life, "attempt_ended", "up"))
    assert [first["value"][at] for at in (2, 0, 1)] == second["value"]
    assert len(events(life, "attempt_started", "up@0")) == 1
    assert len(events(life, "attempt_started", "sum")) == 2


def test_a_condition_on_an_input_is_asked_again_where_the_input_is_another() -> None:
    steps = [
        {"id": "login", "run": ["work"], "when": "{{ inputs.deploy }}"},
        {"id": "push", "run": ["work", "{{ inputs.version }}"], "depends_on": ["login"]},
        {
            "id": "each",
            "for_each": [1, 2, 3],
            "run": ["work", "{{ item }}"],
            "when": "{{ inputs.version }} < {{ item }}",
        },
    ]
    inputs = {
        "deploy": {"type": "boolean", "default": True},
        "version": {"type": "integer", "default": 1},
    }
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "inputs": {"deploy": False, "version": 2}},
        {"form": "resume", "inputs": {"deploy": True, "version": 1}},
    ]
    life = judged(World("told", {"name": "world", "inputs": inputs, "steps": steps}, {}, acts=acts))
    assert life.breaches == []
    held = [each["data"]["step"] for each in events(life, "step_held")]
    assert held[0] == "each@0"
    assert sorted(held[1:5]) == ["each@0", "each@1", "login", "push"]
    assert len(events(life, "attempt_started", "each@2")) == 1
    between = [each["seq"] for each in events(life, "run_resumed")]
    begun = [each["seq"] for each in events(life, "attempt_started")]
    assert not [seq for seq in begun if between[0] < seq < between[1]]


def test_a_step_is_not_tried_again_on_what_was_undone_meanwhile() -> None:
    again = {"retry": {"max_attempts": 2, "delay": "10s"}}
    steps = [
        {"id": "warm", "run": ["work"], "workspace": "isolated"},
        {"id": "settle", "merge": ["warm"], "depends_on": ["warm"]},
        {"id": "after", "run": ["work"], "depends_on": ["settle"], **again},
    ]
    life = judged(
        World(
            "told",
            {"name": "world", "steps": steps},
            {"warm": [{"writes": ["c"]}], "after": [{"end": "exit"}]},
            acts=[{"form": "start", "ops": [{"at": 6.0, "do": "undo", "pick": 0}]}],
        )
    )
    assert life.breaches == []
    end = events(life, "run_finished")[0]["seq"]
    assert [each["seq"] < end for each in events(life, "merge_applied")][:2] == [True, True]
    begun = [each["seq"] for each in events(life, "attempt_started", "after")]
    assert len([seq for seq in begun if seq < end]) == 1
    assert events(life, "checkpoint_decided", "after")[0]["data"]["status"] == "failed"


def test_a_conflict_that_kept_a_step_from_its_start_covers_no_meeting_once_it_is_not_after_the_other() -> (
    None
):
    warm = {"id": "warm", "run": ["work"], "workspace": "isolated"}
    cold = {"id": "cold", "run": ["work"], "workspace": "isolated"}
    apart = {"name": "world", "steps": [warm, cold]}
    behind = {"name": "world", "steps": [warm, {**cold, "depends_on": ["warm"]}]}
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "touch": ["c"], "workflow": behind, "flags": {"from": "cold"}},
        {"form": "resume", "workflow": apart},
    ]
    behaviours = {"warm": [{"writes": ["c"]}], "cold": [{"writes": ["-c"]}]}
    life = judged(World("told", apart, behaviours, acts=acts))
    assert life.breaches == []
    reasons = [each["data"]["reason"] for each in events(life, "seam_opened")]
    assert reasons[:3] == ["met", "conflict", "met"]


def test_a_list_of_which_one_item_is_selected_leaves_the_lost_values_of_others_where_they_are() -> (
    None
):
    step = {
        "id": "each",
        "for_each": ["x", "y"],
        "call": "simulated.work:step",
        "with": {"x0": "{{ item }}"},
    }
    life = lived(
        [step],
        {"form": "start"},
        {"form": "resume", "lose_blob": 1, "flags": {"only": "each@1"}},
        each=[{"value": "big"}],
    )
    resumed = events(life, "run_resumed")[0]["data"]
    assert [entry["step_id"] for entry in resumed["steps"]] == ["each", "each@1"]
    after = events(life, "checkpoint_decided", "each")[1]["data"]
    assert after["error"]["kind"] == "blob_missing"


def test_an_item_behind_one_that_is_skipped_now_does_not_stand() -> None:
    each = {
        "id": "each",
        "for_each": {"items": "{{ inputs.names }}", "key": "{{ item }}"},
        "when": "{{ index }} > 0",
        "run": ["work"],
    }
    workflow = {
        "name": "world",
        "inputs": {"names": {"type": "array", "default": ["x", "y"]}},
        "steps": [
            each,
            {"id": "then", "for_each": {"same_as": "each"}, "run": ["work"]},
            {"id": "last", "for_each": {"same_as": "then"}, "run": ["work"]},
        ],
    }
    acts: list[dict[str, Any]] = [{"form": "start"}, {"form": "resume", "inputs": {"names": ["y"]}}]
    life = judged(World("told", workflow, {}, acts=acts))
    assert life.breaches == []
    held = [event["data"]["held_by"]["step"] for event in events(life, "step_held", "last@1")]
    assert held == ["then@1"]


def test_a_list_that_was_being_gathered_at_a_death_is_gathered_again_without_a_warning() -> None:
    life = lived(
        [
            {"id": "a", "run": ["work"]},
            {"id": "each", "for_each": [], "run": ["b"], "rerun": "ask"},
        ],
        {"form": "start", "death": {"append": 1, "how": "after", "bytes": 0}},
        {"form": "resume"},
        a=[{"lasts": 1.0}],
    )
    assert [event["data"]["attempt"] for event in events(life, "step_scheduled", "each")] == [1, 2]
    raised = {event["data"]["step"] for event in events(life, "warning_raised")}
    assert "each" not in raised


def test_a_decision_on_an_item_that_is_held_since_waits_for_what_is_before_it() -> None:
    each = {
        "id": "each",
        "for_each": {"items": "{{ inputs.names }}", "key": "{{ item }}", "require": "any"},
        "when": "{{ index }} > 0",
        "run": ["work"],
    }
    then = {
        "id": "then",
        "for_each": {"same_as": "each", "require": 1},
        "ask": {"question": "Keep it?"},
    }
    workflow = {
        "name": "world",
        "inputs": {"names": {"type": "array", "default": ["x", "y", "z"]}},
        "steps": [each, then, {"id": "other", "run": ["work"]}],
    }
    record = {"form": "record", "pick": 0, "verdict": "accept", "value": None, "on": None}
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {**record, "permit": False},
        {**record, "permit": False},
        {"form": "resume", "inputs": {"names": ["y", "z"]}},
        {"form": "resume"},
    ]
    life = judged(World("told", workflow, {"other": [{"end": "exit"}] * 3}, acts=acts))
    assert life.breaches == []
    assert len(events(life, "step_held", "then@1")) == 1
    assert events(life, "checkpoint_decided", "then@1") == []


def test_the_undo_of_a_merge_of_items_that_left_their_list_sets_a_held_merge_step_back() -> None:
    workflow = {
        "name": "world",
        "inputs": {"names": {"type": "array", "default": ["x"]}},
        "steps": [
            {
                "id": "each",
                "for_each": {"items": "{{ inputs.names }}", "key": "{{ item }}"},
                "run": ["work", "{{ item }}"],
                "workspace": "isolated",
            },
            {"id": "gate", "run": ["work"]},
            {"id": "bring", "merge": ["each"], "depends_on": ["each", "gate"]},
        ],
    }
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "merge"},
        {"form": "resume"},
        {"form": "resume", "inputs": {"names": ["y"]}},
        {"form": "merge", "undo": True},
    ]
    behaviours: dict[str, list[dict[str, Any]]] = {
        "each": [{"writes": ["c"]}],
        "each@1": [{"end": "exit"}],
        "gate": [{"end": "exit"}, {}],
    }
    life = judged(World("told", workflow, behaviours, acts=acts))
    assert life.breaches == []
    assert events(life, "merge_applied")[-1]["data"].get("undoes") is not None


def test_a_thread_of_an_item_that_left_its_list_holds_nothing_once_it_has_returned() -> None:
    workflow = {
        "name": "world",
        "max_concurrency": 1,
        "inputs": {"names": {"type": "array", "default": ["x", "y"]}},
        "steps": [
            {
                "id": "each",
                "for_each": {"items": "{{ inputs.names }}", "key": "{{ item }}"},
                "call": "simulated.work:step",
                "timeout": "20s",
            },
            {"id": "other", "run": ["work"]},
        ],
    }
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "inputs": {"names": ["x"]}},
        {"form": "resume", "inputs": {"names": ["x", "y"]}},
    ]
    behaviours: dict[str, list[dict[str, Any]]] = {
        "each@1": [{"end": "hang", "returns": 15.0}, {}],
        "other": [{"end": "exit"}, {"lasts": 30.0, "end": "exit"}],
    }
    life = judged(World("told", workflow, behaviours, acts=acts))
    assert life.breaches == []


def test_a_merge_step_behind_a_list_without_items_is_not_made_of_files_that_no_step_left() -> None:
    then: dict[str, Any] = {
        "for_each": {"same_as": "each", "require": 1},
        "run": ["work"],
        "depends_on": ["b"],
    }
    last: dict[str, Any] = {
        "for_each": {"same_as": "then"},
        "run": ["work"],
        "workspace": "isolated",
    }
    workflow = {
        "name": "world",
        "undeclared_writers": "allow",
        "steps": [
            {"id": "a", "run": ["work"], "posture": "read_only", "workspace": "isolated"},
            {"id": "b", "run": ["work"], "depends_on": ["a"]},
            {"id": "c", "call": "simulated.work:step"},
            {"id": "each", "for_each": [], "run": ["work"]},
            {"id": "then", **then},
            {"id": "last", **last},
            {"id": "bring", "merge": ["last"], "depends_on": ["last"]},
        ],
    }
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "ops": [{"at": 1.2, "do": "lose_lock", "after": 0.3}]},
    ]
    behaviours: dict[str, list[dict[str, Any]]] = {
        "a": [{"lasts": 0.2, "writes": ["a/x"]}],
        "c": [{"lasts": 2.0, "end": "lost"}, {"lasts": 2.0}],
    }
    life = judged(World("told", workflow, behaviours, acts=acts))
    assert life.breaches == []
    assert len(events(life, "step_scheduled", "bring")) < len(events(life, "run_resumed")) + 1


def test_a_merge_that_is_found_after_a_damage_may_have_lost_the_decision_before_it() -> None:
    life = lived(
        [
            {"id": "warm", "run": ["work"], "workspace": "isolated"},
            {"id": "cold", "run": ["work"], "workspace": "isolated"},
            {"id": "settle", "merge": ["warm", "cold"], "depends_on": ["warm", "cold"]},
        ],
        {"form": "start"},
        {"form": "decide", "death": {"append": 2, "how": "before", "bytes": 4, "strays": False}},
        {"form": "resume", "damage": 4},
        warm=[{"writes": ["c"]}],
        cold=[{"writes": ["-c"]}],
        salt="1545722",
    )
    assert events(life, "merge_applied")[0]["data"]["solved"] == ["c"]


def test_a_list_may_wait_for_its_items_though_one_that_left_it_is_taken_back() -> None:
    work: dict[str, Any] = {"run": ["work"], "workspace": "isolated"}
    workflow = {
        "name": "world",
        "on_failure": "stop",
        "inputs": {"names": {"type": "array", "default": ["z"]}},
        "steps": [
            {"id": "each", "for_each": "{{ inputs.names }}", **work},
            {"id": "then", "for_each": {"same_as": "each"}, **work},
        ],
    }
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "merge", "gap": 1.0, "pick": 1},
        {"form": "resume", "flags": {"from": "each@0"}},
        {"form": "resume", "inputs": {"names": ["x"]}, "ops": [{"at": 0.8, "do": "undo"}]},
        {"form": "resume"},
    ]
    behaviours: dict[str, list[dict[str, Any]]] = {
        "each": [{"lasts": 1.0, "writes": ["w/each/@"]}],
        "each@1": [{"lasts": 1.0, "end": "crash"}, {"lasts": 1.0}],
        "then": [{"lasts": 1.0, "writes": ["w/then/@"]}],
    }
    life = judged(World("told", workflow, behaviours, acts=acts))
    assert life.breaches == []
    assert entries(life, 2)["then"] == ("rerun", "upstream_changed")


def test_what_a_merge_step_brought_of_an_item_that_is_skipped_since_is_not_its_result() -> None:
    work: dict[str, Any] = {"run": ["work"], "workspace": "isolated"}
    workflow = {
        "name": "world",
        "inputs": {"names": {"type": "array", "default": ["z"]}},
        "steps": [
            {"id": "each", "for_each": "{{ inputs.names }}", "when": "{{ index }} < 1", **work},
            {"id": "bring", "merge": ["each"], "depends_on": ["each"]},
        ],
    }
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "inputs": {"names": ["x", "z"]}},
    ]
    behaviours: dict[str, list[dict[str, Any]]] = {"each": [{}], "each@0": [{"writes": ["c"]}]}
    life = judged(World("told", workflow, behaviours, acts=acts))
    assert life.breaches == []
    first, second = events(life, "checkpoint_decided", "bring")
    assert first["data"]["digest"] != second["data"]["digest"]


def test_a_resolved_merge_is_foreseen_to_run_again() -> None:
    life = lived(
        [
            {"id": "warm", "run": ["work"], "workspace": "isolated"},
            {"id": "cold", "run": ["work"], "workspace": "isolated"},
            {"id": "settle", "merge": ["warm", "cold"], "depends_on": ["warm", "cold"]},
        ],
        {"form": "start"},
        {"form": "record"},
        {"form": "resume"},
        warm=[{"writes": ["c"]}],
        cold=[{"writes": ["-c"]}],
        salt="1590010",
    )
    assert entries(life, 0)["settle"] == ("reuse", "decided")
    assert life.witness.counts["forecasts"] == 1
    assert [event["data"]["attempt"] for event in events(life, "step_scheduled", "settle")] == [
        1,
        2,
    ]


def test_a_list_behind_a_skipped_step_is_skipped_though_it_shares_the_list_of_another() -> None:
    life = lived(
        [
            {"id": "b", "run": ["work"], "depends_on": ["a"]},
            {"id": "a", "run": "work", "when": "false"},
            {"id": "each", "for_each": ["x", "y"], "run": ["work"]},
            {"id": "then", "for_each": {"same_as": "each"}, "run": ["work"], "depends_on": ["b"]},
            {"id": "last", "run": ["work"], "depends_on": ["then"]},
        ],
        {"form": "start"},
    )
    assert events(life, "run_finished")[0]["data"]["status"] == "completed"
    [held] = events(life, "step_held", "then")
    assert held["data"]["held_by"]["kind"] == "when"
    assert events(life, "step_scheduled", "then") == []


def test_a_list_whose_items_are_held_by_a_list_that_is_skipped_in_the_end_is_skipped() -> None:
    def over(step: str, leader: str, *after: str, **more: Any) -> dict[str, Any]:
        listed = {"same_as": leader}
        return {"id": step, "for_each": listed, "run": ["work"], "depends_on": list(after), **more}

    life = lived(
        [
            {"id": "s0", "for_each": [3, 2], "when": "{{ item }} > 2", "run": ["work"]},
            {"id": "s1", "run": ["work"]},
            over("s3", "s0", "s0"),
            over("s4", "s3", "s3", "s1", when="{{ item }} < 1"),
            over("work", "s3", "s0", "s4", "s3"),
            {"id": "publish", "run": ["work", "{{ steps.work.output }}"], "depends_on": ["work"]},
        ],
        {"form": "start"},
    )
    assert events(life, "step_scheduled", "work") == []
    assert events(life, "step_scheduled", "publish") == []
    assert events(life, "run_finished")[0]["data"]["status"] == "completed"


def test_a_list_runs_again_for_an_input_that_only_its_items_refer_to() -> None:
    workflow = {
        "name": "world",
        "inputs": {"n": {"type": "integer", "default": 0}},
        "steps": [{"id": "each", "for_each": ["x"], "run": ["work", "{{ inputs.n }}"]}],
    }
    acts: list[dict[str, Any]] = [{"form": "start"}, {"form": "resume", "inputs": {"n": 3}}]
    life = judged(World("told", workflow, {"each": [{}]}, acts=acts))
    assert life.breaches == []
    assert entries(life, 0)["each"] == ("rerun", "input_changed")
    assert len(events(life, "step_scheduled", "each@0")) == 2


def test_an_item_is_foreseen_to_run_though_the_list_that_it_shares_was_rejected() -> None:
    life = lived(
        [
            {"id": "each", "for_each": ["x", "y"], "run": ["work"]},
            {"id": "then", "for_each": {"same_as": "each", "require": "any"}, "run": ["work"]},
        ],
        {"form": "start"},
        {"form": "record", "verdict": "reject"},
        {"form": "resume"},
        salt="1594046",
        each=[{"end": "lost"}],
        **{"each@1": [{}], "then": [{"end": "lost"}, {}]},
    )
    assert entries(life, 0)["each"] == ("reuse", "decided")
    assert [e["data"]["attempt"] for e in events(life, "step_scheduled", "then@1")] == [1, 2]


@pytest.mark.parametrize("more", [{}, {"when": "{{ item }} != 'z'"}])
def test_an_item_whose_verdict_was_torn_off_is_not_done_twice(more: dict[str, Any]) -> None:
    ends: dict[str, Any] = {
        "each": [{"lasts": 1.0}],
        "each@1": [{"lasts": 5.0}],
        "slow": [{"lasts": 5.0}],
    }
    life = lived(
        [
            {"id": "each", "for_each": ["x", "y"], "run": ["work"], **more},
            {"id": "slow", "run": ["work"]},
        ],
        {"form": "start", "death": {"append": 3, "how": "torn", "bytes": 500}},
        {"form": "resume"},
        **ends,
    )
    [ended] = events(life, "attempt_ended", "each@0")
    verdict = events(life, "checkpoint_decided", "each@0")[0]
    [resumed] = events(life, "run_resumed")
    assert ended["seq"] + 1 == verdict["seq"] == resumed["seq"] - 1
    assert ended["at"] != verdict["at"]
    assert len(events(life, "step_scheduled", "each@0")) == 1
    assert len(events(life, "step_scheduled", "each@1")) == 2


def test_an_item_that_is_run_alone_is_foreseen_to_run_though_the_list_that_it_shares_failed() -> (
    None
):
    life = lived(
        [
            {"id": "each", "for_each": ["x", "y"], "run": ["work"]},
            {"id": "then", "for_each": {"same_as": "each", "require": "any"}, "run": ["work"]},
        ],
        {"form": "start"},
        {"form": "resume", "flags": {"only": "then@0"}},
        salt="172",
        **{"each@1": [{"end": "crash"}], "each@0": [{}], "then": [{}]},
    )
    assert entries(life, 0)["each"] == ("hold", "partial")
    assert [e["data"]["attempt"] for e in events(life, "step_scheduled", "then@0")] == [1, 2]
    assert [e["data"]["attempt"] for e in events(life, "step_scheduled", "then")] == [1, 2]


def test_an_edit_that_writes_out_a_default_is_another_workflow() -> None:
    each = {"id": "each", "for_each": {"items": ["x"]}, "run": ["work"]}
    whole = {**each, "for_each": {"items": ["x"], "require": "all"}}
    edited = {"name": "world", "agents": {"helper": {}}, "steps": [whole]}
    life = lived([each], {"form": "start"}, {"form": "resume", "workflow": edited})
    started, resumed = events(life, "run_started"), events(life, "run_resumed")
    assert started[0]["data"]["spec_digest"] != resumed[0]["data"]["spec_digest"]


def listed(names: list[str], *steps: dict[str, Any]) -> dict[str, Any]:
    """A workflow over the list `names`."""
    inputs = {"names": {"type": "array", "default": names}}
    return {"name": "world", "inputs": inputs, "steps": list(steps)}


def test_a_list_that_is_left_out_is_not_skipped_because_one_of_its_items_is() -> None:
    each = {"id": "each", "for_each": "{{ inputs.names }}", "when": "{{ item }} != 'x'"}
    other = {"id": "other", "run": ["work"]}
    workflow = listed(["x", "y"], {**each, "run": ["work"]}, other)
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "flags": {"from": "other"}, "inputs": {"names": ["x", "z"]}},
        {"form": "resume"},
    ]
    life = judged(World("told", workflow, {"each": [{}], "other": [{}]}, acts=acts))
    assert life.breaches == []
    statuses = [event["data"]["status"] for event in events(life, "run_finished")]
    assert statuses == ["completed", "partial", "completed"]
    assert entries(life, 0)["each"] == ("hold", "not_selected")


def test_a_list_that_is_shared_no_more_and_is_left_out_still_has_its_items() -> None:
    each = {"id": "each", "for_each": "{{ inputs.names }}", "run": ["work"]}
    then = {"id": "then", "for_each": {"same_as": "each"}, "run": ["work"]}
    edited = {**then, "for_each": "{{ inputs.names }}"}
    workflow, later = listed(["x"], each, then), listed(["x"], each, edited)
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "workflow": later, "flags": {"only": "each"}},
    ]
    life = judged(World("told", workflow, {"each": [{}], "then": [{}]}, acts=acts))
    assert life.breaches == []
    assert entries(life, 0)["then"] == ("hold", "not_selected")
    [held] = events(life, "step_held", "then@0")
    assert held["data"]["held_by"]["kind"] == "not_selected"


def test_a_list_that_is_left_out_is_not_kept_where_an_edit_lets_items_in() -> None:
    each = {"id": "each", "for_each": "{{ inputs.names }}", "run": ["work"]}
    other = {"id": "other", "run": ["work"]}
    workflow = listed(["x", "y"], {**each, "when": "{{ item }} == 'y'"}, other)
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {
            "form": "resume",
            "workflow": listed(["x", "y"], each, other),
            "flags": {"from": "other"},
        },
        {"form": "resume"},
    ]
    life = judged(World("told", workflow, {"each": [{}], "other": [{}]}, acts=acts))
    assert life.breaches == []
    statuses = [event["data"]["status"] for event in events(life, "run_finished")]
    assert statuses == ["completed", "partial", "completed"]
    assert len(events(life, "step_scheduled", "each@0")) == 1
    assert len(events(life, "step_scheduled", "each@1")) == 1


def test_a_list_that_is_left_out_is_kept_with_its_skipped_items() -> None:
    each = {"id": "each", "for_each": ["x", "y"], "when": "{{ item }} == 'y'", "run": ["work"]}
    life = lived(
        [
            each,
            {
                "id": "then",
                "for_each": {"same_as": "each"},
                "run": ["work", "{{ item }}"],
            },
            {"id": "other", "run": ["work"]},
        ],
        {"form": "start"},
        {"form": "resume", "flags": {"from": "other"}},
        each=[{}],
        then=[{}],
        other=[{}, {}],
    )
    statuses = [event["data"]["status"] for event in events(life, "run_finished")]
    assert statuses == ["completed", "completed"]


def test_a_list_behind_a_skipped_step_is_skipped_though_items_of_the_list_that_it_shares_failed() -> (
    None
):
    ends: dict[str, Any] = {"each": [{}], "each@0": [{"end": "crash"}]}
    life = lived(
        [
            {"id": "maybe", "run": ["work"], "when": "1 > 2"},
            {"id": "each", "for_each": {"items": ["x", "y"], "require": "any"}, "run": ["work"]},
            {
                "id": "then",
                "for_each": {"same_as": "each"},
                "run": ["work"],
                "depends_on": ["maybe", "each"],
            },
            {
                "id": "last",
                "for_each": {"same_as": "then"},
                "run": ["work"],
                "depends_on": ["then"],
            },
        ],
        {"form": "start"},
        **ends,
    )
    assert events(life, "step_scheduled", "then") == []
    assert events(life, "step_scheduled", "last") == []
    assert events(life, "run_finished")[0]["data"]["status"] == "completed"
    assert events(life, "step_held", "then")[0]["data"]["held_by"]["step"] == "maybe"


def test_an_item_that_a_resume_left_out_runs_in_the_next_though_its_list_is_ready() -> None:
    each = {"id": "each", "for_each": {"items": "{{ inputs.names }}", "require": "any"}}
    workflow = listed(["x"], {**each, "run": ["work", "{{ item }}"]})
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {
            "form": "resume",
            "inputs": {"names": ["x", "y"]},
            "flags": {"only": "each@0"},
        },
        {"form": "resume"},
    ]
    life = judged(World("told", workflow, {"each": [{}, {}]}, acts=acts))
    assert life.breaches == []
    assert entries(life, 1)["each"] == ("rerun", "upstream_changed")
    assert len(events(life, "step_scheduled", "each@0")) == 2
    assert len(events(life, "step_scheduled", "each@1")) == 1


def test_a_list_that_is_left_out_is_not_skipped_with_the_items_of_another_list() -> None:
    each = {"id": "each", "for_each": "{{ inputs.names }}", "when": "{{ item }} != 'x'"}
    other = {"id": "other", "run": ["work"]}
    workflow = listed(["x"], {**each, "run": ["work"]}, other)
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "flags": {"only": "other"}},
        {"form": "resume", "flags": {"only": "other"}, "inputs": {"names": ["x", "y"]}},
        {"form": "resume"},
    ]
    life = judged(World("told", workflow, {"each": [{}], "other": [{}]}, acts=acts))
    assert life.breaches == []
    statuses = [event["data"]["status"] for event in events(life, "run_finished")]
    assert statuses == ["completed", "completed", "partial", "completed"]


def test_a_list_whose_leader_has_another_list_now_is_planned_to_run() -> None:
    each = {"id": "each", "for_each": "{{ inputs.names }}", "run": ["work"]}
    then = {"id": "then", "for_each": {"same_as": "each"}, "run": ["work"]}
    workflow = listed([], each, then)
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "flags": {"until": "each"}, "inputs": {"names": ["x"]}},
        {"form": "resume"},
    ]
    life = judged(World("told", workflow, {"each": [{}], "then": [{}]}, acts=acts))
    assert life.breaches == []
    assert entries(life, 1)["then"] == ("rerun", "upstream_changed")
    assert len(events(life, "step_scheduled", "then@0")) == 1


def test_a_list_is_not_kept_where_an_item_that_an_edit_let_in_has_failed() -> None:
    each = {"id": "each", "for_each": "{{ inputs.names }}", "run": ["work"]}
    workflow = listed(["x", "y"], {**each, "when": "{{ item }} == 'y'"})
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {"form": "resume", "workflow": listed(["x", "y"], each)},
    ]
    ends: dict[str, Any] = {"each": [{}], "each@0": [{"end": "crash"}]}
    life = judged(World("told", workflow, ends, acts=acts))
    assert life.breaches == []
    statuses = [event["data"]["status"] for event in events(life, "run_finished")]
    assert statuses[:2] == ["completed", "partial"]


def test_a_merge_that_is_undone_sets_no_list_back_that_its_item_has_left() -> None:
    each = {"id": "each", "for_each": "{{ inputs.names }}", "run": ["work"]}
    bring = {"id": "bring", "merge": ["each"], "depends_on": ["each"]}
    acts: list[dict[str, Any]] = [
        {"form": "start"},
        {
            "form": "resume",
            "workflow": listed(
                ["x"], {**each, "workspace": "isolated", "env": {"EDITED": "1"}}, bring
            ),
        },
        {"form": "resume", "inputs": {"names": []}},
        {"form": "merge", "undo": True},
    ]
    workflow = listed(["x"], {**each, "workspace": "isolated"}, bring)
    life = judged(World("told", workflow, {"each": [{"writes": ["w/each"]}]}, acts=acts))
    assert life.breaches == []
    assert len(events(life, "merge_applied")) == 2
    assert len(events(life, "step_scheduled", "each")) == 3
