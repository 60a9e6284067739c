"""Delivers a person's request: to this process if the run is free, else to its owner through its inbox.

The owner answers within a second; one that is silent for ten is `owner_silent`, and the request is withdrawn. If the
owner dies over a request, or another one resumes the run, the request is sent again with its id, and the log shows
whether it was done: nothing is done twice. Source: contract.md §3.
"""

from __future__ import annotations

import getpass
import secrets
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from pixirnb.errors import Cannot, HeldByAnother, InvalidArguments
from pixirnb.history.run_state import fold
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.machine.requests import PERSONS, Request, Sender
from pixirnb.protocols.ports import Lease
from pixirnb.runners.processes.ancestry import asking_step
from pixirnb.store.file_store import FileStore
from pixirnb.store.inbox import PATIENCE_S, FileInbox
from pixirnb.store.lease import live_owner

_LOOK_S: Final = 0.03
_SETTLING_S: Final = 1.0
"""Seconds for which a lock may be held without a living owner: a process is just releasing or taking it."""
_CANNOT: Final = frozenset(
    {"approval_by_agent", "cancel_by_step", "sender_unproven"}
    | {
        "lock_lost",
        "log_write_failed",
        "internal_error",
        "merge_busy",
        "merge_disturbed",
        "merge_refused",
        "merge_unsafe",
    }
    | {"merge_unfinished", "merge_journal_damaged", "no_state_folder", "repository_broken"}
    | {"snapshot_limit", "snapshot_unreadable", "tree_missing", "tree_store_unusable"}
    | {"git_missing", "git_status_unknown"}
)
"""Codes of replies that do not refuse the request itself."""

T = TypeVar("T")


def request(run_id: str, verb: str, /, *, by: str | None = None, **arguments: Any) -> Request:
    """Return a request with a new id, of this user or in the name `by`. Raises Cannot as `require_sender`."""
    sender = require_sender(run_id, verb)
    return Request(secrets.token_hex(8), verb, arguments, by or _who(), sender=sender)


def require_sender(run_id: str, verb: str) -> Sender:
    """Return who uses `verb` on this thread. Raises Cannot (`approval_by_agent`, `cancel_by_step`) if a step must not."""
    step = asking_step()
    if step is None:
        return "person"
    if verb in PERSONS:
        raise Cannot(
            f"`{verb}` was used inside {step}; only a person can use it",
            fix=f"use a notebook or a terminal outside of the run: `pixirnb {verb} …`",
            code="approval_by_agent",
            details={"step": step},
        )
    if not _is_below(step, run_id):
        return "other_step"
    if verb in {"cancel", "interrupt"}:
        raise Cannot(
            f"`{verb}` was used inside {step}: a step cannot cancel its own run",
            fix="let the step fail, or report that it is blocked",
            code="cancel_by_step",
            details={"step": step},
        )
    return "own_step"


def _is_below(step: str, run_id: str) -> bool:
    """Return whether a step is of a run, or of one that a step of it has started in this process."""
    from pixirnb.engine.engine import engine  # a command that only sends a request has none

    tag: str | None = step
    while tag is not None and not tag.startswith(f"{run_id}/"):
        live = engine().find(tag.partition("/")[0])
        tag = None if live is None else live.started_by
    return tag is not None


def post(store: FileStore, run_id: str, pending: Request) -> None:
    """Write a request for the owner of a run without waiting. Raises StateUnusable."""
    FileInbox(store.folder(run_id) / "inbox").leave(replace(pending, is_awaited=False))


def deliver(
    store: FileStore, run_id: str, pending: Request, carry_out: Callable[[], T]
) -> T | None:
    """Return the result of `carry_out` if this process could do it; None if the run's owner did.

    `carry_out` raises HeldByAnother while another process owns the run. Raises its errors, the owner's refusal, and
    Cannot (`owner_silent`).
    """
    folder = store.folder(run_id)
    inbox = FileInbox(folder / "inbox", run_id=run_id)
    unowned_until = time.monotonic() + _SETTLING_S
    was_sent = False
    try:
        while True:
            if was_sent and _is_done(store, run_id, pending):
                return None
            try:
                return carry_out()
            except HeldByAnother:
                owner = live_owner(folder)
                if owner is None and time.monotonic() >= unowned_until:
                    raise
            if owner is None:
                time.sleep(_LOOK_S)
                continue
            was_sent = True
            if _is_answered(store, run_id, inbox, pending, owner):
                return None
            unowned_until = time.monotonic() + _SETTLING_S
    except KeyboardInterrupt:
        inbox.withdraw(pending.id)  # nobody waits for it any more, so it must not be done later
        raise
    finally:
        inbox.wait_no_more()


def _is_answered(
    store: FileStore, run_id: str, inbox: FileInbox, pending: Request, owner: Lease
) -> bool:
    """Write the request and wait for the owner: True when it is done, False when the owner is gone.

    Raises its refusal.

    A request that was removed unread is written again: a new owner removes old ones, and so may other tidying.
    """
    began = time.monotonic()
    deadline, is_taken, was_left = began + PATIENCE_S, False, False
    while True:
        reply = inbox.reply(pending.id)
        if reply is None and live_owner(store.folder(run_id)) != owner:
            inbox.withdraw(pending.id)
            reply = inbox.reply(pending.id)
            if reply is None:
                inbox.wait_no_more()
                return False
        if reply is not None:
            raise_refusal(reply)
            return True
        now = time.monotonic()
        if now >= deadline:
            is_taken_now = not inbox.withdraw(pending.id) and inbox.is_taken(pending.id)
            if is_taken or not (is_taken_now or inbox.is_left(pending.id)):
                raise _silent(run_id, pending, owner, is_taken=is_taken_now)
            is_taken, deadline = True, now + PATIENCE_S
        elif not inbox.is_left(pending.id):
            if was_left and _is_done(store, run_id, pending):
                return True
            # An owner that has just taken the run up opens its door a moment later; another host's is never found.
            was_left |= inbox.leave(pending, owner, only_proven=now < began + _SETTLING_S)
        time.sleep(_LOOK_S)


def _is_done(store: FileStore, run_id: str, pending: Request) -> bool:
    """Return whether an owner that is gone had done it: the log shows that."""
    run = fold(store.read(run_id).events)
    if pending.verb == "cancel" and pending.arguments.get("step") is None:
        return run.finished is not None and run.finished["status"] == "interrupted"
    return pending.id in run.requests


def raise_refusal(reply: JsonMapping) -> None:
    """Raise the refusal in an owner's reply, if there is one. Raises InvalidArguments, Cannot."""
    if reply.get("ok") is True:
        return
    refused = reply.get("error")
    error: JsonObject = refused if isinstance(refused, dict) else {}
    code = str(error.get("code") or "request_unreadable")
    kind = Cannot if code in _CANNOT else InvalidArguments
    message = str(error.get("message") or "cannot read the answer of the lock owner")
    raise kind(message, fix=str(error.get("fix") or ""), code=code)


def _silent(run_id: str, pending: Request, owner: Lease, *, is_taken: bool) -> Cannot:
    so_far = "took the request, but did not answer" if is_taken else "does not answer"
    return Cannot(
        f"`{pending.verb}` was not confirmed: process {owner.pid} on {owner.host}, which drives {run_id}, {so_far}",
        fix=f"check `pixirnb show {run_id}`; end that process, or use `--take-over` if its host is gone",
        code="owner_silent",
        details={"host": owner.host, "pid": owner.pid, "since": owner.since},
    )


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
