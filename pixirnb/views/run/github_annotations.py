"""An outcome or the problems of a workflow as GitHub workflow commands, which annotate the lines of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pixirnb.errors import ProblemDocument
from pixirnb.machine.outcome import RunDocument
from pixirnb.views.basics.phrases import why
from pixirnb.views.run.junit import evidence_text


def outcome_annotations(
    document: RunDocument, file: str | None, lines: Mapping[str, int]
) -> Iterator[str]:
    """Yield a command for each step that is not ready, and one for the run. `lines`: of the steps, in `file`."""
    workflow = document["workflow"]
    for step in document["steps"]:
        status = step.get("checkpoint_status")
        if status in {"failed", "partial", "needs_orchestrator"}:
            name = step["step_id"]
            answers = [
                f"→ {action.get('command')}"
                for action in step["next_actions"]
                if status == "needs_orchestrator"
            ]
            text = "\n".join(filter(None, (why(step), evidence_text(step.get("error")), *answers)))
            yield _command("error", file, lines.get(name), f"{workflow} · {name}", text)
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
