"""A step with a title is shown by it in every view: alone in a box, as `title (id)` elsewhere."""

from __future__ import annotations

import re
from urllib.parse import unquote

from pixirnb import api
from pixirnb.history.run_state import fold
from pixirnb.machine.outcome import RunOutcome
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import PlanReport, report
from pixirnb.spec.loader import load_text
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.live.scene import scene
from pixirnb.views.picture.dot import dot
from pixirnb.views.picture.mermaid import mermaid
from pixirnb.views.picture.svg import picture
from pixirnb.views.run.ci_reports import junit, outcome_annotations
from pixirnb.views.run.comparison import ComparedRun, comparison, comparison_blocks
from pixirnb.views.run.exports import page
from pixirnb.views.run.outcome_view import outcome_blocks
from pixirnb.views.run.planned_view import planned_blocks
from pixirnb.views.run.resume_preview import edit_lines, resume_blocks
from pixirnb.views.run.self_display import evidence_blocks

FLOW = """
name: market
title: Обзор рынка
agents: {writer: {runner: scripted, role: You write., script: {"*": [[{say: x}]]}}}
steps:
  - {id: fetch, title: Загрузка данных, run: "true", verify: [{file_exists: x}]}
  - {id: write-up, title: 報告書を書く, task: Write., agent: writer, depends_on: [fetch], workspace: isolated}
  - {id: plain, run: "true"}
"""
FETCH = "Загрузка данных (fetch)"


def planned() -> PlanReport:
    return report(load_text(FLOW).require(), Environment())


def story() -> Rehearsal:
    return Rehearsal(plan_of(FLOW)).begin().end("fetch", checks=[False], tail="red\n").end("plain")


def failed() -> RunOutcome:
    return story().outcome()


def plain_text(html: str) -> str:
    return re.sub(r"<[^>]*>", "", html)


def test_the_outcome_names_run_and_steps_in_text_and_html() -> None:
    document = failed().document()
    text = draw_text(outcome_blocks(document))
    assert text.splitlines()[0].split(" · ")[1] == "Обзор рынка (market)"
    assert f"✗ {FETCH}" in text
    assert "‖ 報告書を書く (write-up)" in text
    assert "✓ plain " in text
    assert f"\n  {FETCH}\n" in text  # the section of its evidence
    html = draw_html(outcome_blocks(document))
    assert FETCH in re.sub("<[^>]*>", "", html)
    assert "Обзор рынка (market)" in html
    assert f"{FETCH}" in draw_text(evidence_blocks(document["steps"][0])).splitlines()[0]
    assert "<title>Обзор рынка (market) · " in page(document, [])


def test_columns_line_up_below_wide_letters() -> None:
    rows = draw_text(outcome_blocks(failed().document())).splitlines()
    fetch, write_up = (
        next(row for row in rows if f"({name})" in row) for name in ("fetch", "write-up")
    )
    wide = len("報告書を書く")
    assert fetch.index("failed") == write_up.index("held") + wide


def test_the_plan_names_steps_in_waves_and_tasks() -> None:
    text = draw_text(planned_blocks(planned()))
    assert text.splitlines()[0] == "○ plan · Обзор рынка (market)"
    assert f"{FETCH}, plain" in text
    assert text.count("報告書を書く (write-up)") >= 3  # wave, task, isolated
    html = draw_html(planned_blocks(planned()))
    assert "Prompt of 報告書を書く (write-up)" in html
    image = unquote(html)
    assert ">Загрузка данных</text>" in image
    assert ">fetch</text>" not in image


def test_pictures_have_the_title_in_the_box_and_the_id_in_the_tooltip() -> None:
    document = failed().document()
    svg = picture(None, document)
    assert ">Загрузка данных</text>" in svg
    assert f"<title>{FETCH}: failed" in svg
    assert "<title>Workflow Обзор рынка (market)</title>" in svg
    assert f'label="✗ {FETCH}' in dot(None, document)
    assert "Обзор рынка (market)" in dot(None, document)
    assert "✗ Загрузка данных #40;fetch#41;" in mermaid(None, document) or FETCH in mermaid(
        None, document
    )


