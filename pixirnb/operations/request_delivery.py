"""Brings what a person asks to whoever can do it: this process where the lock is free, else the run's owner through its inbox.

The owner answers within a second; one that says nothing for ten is `owner_silent`, and the request is taken back. When the
owner dies over a request, or another takes the run up, it is asked again under the same id, which the log knows if it was
done: so nothing is done twice. Source: contract.md §3.
"""

from __future__ import annotations

import getpass
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

from pixirnb.errors import Cannot, HeldByAnother, InvalidArguments
from pixirnb.history.run_state import fold
from pixirnb.machine.requests import Request
from pixirnb.protocols.ports import Lease
from pixirnb.runners.processes.ancestry import asking_step
from pixirnb.store.file_store import FileStore
from pixirnb.store.inbox import PATIENCE_S, FileInbox
from pixirnb.store.lease import live_owner

_LOOK_S: Final = 0.03
_SETTLING_S: Final = 1.0
"""How long a lock may be held without a living owner: someone is just letting go of it, or has just taken it."""
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
    | {"git_missing"}
)
"""Codes of replies that say nothing against the request."""

T = TypeVar("T")


def request(verb: str, *, by: str | None = None, **arguments: Any) -> Request:
    """A request with an id of its own: of this user, or of an agent that says so in `by`."""
    return Request(secrets.token_hex(8), verb, arguments, by or _who())


def require_person(verb: str) -> None:
    """Refuse a word that is a person's to say where this process runs below a step. Raises Cannot (`approval_by_agent`)."""
    step = asking_step()
    if step is not None:
        raise Cannot(
            f"`{verb}` was asked for from inside {step}: a step cannot speak for a person.",
            fix=f"A person says it, in a notebook or a terminal of their own: `pixirnb {verb} …`.",
            code="approval_by_agent",
            details={"step": step},
        )


def require_outside(run_id: str, verb: str) -> None:
    """Refuse what a step may not ask of its own run. Raises Cannot (`cancel_by_step`)."""
    step = asking_step()
    if step is not None and step.startswith(f"{run_id}/"):
        raise Cannot(
            f"`{verb}` was asked for from inside {step}: a step cannot end its own run, or a step of it.",
            fix="Let the step fail, or report that it is blocked; a person can cancel.",
            code="cancel_by_step",
            details={"step": step},
        )


def post(store: FileStore, run_id: str, asked: Request) -> None:
    """Leave a request for the owner of a run and wait for nothing. Raises StateUnusable."""
    FileInbox(store.folder(run_id) / "inbox").leave(replace(asked, is_awaited=False))


def deliver(store: FileStore, run_id: str, asked: Request, carry_out: Callable[[], T]) -> T | None:
    """What `carry_out` returns where this process could do it; None where the run's owner did.

    `carry_out` raises HeldByAnother while another process holds the run. Raises what it raises, the owner's refusal, and
    Cannot (`owner_silent`).
    """
    folder = store.folder(run_id)
    inbox = FileInbox(folder / "inbox")
    unowned_until = time.monotonic() + _SETTLING_S
    was_asked = False
    try:
        while True:
            if was_asked and _is_done(store, run_id, asked):
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
            was_asked = True
            if _is_answered(store, run_id, inbox, asked, owner):
                return None
            unowned_until = time.monotonic() + _SETTLING_S
    except KeyboardInterrupt:
        inbox.withdraw(asked.id)  # nobody waits for it any more, so it must not be done later
        raise
    finally:
        inbox.wait_no_more()


def _is_answered(
    store: FileStore, run_id: str, inbox: FileInbox, asked: Request, owner: Lease
) -> bool:
    """Leave it and wait for the owner: True when it is done, False when the owner is gone. Raises its refusal.

    What somebody removed unread is left anew: a driver that begins does so, and so may whoever tidies up.
    """
    began = time.monotonic()
    deadline, is_taken, was_left = began + PATIENCE_S, False, False
    while True:
        reply = inbox.reply(asked.id)
        if reply is None and live_owner(store.folder(run_id)) != owner:
            inbox.withdraw(asked.id)
            reply = inbox.reply(asked.id)
            if reply is None:
                return False
        if reply is not None:
            raise_refusal(reply)
            return True
        now = time.monotonic()
        if now >= deadline:
            is_taken_now = not inbox.withdraw(asked.id) and inbox.is_taken(asked.id)
            if is_taken or not (is_taken_now or inbox.is_left(asked.id)):
                raise _silent(run_id, asked, owner, is_taken=is_taken_now)
            is_taken, deadline = True, now + PATIENCE_S
        elif not inbox.is_left(asked.id):
            if was_left and _is_done(store, run_id, asked):
                return True
            # An owner that has just taken the run up opens its door a moment later; another host's is never found.
            was_left |= inbox.leave(asked, only_proven=now < began + _SETTLING_S)
        time.sleep(_LOOK_S)


def _is_done(store: FileStore, run_id: str, asked: Request) -> bool:
    """Whether an owner that is gone had done it: the log tells."""
    run = fold(store.read(run_id).events)
    if asked.verb == "cancel" and asked.arguments.get("step") is None:
        return run.finished is not None
    return asked.id in run.requests


def raise_refusal(reply: dict[str, Any]) -> None:
    """Raise what an owner's reply refuses; nothing where it was done. Raises InvalidArguments, Cannot."""
    if reply.get("ok") is True:
        return
    told = reply.get("error")
    error: dict[str, Any] = told if isinstance(told, dict) else {}
    code = str(error.get("code") or "request_unreadable")
    kind = Cannot if code in _CANNOT else InvalidArguments
    message = str(error.get("message") or "The owner's answer could not be read.")
    raise kind(message, fix=str(error.get("fix") or ""), code=code)


def _silent(run_id: str, asked: Request, owner: Lease, *, is_taken: bool) -> Cannot:
    so_far = "has taken the request and said nothing since" if is_taken else "does not answer"
    return Cannot(
        f"Process {owner.pid} on {owner.host}, which drives {run_id}, {so_far}: `{asked.verb}` was not confirmed.",
        fix=f"See `pixirnb show {run_id}`; end that process, or, where its host is gone, repeat this with --take-over.",
        code="owner_silent",
        details={"host": owner.host, "pid": owner.pid, "since": owner.since},
    )


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
