"""An outcome as JUnit XML, for CI: a test case for each step. A run that is not completed never has only passed cases."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from pixirnb.history.file_events import CHECKS_NOT_RUN
from pixirnb.json_types import JsonMapping
from pixirnb.machine.failure_evidence import check_phrase
from pixirnb.machine.outcome import RunDocument, StepDocument
from pixirnb.views.basics.ansi import render_ansi
from pixirnb.views.basics.phrases import why

_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may have, not even escaped."""
_FAILED: Final = frozenset({"failed", "partial", "needs_orchestrator"})


def junit(document: RunDocument) -> str:
    """Return the XML of an outcome."""
    suite = Element("testsuite", name=_legal(document["workflow"]), id=document["run_id"])
    for step in document["steps"]:
        _case(suite, document["workflow"], step)
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


def evidence_text(error: JsonMapping | None) -> str:
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


def _case(suite: Element, workflow: str, step: StepDocument) -> None:
    case = SubElement(
        suite,
        "testcase",
        classname=_legal(workflow),
        name=_legal(step["step_id"]),
        time=_seconds(step.get("elapsed_ms")),
    )
    status = step.get("checkpoint_status")
    if status in _FAILED:
        failure = SubElement(case, "failure", type=str(status), message=_legal(why(step)))
        failure.text = _legal(evidence_text(step.get("error")))
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
