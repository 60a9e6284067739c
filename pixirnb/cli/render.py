"""Output of the command line: answers on stdout, everything else on stderr under `--json`."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO, assert_never

from pydantic_core import to_json

from pixirnb.errors import ErrorDocument
from pixirnb.history.events import Event
from pixirnb.machine.findings import DiagnosisDocument, FindingDocument
from pixirnb.machine.next_actions import NextAction
from pixirnb.machine.outcome import RunDocument
from pixirnb.planning.delegations import delegations
from pixirnb.verbs.answers import Answer
from pixirnb.views.basics.sanitize import plain
from pixirnb.views.files.diff import diff_text
from pixirnb.views.files.merge_report import merge_text
from pixirnb.views.run import housekeeping, text
from pixirnb.views.run.comparison import comparison_text
from pixirnb.views.run.event_lines import event_line
from pixirnb.views.run.isolation_overview import copies
from pixirnb.views.run.mimebundle import unsafe_reason
from pixirnb.views.run.smoke import smoke_text
from pixirnb.views.session.session_view import session_text

"""Maximum number of characters of a printed prompt; tasks may be long."""


class Unheard(Exception):
    """Raised when output could not be written: the reader is gone, or the disk is full."""


class Screen:
    """Standard output and error, as one command uses them."""

    def __init__(
        self, *, is_json: bool, out: TextIO | None = None, err: TextIO | None = None
    ) -> None:
        self.is_json = is_json
        self.out = out or sys.stdout or io.StringIO()  # closed before we began: None
        self.say: Callable[[str], None] | None = None
        """Prints lines of progress while something live is on the terminal; None: directly."""
        self.ask: Callable[[str], None] | None = None
        """Prints questions to a person meanwhile, which stay on stderr."""
        self.err = err or sys.stderr or io.StringIO()

    @property
    def is_terminal(self) -> bool:
        """Return whether a person watches stderr."""
        return self.err.isatty()

    @property
    def _is_painted(self) -> bool:
        """Return whether the reader of stdout understands colours."""
        return self.out.isatty() and not os.environ.get("NO_COLOR")

    def answer(self, answer: Answer) -> None:
        """Print the answer: the document itself under `--json`, else as text."""
        if self.is_json:
            self._write(self.out, _json(answer.document))
            return
        for line in _lines(answer, is_painted=self._is_painted):
            self._write(self.out, line)

    def error(self, document: ErrorDocument) -> None:
        """Print an error, in one or two lines; the document on stdout under `--json`."""
        if self.is_json:
            self._write(self.out, _json(document))
        else:
            self._write(self.err, text.error_text(document))

    def note(self, sentence: str) -> None:
        """Print a remark."""
        self._write(self.err, plain(sentence))

    def progress_line(self, line: str) -> None:
        """Print a line of a run's progress or output."""
        if self.say is not None and not self.is_json:
            self.say(line)
        else:
            self._write(self.err if self.is_json else self.out, line)

    def question(self, line: str) -> None:
        """Print a line that needs an answer."""
        if self.ask is not None:
            self.ask(line)
        else:
            self._write(self.err, line)

    def event(self, event: Event) -> None:
        """Print one event of a followed log."""
        self._write(self.out, event_line(event))

    def _write(self, stream: TextIO, line: str) -> None:
        encoding = stream.encoding or "utf-8"
        safe = line.encode(encoding, errors="replace").decode(encoding)
        try:
            stream.write(safe + "\n")
            stream.flush()
        except OSError as error:
            raise Unheard(str(error)) from error


def _json(document: Any) -> str:
    """Return a document as it is printed, by the fast encoder that indents: Python's own takes five times as long."""
    return to_json(document, indent=2, inf_nan_mode="constants").decode()


def _for_a_shell(document: RunDocument) -> RunDocument:
    """Return the outcome with its next actions as commands instead of cells."""
    actions = [_command_of(action) for action in document["next_actions"]]
    return {**document, "next_actions": actions}


def _diagnosis_for_a_shell(document: DiagnosisDocument) -> DiagnosisDocument:
    if "runs" in document:
        return {**document, "runs": [_diagnosis_for_a_shell(run) for run in document["runs"]]}
    findings: list[FindingDocument] = [
        finding
        if finding["next_action"] is None
        else {**finding, "next_action": _command_of(finding["next_action"])}
        for finding in document["findings"]
    ]
    return {**document, "findings": findings}


def _command_of(action: NextAction) -> NextAction:
    return {**action, "cell": action["cell"].replace("%pixir", "pixirnb", 1)}


def _lines(answer: Answer, *, is_painted: bool = False) -> list[str]:
    document: Any = answer.document  # of the answer's kind
    notes = [plain(line) for line in answer.lines]
    endings = [plain(line) for line in answer.endings]
    match answer.kind:
        case "plan":
            tasks = () if answer.report is None else delegations(answer.report.spec)
            apart = None if answer.report is None else copies(answer.report.spec)
            return [text.plan_text(document, tasks, apart), *notes]
        case "prompt":
            return [plain(document["prompt"], text.PROMPT_LIMIT)]
        case "outcome":
            text_lines = text.outcome_text(_for_a_shell(document), command="pixirnb")
            return [*notes, text_lines, *([""] * bool(endings)), *endings]
        case "resume":
            return [text.resume_text(document), *notes]
        case "runs":
            return [text.runs_text(document), *notes]
        case "bundle":
            checkpoint = document.get("checkpoint")
            shown = (
                []
                if checkpoint is None
                else [text.bundle_text(checkpoint, unsafe_reason(document))]
            )
            return ["\n".join(text.steps_lines([document])), *notes, *endings, *shown]
        case "log":
            damage = document.get("damage")
            event_lines = [event_line(Event(**event)) for event in document["events"]]
            return [*event_lines, *([f"! {damage['message']}"] if damage else [])]
        case "acp":
            return [_json(document)]
        case "session":
            return [session_text(document, command="pixirnb")]
        case "diagnosis":
            return [housekeeping.diagnosis_text(_diagnosis_for_a_shell(document))]
        case "comparison":
            return [comparison_text(document)]
        case "conversion":
            return [document["yaml"].removesuffix("\n")]
        case "export":
            return [housekeeping.export_text(document)]
        case "prune":
            return [housekeeping.prune_text(document)]
        case "smoke":
            return [smoke_text(document)]
        case "diff":
            return [diff_text(document, is_painted=is_painted)]
        case "merge":
            return [merge_text(document, command="pixirnb")]
        case "message":
            return [plain(document["message"])]
        case _:
            assert_never(answer.kind)
