"""The button of a plan: a click starts the run that was planned, in the place of the plan. In a real kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pixirnb
from tests.notebook.kernel_cells import Notebook
from tests.notebook.live.test_live_view import VIEW, Page

STORY = """%%workflow story
steps:
  - {id: make, run: "echo made", posture: read_only, read_set: []}
  - {id: hold, run: "until [ -e go ]; do sleep 0.05; done; echo went", posture: read_only, read_set: [], depends_on: [make]}
"""


class PlanPage(Page):
    """A front-end that shows plans."""

    @property
    def widget(self) -> str:
        """The comm of the one widget that is open, whether it shows a plan or a run."""
        (found,) = (c for c, s in self.models.items() if "plan" in s and c not in self.closed)
        return found

    def click(self, number: int, until: str | None = None) -> None:
        """Click, and do not wait for the answer."""
        client = self.notebook.client
        message = {"id": number, "do": "run", "until": until}
        content = {"comm_id": self.widget, "data": {"method": "custom", "content": message}}
        client.shell_channel.send(client.session.msg("comm_msg", content))

    def ends(self) -> Any:
        """The run, once it has ended and the page knows."""
        self.until(lambda: self.state["head"].get("live") == "")
        return pixirnb.open_run(self.state["scene"]["run_id"], workspace=self.notebook.folder)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[PlanPage]:
    notebook = Notebook(tmp_path, is_attended=True)
    yield PlanPage(notebook)
    notebook.close()


@pytest.mark.parametrize("shown", ["cell", "verb"])
def test_a_click_runs_the_plan_and_the_run_takes_its_place_in_the_output(
    page: PlanPage, shown: str
) -> None:
    page.run(STORY)
    if shown == "verb":
        page.run("from pixirnb.notebook.live.open_views import OPEN_VIEWS; OPEN_VIEWS.close()")
        page.outputs.clear()
        page.run("%pixir plan story")
    card, view = page.outputs
    assert page.outputs[card]["text/plain"].startswith("○ plan · story")
    assert "pixirnb-kept" in page.outputs[card]["text/html"]
    assert page.outputs[view][VIEW]["model_id"] == page.widget
    offered = {"workflow": "story", "steps": ["make", "hold"], "missing": []}
    assert page.state["plan"] == {**offered, "command": "%pixir run story"}
    assert page.state["scene"] == {}

    answer = page.say({"id": 1, "do": "run", "until": None})
    assert answer["ok"], answer
    page.until(lambda: page.state["head"].get("live") == "here")
    assert (page.state["scene"]["ids"], page.state["plan"]) == (["make", "hold"], {})
    (page.notebook.folder / "go").touch()
    run = page.ends()
    assert answer["answer"] == {"run_id": run.id}
    page.until(lambda: "✓ completed" in page.outputs[card]["text/plain"])
    assert page.outputs[view][VIEW]["model_id"] == page.widget  # where it was
    assert page.tape[-1][0] == run.history()[-1].seq


def test_a_second_click_starts_no_second_run(page: PlanPage) -> None:
    page.run(STORY)
    for number in (1, 2, 3):
        page.click(number)
    (page.notebook.folder / "go").touch()
    page.ends()
    page.run("import time; time.sleep(0.5)")
    assert len(pixirnb.runs(workspace=page.notebook.folder)) == 1


def test_a_run_until_a_step_holds_the_others(page: PlanPage) -> None:
    page.run(STORY)
    assert page.say({"id": 1, "do": "run", "until": "make"})["ok"]
    run = page.ends()
    assert [step.checkpoint_status for step in run.outcome.steps] == ["checkpoint_ready", "held"]


def test_an_old_plan_runs_what_it_shows(page: PlanPage) -> None:
    page.run_cell(
        "one",
        "%%workflow w --input n=2\ninputs: {n: {type: integer}}\nsteps: [{id: old, run: 'echo {{ inputs.n }}'}]",
    )
    page.run("from pixirnb.notebook.cells.registry import REGISTRY\nREGISTRY.forget('w')")
    assert page.say({"id": 1, "do": "run", "until": None})["ok"]
    run = page.ends()
    assert ([step.id for step in run.compiled().steps], run.state.inputs) == (["old"], {"n": 2})


def test_a_missing_input_is_the_error_of_the_verb_and_the_button_can_be_clicked_again(
    page: PlanPage,
) -> None:
    page.run(
        "%%workflow w\ninputs: {n: {type: integer}, ok: {type: boolean, default: true}}\n"
        "steps: [{id: a, run: 'echo {{ inputs.n }}'}]"
    )
    assert page.state["plan"]["missing"] == ["n"]
    assert page.state["plan"]["command"] == "%pixir run w --input n="
    for number in (1, 2):
        refused = page.say({"id": number, "do": "run", "until": None})
        assert (refused["ok"], refused["error"]["code"]) == (False, "input_missing")
        assert refused["error"]["message"] == "Missing input `n` (integer)."
    assert pixirnb.runs(workspace=page.notebook.folder) == []


def test_a_cell_run_again_takes_its_button_away(page: PlanPage) -> None:
    page.run_cell("one", STORY)
    first = page.widget
    page.run_cell("one", STORY)
    assert first in page.closed
    assert page.widget != first


def test_a_plan_that_waits_for_other_cells_has_no_button(page: PlanPage) -> None:
    page.run("%%workflow later\ndescription: its steps come later")
    page.run("%%step a --workflow later\n1")
    assert page.models == {}


def test_a_plan_that_no_person_sees_is_the_card_alone(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path)
    try:
        for cell in (notebook.run(STORY), notebook.run("%pixir plan story")):
            (bundle,) = cell.shown
            assert set(bundle) == {"text/plain", "text/html"}
            assert "pixirnb-kept" not in bundle["text/html"]
    finally:
        notebook.close()
