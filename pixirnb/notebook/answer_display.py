"""How a cell shows what a verb answered: text, a card, a plan with its button, or the lines of a log that is followed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, cast

from IPython.display import display

from pixirnb.errors import Cannot, Problem, ProblemDocument
from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.notebook.kernel.front_ends import is_attended
from pixirnb.notebook.live.event_source import driver
from pixirnb.notebook.live.open_views import OPEN_VIEWS
from pixirnb.notebook.planned_run import run_of_plan
from pixirnb.notebook.rendering import answer_bundle
from pixirnb.spec.problems import refusal
from pixirnb.verbs.answer_blocks import followed_lines
from pixirnb.verbs.answers import Answer, Following, Watching
from pixirnb.verbs.run_answers import outcome_answer
from pixirnb.views.basics.sanitize import escape_json


def show_answer(answer: Answer, tokens: Sequence[str] = (), shell: Any = None) -> None:
    """Show what a verb answered to the words of a line. Raises InvalidSpec for a plan with errors."""
    if answer.is_json:
        document = REGISTRY.reach.document(answer.document)
        sys.stdout.write(escape_json(json.dumps(document, ensure_ascii=False, indent=2)) + "\n")
    elif answer.kind == "message":
        sys.stdout.write(answer_bundle(answer)["text/plain"] + "\n")
    elif answer.kind == "plan" and not answer.document["ok"]:
        errors = cast("list[ProblemDocument]", answer.document["errors"])
        raise refusal(tuple(Problem(**error) for error in errors))
    elif answer.report is not None and [*tokens[:1]] == ["plan"]:
        OPEN_VIEWS.show_plan(answer_bundle(answer), run_of_plan(tokens, answer.report), shell)
    elif answer.run is not None and is_attended(shell) and driver(answer.run):
        display(answer.run)
    else:
        display(answer_bundle(answer), raw=True)


def follow(following: Following | Watching) -> None:
    """Print lines until there are no more, then the outcome of a watched run. Raises Cannot when the cell is interrupted."""
    try:
        for text in followed_lines(following):
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        raise Cannot(
            f"stopped following {following.run.id}; the run continues",
            fix=f"see it with %pixir show {following.run.id}",
            code="interrupted",
        ) from None
    if isinstance(following, Watching):
        show_answer(outcome_answer(following.run, is_json=following.is_json))
