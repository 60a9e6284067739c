"""The tools that only read: `inspect_run`, `diagnose_run`. Their output is limited, and marked as data."""

from __future__ import annotations

from typing import Final

from pixirnb.agent_tools.await_run import attend
from pixirnb.agent_tools.caller import Asker
from pixirnb.agent_tools.result import Result, ok_result
from pixirnb.agent_tools.text import outcome_text, step_text
from pixirnb.engine.services import in_thread
from pixirnb.errors import InvalidArguments
from pixirnb.json_types import JsonMapping
from pixirnb.machine.outcome import RunDocument
from pixirnb.operations.doctor import diagnose
from pixirnb.operations.run import Run, load_run
from pixirnb.operations.run_list import list_runs, row_of_live
from pixirnb.operations.run_names import find_run
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.housekeeping import diagnosis_blocks

_TAIL: Final = 4_000


async def inspect_run(args: JsonMapping, asker: Asker) -> Result:
    """Return the state of a run, now or after waiting for it; or of one of its steps."""
    run = await in_thread(load_run, asker.store, await in_thread(_run_id, args, asker))
    step, wait_s = args.get("step"), args.get("max_wait_s", 0)
    document = await attend(run, asker, wait_s=wait_s, is_ours=False)
    if step is None:
        may_decide = await in_thread(asker.has_delegated, run.id)
        return ok_result(outcome_text(document, may_decide=may_decide), document)
    return await in_thread(_step, run, step, document)


async def diagnose_run(args: JsonMapping, asker: Asker) -> Result:
    """Return the problems of a run."""
    diagnosis = await in_thread(diagnose, asker.store, await in_thread(_run_id, args, asker))
    document = diagnosis.document()
    return ok_result(draw_text(diagnosis_blocks(document)).replace("%pixir ", "pixirnb "), document)


def _run_id(args: JsonMapping, asker: Asker) -> str:
    """Return the run of a tool that only reads: it may be named as a person does, which could change before an approval."""
    store = asker.store
    return find_run(store, args["run_id"], lambda: list_runs(store, row_of_live(store)))


def _step(run: Run, step: str, document: RunDocument) -> Result:
    entry = next((each for each in document["steps"] if each["step_id"] == step), None)
    if entry is None:
        raise InvalidArguments(
            f"{run.id} has no step `{step}`",
            fix="use one of: " + ", ".join(each["step_id"] for each in document["steps"][:6]),
            code="unknown_step",
        )
    output, why = run.output(step), list(run.explain(step))
    details = {**entry, "explained": why, "output_tail": output[-_TAIL:]}
    text = step_text(run.id, str(document["status"]), entry, why, output)
    return ok_result(text, {"run_id": run.id, "status": document["status"], "step": details})
