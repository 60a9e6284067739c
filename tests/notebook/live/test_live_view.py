"""What the live view of a run says to the browser: a real kernel, its messages read as a front-end reads them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import pixirnb
from pixirnb.store.lease import take
from tests.notebook.kernel_cells import PATIENCE_S, Notebook

VIEW = "application/vnd.jupyter.widget-view+json"
STORY = """%%workflow story --run --as run
steps:
  - {id: make, run: "echo made", posture: read_only, read_set: []}
  - {id: hold, run: "while [ ! -e go ]; do sleep 0.05; done; echo went", posture: read_only, read_set: [], depends_on: [make]}
"""


@dataclass
class Page:
    """A front-end's side of the conversation: models by their comms, outputs by their display ids."""

    notebook: Notebook
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    customs: list[dict[str, Any]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)

    def read(self) -> None:
        """Take in the next message."""
        message = self.notebook.client.get_iopub_msg(timeout=PATIENCE_S)
        content = message["content"]
        match message["msg_type"]:
            case "comm_open":
                self.models[content["comm_id"]] = dict(content["data"]["state"])
            case "comm_msg" if content["data"]["method"] == "update":
                self.models[content["comm_id"]].update(content["data"]["state"])
            case "comm_msg" if content["data"]["method"] == "custom":
                self.customs.append(content["data"]["content"])
            case "comm_close":
                self.closed.append(content["comm_id"])
            case "display_data" | "update_display_data":
                place = content["transient"].get("display_id", f"#{len(self.outputs)}")
                self.outputs[place] = content["data"]
            case "status" if content["execution_state"] == "idle":
                self.idle.add(message["parent_header"].get("msg_id"))
            case "error":
                raise AssertionError(content["traceback"])
            case _:
                pass  # requests and streams

    def until(self, is_so: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < deadline
            self.read()

    def run(self, source: str) -> None:
        sent = self.notebook.send(source)
        self.until(lambda: sent in self.idle)

    def run_cell(self, cell: str, source: str) -> None:
        """As JupyterLab sends it: with the id of the cell."""
        client = self.notebook.client
        content = {"code": source, "silent": False, "allow_stdin": True, "stop_on_error": True}
        sent = client.session.msg("execute_request", content)
        sent["metadata"]["cellId"] = cell
        client.shell_channel.send(sent)
        self.until(lambda: sent["header"]["msg_id"] in self.idle)

    def say(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message of the browser; the kernel's answer."""
        client = self.notebook.client
        content = {"comm_id": self.widget, "data": {"method": "custom", "content": message}}
        client.shell_channel.send(client.session.msg("comm_msg", content))
        before = len(self.customs)
        self.until(lambda: any(c.get("re") == message["id"] for c in self.customs[before:]))
        return next(c for c in self.customs[before:] if c.get("re") == message["id"])

    @property
    def widget(self) -> str:
        """The comm of the one widget that is open."""
        (found,) = (c for c, s in self.models.items() if "tape" in s and c not in self.closed)
        return found

    @property
    def state(self) -> dict[str, Any]:
        return self.models[self.widget]

    @property
    def tape(self) -> list[Any]:
        """The trait as it came, and what was told since."""
        told = list(self.state["tape"])
        for custom in self.customs:
            if "tape" in custom:
                grown = custom["tape"]
                told[grown["from"] :] = grown["entries"]
        return told


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    notebook = Notebook(tmp_path, is_attended=True)
    yield Page(notebook)
    notebook.close()


def test_a_watched_run_is_a_widget_that_grows_with_it_beside_a_picture_that_is_made_final(
    page: Page,
) -> None:
    page.run(STORY)
    first, view = page.outputs.values()
    assert set(first) == {"text/plain", "text/html"}
    assert (view[VIEW]["model_id"], view["text/plain"]) == (page.widget, "")
    assert page.state["scene"]["ids"] == ["make", "hold"]
    page.until(lambda: sum(entry[4] != [] for entry in page.tape) >= 6)  # `hold` runs
    assert page.state["head"]["live"] == "here"
    (page.notebook.folder / "go").touch()
    page.until(lambda: page.state["head"]["live"] == "")
    page.until(lambda: "✓ completed" in next(iter(page.outputs.values()))["text/plain"])
    assert list(page.outputs.values())[1] == view  # it stays where it is
    assert page.state["head"]["status"] == "completed"
    run = pixirnb.open_run(page.state["scene"]["run_id"], workspace=page.notebook.folder)
    assert [entry[0] for entry in page.tape] == [event.seq for event in run.history()]


def test_a_page_that_comes_back_reads_the_whole_tape_with_the_widgets_state(page: Page) -> None:
    page.run(STORY)
    (page.notebook.folder / "go").touch()
    page.until(lambda: page.state["head"]["live"] == "")
    known = page.tape
    page.customs.clear()  # what a page that was closed never heard
    client = page.notebook.client
    content = {"comm_id": page.widget, "data": {"method": "request_state"}}
    client.shell_channel.send(client.session.msg("comm_msg", content))
    page.state["tape"] = []
    page.until(lambda: page.state["tape"])
    assert page.state["tape"] == known


def test_a_run_shown_twice_is_one_widget_and_a_cell_run_again_closes_what_it_showed(
    page: Page,
) -> None:
    page.run(STORY)
    page.run("run")
    views = [output for output in page.outputs.values() if VIEW in output]
    pictures = [place for place, output in page.outputs.items() if VIEW not in output]
    assert [view[VIEW]["model_id"] for view in views] == [page.widget] * 2
    assert len(pictures) == 2
    (page.notebook.folder / "go").touch()
    page.until(lambda: page.state["head"]["live"] == "")
    first = page.widget
    page.run("from pixirnb.notebook.live.open_views import OPEN_VIEWS\nOPEN_VIEWS.close()")
    page.until(lambda: first in page.closed)
    assert all("✓ completed" in page.outputs[place]["text/plain"] for place in pictures)
    assert len(page.closed) == 2  # its layout is a widget of its own


def test_the_page_hears_the_last_line_that_a_running_step_printed(page: Page) -> None:
    page.run(
        "%%workflow talks --run\nsteps:\n"
        "  - id: talk\n    posture: read_only\n    run: |\n"
        "      until [ -e begin ]; do sleep 0.05; done\n"
        "      printf 'one\\ntw'; sleep 0.3; printf 'o\\n\\n'\n"
        "      until [ -e go ]; do sleep 0.05; done"
    )
    (page.notebook.folder / "begin").touch()
    page.until(lambda: [s[6] for s in page.state["pulse"].get("steps", {}).values()] == ["two"])
    (page.notebook.folder / "go").touch()
    page.until(lambda: page.state["head"]["status"] == "completed")


def test_an_output_keeps_what_ran_while_it_was_the_last(page: Page) -> None:
    def pictures() -> list[str]:
        return [o["text/plain"] for o in page.outputs.values() if VIEW not in o]

    page.run(
        "%%workflow half --wait --expect failed --as run\n"
        "steps: [{id: fails, run: test -e go, posture: read_only}]"
    )
    page.run("run")
    resumed = page.say({"id": 1, "do": "resume"})
    assert resumed["ok"], resumed
    page.until(lambda: len(pictures()) == 2 and "went on" in pictures()[0])
    assert "fails  failed        1" in pictures()[0]
    page.until(lambda: "fails  failed        2" in pictures()[1])

    (page.notebook.folder / "go").touch()
    page.run("%pixir resume @last --wait")
    first, second, third = pictures()
    went_on = "As it ended here. The run went on in cell [4]: completed."
    assert [text.split("\n")[0] for text in (first, second)] == [went_on] * 2
    assert "fails  failed        1" in first
    assert "fails  failed        2" in second
    assert third.startswith("✓ completed")

    page.run("run")
    assert "went on" not in "".join(pictures()[2:])
    page.run(
        "OPEN_VIEWS = None\nfrom pixirnb.notebook.live.open_views import OPEN_VIEWS; OPEN_VIEWS.close()"
    )
    assert pictures()[:2] == [first, second]


def test_runs_that_one_cell_shows_are_each_left_with_their_final_picture(page: Page) -> None:
    page.run_cell(
        "one",
        "import pixirnb\n"
        "spec = {'steps': [{'id': 'gate', 'run': 'until [ -e go ]; do sleep 0.05; done', 'posture': 'read_only'}]}\n"
        "for name in ('first', 'second'): display(pixirnb.start({'name': name, **spec}))",
    )
    (page.notebook.folder / "go").touch()
    pictures = [place for place, output in page.outputs.items() if VIEW not in output]
    assert len(pictures) == 2
    page.until(lambda: all("✓ completed" in page.outputs[p]["text/plain"] for p in pictures))


def test_the_browser_asks_and_wishes_and_a_resume_from_a_button_is_followed(page: Page) -> None:
    page.run(STORY)
    panel = page.say({"id": 1, "ask": "step", "step": "hold", "at": None})
    assert panel["ok"]
    assert panel["answer"]["step"] == "hold"
    assert page.say({"id": 2, "do": "cancel", "step": None})["ok"]
    page.until(lambda: page.state["head"]["status"] == "interrupted")
    (page.notebook.folder / "go").touch()
    resumed = page.say({"id": 3, "do": "resume"})
    assert resumed["ok"], resumed
    page.until(lambda: page.state["head"]["status"] == "completed")
    refused = page.say({"id": 4, "do": "cancel", "step": None})
    assert refused["error"]["code"] == "not_live"
    broken = page.say({"id": 5, "ask": "step", "step": {"no": "text"}})
    assert (broken["ok"], broken["error"]["code"]) == (False, "message_unreadable")


def test_a_run_that_another_process_drives_is_followed(page: Page) -> None:
    folder = page.notebook.folder
    (folder / "story.yaml").write_text("name: story\n" + STORY.split("\n", 1)[1])
    run = pixirnb.start(folder / "story.yaml")
    page.run(f"import pixirnb\npixirnb.open_run({run.id!r})")
    page.until(lambda: page.state["head"]["live"] == "elsewhere")
    (folder / "go").touch()
    run.wait()
    page.until(lambda: page.state["head"]["status"] == "completed")
    assert [entry[0] for entry in page.tape] == [event.seq for event in run.history()]


@pytest.mark.parametrize("driven", ["here", "elsewhere"])
def test_a_live_run_is_shown_live_by_the_verb_and_one_at_rest_as_its_card(
    page: Page, driven: str
) -> None:
    folder = page.notebook.folder
    if driven == "here":
        page.run(STORY)
    else:
        (folder / "story.yaml").write_text("name: story\n" + STORY.split("\n", 1)[1])
        pixirnb.start(folder / "story.yaml")
    page.outputs.clear()
    page.run("%pixir show @last")
    (view,) = (output for output in page.outputs.values() if VIEW in output)
    assert view[VIEW]["model_id"] == page.widget
    page.until(lambda: page.state["head"]["live"] == driven)
    (folder / "go").touch()
    page.until(lambda: page.state["head"]["status"] == "completed")
    known = set(page.outputs)
    page.run("%pixir show @last")
    (card,) = page.outputs.keys() - known
    assert set(page.outputs[card]) == {"text/plain", "text/html"}


def test_a_short_course_with_an_edited_workflow_that_is_seen_all_at_once_is_shown_to_its_end(
    page: Page,
) -> None:
    page.run("%%workflow brief --wait --as run\nsteps: [{id: say, run: echo one}]")
    page.run(
        "import pixirnb\n"
        "from pixirnb.notebook.live.open_views import OPEN_VIEWS\n"
        "edited = {'name': 'brief', 'steps': [{'id': 'say', 'run': 'echo two'}]}\n"
        "pixirnb.resume(run.id, spec=edited).wait()\n"
        "OPEN_VIEWS.views[str(run.folder)].settle()"
    )
    last, _ = page.outputs.values()
    assert "two" in last["text/plain"]
    assert page.state["head"]["status"] == "completed"


def test_a_resume_with_the_same_workflow_is_told_to_a_page_that_was_there_before(
    page: Page,
) -> None:
    page.run(
        "%%workflow brief --wait --expect needs_orchestrator --as run\n"
        "steps: [{id: gate, ask: {question: Go?}}]"
    )
    for _ in range(2):
        page.run("%pixir resume @last --spec brief --wait --expect needs_orchestrator --as run")
        run = pixirnb.open_run(page.state["scene"]["run_id"], workspace=page.notebook.folder)
        seqs = [event.seq for event in run.history()]
        page.until(partial(lambda told: [e[0] for e in page.state["tape"]] == told, seqs))


def test_a_run_that_this_kernel_takes_up_again_is_never_said_to_run_elsewhere(page: Page) -> None:
    page.run(
        "%%workflow g --wait --expect needs_orchestrator --as run\n"
        "steps:\n"
        "  - {id: ok, ask: {question: Go?}}\n"
        "  - {id: z, run: 'until [ -e go ]; do sleep 0.05; done', posture: read_only, depends_on: ok}"
    )
    page.run(
        "from pixirnb.notebook.live.open_views import OPEN_VIEWS\n"
        "from pixirnb.store.lease import take\n"
        "run = run.resume()\n"
        "run.wait()\n"
        "hold = take(run.folder, instance='i')  # as while a resume is prepared\n"
        "OPEN_VIEWS.views[str(run.folder)].settle()"
    )
    assert page.state["head"]["live"] == ""
    page.run("hold.release()")
    assert page.say({"id": 1, "do": "decide", "step": "ok", "verdict": "accept", "value": "yes"})[
        "ok"
    ]
    page.until(lambda: page.state["head"]["status"] == "running")
    assert page.state["head"]["live"] == "here"
    (page.notebook.folder / "go").touch()
    page.until(lambda: page.state["head"]["status"] == "completed")


def test_a_run_that_another_process_resumes_is_running_again(page: Page) -> None:
    folder = page.notebook.folder
    steps = [
        {"id": "ok", "ask": {"question": "Go?"}},
        {"id": "z", "run": "until [ -e go ]; do sleep 0.05; done", "depends_on": ["ok"]},
    ]
    run = pixirnb.start({"name": "g", "steps": steps}, workspace=folder)
    run.wait()
    page.run(f"import pixirnb\nrun = pixirnb.open_run({run.id!r})\nrun")
    hold = take(run.folder, instance="i")  # as while the resume is prepared
    page.until(lambda: page.state["head"]["live"] == "elsewhere")
    hold.release()
    run.accept("ok", "yes")
    page.until(lambda: page.state["head"]["status"] == "running")
    assert page.state["head"]["live"] == "elsewhere"
    (folder / "go").touch()
    run.wait()
    page.until(lambda: page.state["head"]["status"] == "completed")


def test_the_code_of_the_page_is_sent_once_and_again_to_a_page_that_asks(page: Page) -> None:
    def sizes() -> list[bool]:
        return [len(str(s["_esm"])) > 100_000 for s in page.models.values() if "_esm" in s]

    page.run(STORY)
    page.run("%%workflow other --run\nsteps: [{id: a, run: echo a, posture: read_only}]")
    assert sizes() == [True, False, False]
    (code,) = (state for state in page.models.values() if "digest" in state)
    assert [s["module"] for s in page.models.values() if "module" in s] == [code["digest"]] * 2

    comm = next(comm for comm, state in page.models.items() if "module" in state)
    client = page.notebook.client
    content = {"comm_id": comm, "data": {"method": "custom", "content": {"ask": "module"}}}
    client.shell_channel.send(client.session.msg("comm_msg", content))
    page.until(lambda: any(len(custom.get("module", "")) > 100_000 for custom in page.customs))
    page.run("import ipywidgets; ipywidgets.Widget.close_all()")
    page.run("%%workflow third --run\nsteps: [{id: a, run: echo a, posture: read_only}]")
    assert sizes().count(True) == 2