def test_a_box_is_as_wide_as_its_title() -> None:
    def widest(title: str) -> float:
        text = f"name: w\nsteps: [{{id: a, title: {title}, run: x}}]"
        svg = picture(report(load_text(text).require(), Environment()).document())
        return max(map(float, re.findall(r'class="pixirnb-box" width="([\d.]+)"', svg)))

    assert widest("短い") < widest("短い名前を書く人々へ")
    assert widest("取" * 120) == widest("取" * 60)  # cut, and never beyond the box
    text = f"name: w\nsteps: [{{id: a, title: {'取' * 120}, run: x}}]"
    svg = picture(report(load_text(text).require(), Environment()).document())
    (name,) = re.findall(r'class="pixirnb-name"[^>]*>([^<]*)<', svg)
    assert name.endswith("…")
    assert len(name) * 12 <= widest("取" * 120) - 36  # a wide letter is 1 em


def test_ci_reads_titles_where_a_display_name_has_a_place() -> None:
    document = failed().document()
    assert f'name="{FETCH}"' in junit(document)
    assert 'name="plain"' in junit(document)
    error = next(iter(outcome_annotations(document, "f.yaml", {"fetch": 5})))
    assert f"title=market · {FETCH}" in error
    assert "line=5" in error


def test_a_comparison_and_the_preview_of_a_resume_name_steps() -> None:
    ended, other = story(), Rehearsal(plan_of(FLOW)).begin().end("fetch").end("plain")
    compared = comparison(
        ComparedRun(ended.outcome(), fold(ended.events)),
        ComparedRun(other.outcome(), fold(other.events)),
    )
    assert compared["steps"][0]["title"] == "Загрузка данных"
    assert "title" not in compared["steps"][2]
    assert FETCH in draw_text(comparison_blocks(compared))
    steps = [
        {
            "step_id": "fetch",
            "title": "Загрузка данных",
            "action": "rerun",
            "reason": "failed",
            "because": [],
        },
        {"step_id": "plain", "action": "rerun", "reason": "upstream_changed", "because": ["fetch"]},
    ]
    text = draw_text(resume_blocks({"run_id": "r-1", "steps": steps}))
    assert text.count(FETCH) == 2


def test_a_changed_title_reruns_nothing() -> None:
    edited = FLOW.replace("Загрузка данных", "Скачать").replace("Обзор", "Анализ")
    lines = edit_lines(load_text(FLOW).require(), load_text(edited).require())
    assert lines == ("fetch: title changed; no step reruns for that.", "Workflow: title changed.")


def test_the_page_gets_titles_by_the_numbers_of_steps_and_none_where_there_are_none() -> None:
    plan = plan_of(FLOW)
    shown = scene("r-1", plan, planned().document())
    assert shown["titles"] == ["Загрузка данных", "報告書を書く", ""]
    assert shown["workflow_title"] == "Обзор рынка"
    assert shown["ids"] == ["fetch", "write-up", "plain"]
    bare = "name: w\nsteps: [{id: a, run: x}]"
    known = report(load_text(bare).require(), Environment()).document()
    assert not {"titles", "workflow_title"} & scene("r-1", plan_of(bare), known).keys()


def test_the_outcome_has_titles_in_python_too() -> None:
    outcome = failed()
    assert (outcome.workflow_title, outcome.steps[0].title, outcome.steps[2].title) == (
        "Обзор рынка",
        "Загрузка данных",
        "",
    )
    document = outcome.document()
    assert document["workflow_title"] == "Обзор рынка"
    assert document["steps"][0]["title"] == "Загрузка данных"
    assert "title" not in document["steps"][2]
    assert (
        "workflow_title"
        not in api.load({"name": "w", "steps": [{"id": "a", "run": "x"}]}).canonical()
    )
