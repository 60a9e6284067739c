"""Reports for CI: an outcome as JUnit XML, an outcome or the problems of a workflow as GitHub workflow commands.

In the XML each step is a test case; a run that is not completed never has only passed cases. The commands annotate the
lines of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from pixirnb.errors import ProblemDocument
from pixirnb.history.file_events import CHECKS_NOT_RUN
from pixirnb.json_types import JsonMapping
from pixirnb.machine.failure_evidence import check_phrase
from pixirnb.machine.outcome_documents import RunDocument, StepDocument
from pixirnb.views.basics.ansi import render_ansi
from pixirnb.views.basics.phrases import mark_placeholders, why
from pixirnb.views.basics.step_items import items_of, parent_of, worst, written_steps
from pixirnb.views.basics.step_names import label

_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may have, not even escaped."""
_ROOM: Final = 200
"""Columns of a step's name: all of its title and its id."""
_ITEMS: Final = 10
"""Items of a step that are annotated."""
_FAILED: Final = frozenset({"failed", "partial", "needs_orchestrator"})


def junit(document: RunDocument) -> str:
    """Return the XML of an outcome."""
    suite = Element("testsuite", name=_legal(document["workflow"]), id=document["run_id"])
    ready = _ready(document)
    for step in document["steps"]:
        _case(suite, document["workflow"], step, is_spared=parent_of(step["step_id"]) in ready)
    if not document["ok"] and suite.find("testcase/failure") is None:
        case = SubElement(suite, "testcase", classname=suite.get("name", ""), name="(run)")
        failure = SubElement(case, "failure", type=document["status"])
        failure.set("message", _legal(document["summary"]))
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    suite.set("errors", "0")
    suite.set("time", _seconds(document.get("elapsed_ms")))
    if started := document.get("started_at"):
        suite.set("timestamp", started.removesuffix("Z"))
    suites = Element("testsuites")
    suites.append(suite)
    indent(suites)
    return tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _evidence_text(error: JsonMapping | None) -> str:
    """Return the checks, the traceback and the end of the output of an error as plain text."""
    details: Any = {} if error is None else error.get("details")
    if not isinstance(details, Mapping):
        return ""
    parts = [
        f"{'passed' if check['passed'] else 'failed'}: {check_phrase(check['check'])}: "
        f"expected {check['expected']}, got {check['seen']}"
        for check in details.get("checks") or ()
    ]
    parts += [str(details[key]) for key in ("traceback", "output_tail") if details.get(key)]
    if hint := details.get("hint"):
        parts.append(f"hint: {hint}")
    return render_ansi("\n".join(parts)).text


def _ready(document: RunDocument) -> set[str]:
    return {
        step["step_id"]
        for step in document["steps"]
        if step.get("checkpoint_status") == "checkpoint_ready"
    }


def _case(suite: Element, workflow: str, step: StepDocument, *, is_spared: bool) -> None:
    """Add the case of a step. `is_spared`: it is an item that its step is ready without."""
    case = SubElement(
        suite,
        "testcase",
        classname=_legal(workflow),
        name=_legal(label(step["step_id"], step.get("title"), _ROOM)),
        time=_seconds(step.get("elapsed_ms")),
    )
    status = step.get("checkpoint_status")
    if status in _FAILED and not is_spared:
        failure = SubElement(case, "failure", type=str(status), message=_legal(why(step)))
        failure.text = _legal(_evidence_text(step.get("error")))
    elif status != "checkpoint_ready" or _is_unchecked(step):
        SubElement(case, "skipped", message=_legal(why(step) or "did not finish"))


def _is_unchecked(step: StepDocument) -> bool:
    """Return whether a step was accepted before its checks could run: no case of a test that passed."""
    limits = (step.get("checkpoint") or {}).get("known_limitations") or []
    return any(limit.startswith(f"{CHECKS_NOT_RUN}: ") for limit in limits)


def _seconds(span_ms: int | None) -> str:
    return f"{(span_ms or 0) / 1000:.3f}"


def _legal(text: object) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", str(text))


def outcome_annotations(
    document: RunDocument, file: str | None, lines: Mapping[str, int]
) -> Iterator[str]:
    """Yield a command for each step that is not ready, for the worst of its items, and for the run.

    `lines`: of the steps, in `file`.
    """
    workflow, ready, items = document["workflow"], _ready(document), items_of(document["steps"])
    annotated = [
        each
        for step in written_steps(document["steps"])
        for each in (step, *worst(items.get(step["step_id"], ()))[:_ITEMS])
    ]
    for step in annotated:
        status = step.get("checkpoint_status")
        if status in _FAILED:
            name = step["step_id"]
            parent = parent_of(name)
            shown = label(name, step.get("title"), _ROOM)
            answers = [
                f"→ {mark_placeholders(action.get('command', ''))}"
                for action in step["next_actions"]
                if status == "needs_orchestrator"
            ]
            text = "\n".join(filter(None, (why(step), _evidence_text(step.get("error")), *answers)))
            kind = "warning" if parent in ready else "error"
            yield _command(kind, file, lines.get(parent or name), f"{workflow} · {shown}", text)
    level = "notice" if document["ok"] else "error"
    title = f"{workflow} · {document['status']}"  # a `:` would be escaped
    yield _command(level, file, None, title, document["summary"])


def problem_annotations(
    level: str, problems: Iterable[ProblemDocument], file: str | None
) -> Iterator[str]:
    """Yield a command for each problem of a workflow. `level`: `error` or `warning`."""
    for problem in problems:
        fix = f"; {problem['fix']}" if problem["fix"] else ""
        yield _command(level, file, problem["line"], problem["code"], problem["message"] + fix)


def _command(level: str, file: str | None, line: int | None, title: str, text: str) -> str:
    properties = {"file": file, "line": None if file is None else line, "title": title}
    written = ",".join(
        f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None
    )
    return f"::{level} {written}::{_data(text)}"


def _data(text: str) -> str:
    """Escape as GitHub unescapes: a line break would end the command, and begin another one."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
