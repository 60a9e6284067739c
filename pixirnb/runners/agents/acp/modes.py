"""The session mode that a permission needs of an ACP agent: found among its offers, set, and watched.

    configOptions   a select of category `mode`, set by `session/set_config_option`, whose answer has the new state
    modes           set by `session/set_mode`, whose answer is empty; only later updates show the mode

An agent that cannot be put into the mode is never prompted, and one that leaves it is ended: none works in its
default mode instead. Source: contract.md §7, §11 (agents' modes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from acp import RequestError, schema
from msgspec import Struct

from pixirnb.runners.agents.channel import Failed

AUTH_REQUIRED: Final = -32000
_CATEGORY: Final = "mode"


class SessionMode(Struct, eq=False):
    """The required mode of one session of one agent. Belongs to one thread."""

    agent: str
    """The agent's name for people."""
    permission: str
    """The permission that needs it: `read_only`, `ask` or `auto`."""
    required: str
    _is_entered: bool = False
    _reported: str | None = None
    """Modes that the agent has reported since the request to change."""

    async def enter(self, connection: Any, session: schema.NewSessionResponse) -> None:
        """Put a new session into the mode. Raises Failed (`agent_mode_missing`), RequestError if it needs a login."""
        option = _option(session.config_options or [])
        selectable = _values(option) if option is not None else []
        modes = [mode.id for mode in session.modes.available_modes] if session.modes else []
        offered = [*selectable, *modes]
        self._reported = None
        try:
            if option is not None and self.required in selectable:
                answer = await connection.set_config_option(
                    config_id=option.id, session_id=session.session_id, value=self.required
                )
                mode_option = _option(answer.config_options)
                self._reported = (
                    mode_option.current_value if mode_option is not None else "an unnamed mode"
                )
            elif self.required in modes:
                await connection.set_session_mode(
                    session_id=session.session_id, mode_id=self.required
                )
            else:
                raise self._missing("the agent does not offer it", offered)
        except RequestError as error:
            if error.code == AUTH_REQUIRED:
                raise
            raise self._missing(f"the agent refuses it ({error})", offered) from error
        if self._reported not in (None, self.required):
            raise self._missing(f"the agent reports `{self._reported}` instead", offered)
        self._is_entered = True

    def left(self, update: Any) -> Failed | None:
        """Return a failure if an update says that the session left the mode. Accepts every update."""
        now: str | None = None
        match update:
            case schema.CurrentModeUpdate():
                now = update.current_mode_id
            case schema.ConfigOptionUpdate():
                option = _option(update.config_options)
                now = option.current_value if option is not None else None
            case _:
                pass  # it says nothing of modes
        self._reported = now or self._reported
        if now is None or now == self.required or not self._is_entered:
            return None
        return Failed(
            "agent_mode_left",
            f"agent {self.agent} switched from mode `{self.required}`, which `permission_mode: {self.permission}` requires, to "
            f"`{now}`; its turn was stopped",
            {"permission_mode": self.permission, "needed": self.required, "now": now},
        )

    def _missing(self, why: str, offered: Sequence[str]) -> Failed:
        names = list(dict.fromkeys(offered))
        shown = ", ".join(f"`{name}`" for name in names[:20]) or "none"
        return Failed(
            "agent_mode_missing",
            f"agent {self.agent} was not started: `permission_mode: {self.permission}` requires its mode "
            f"`{self.required}`, but {why} (offered: {shown}); name the equivalent of `{self.permission}` "
            "under `modes` of its table in agents.toml, or use another agent",
            {"permission_mode": self.permission, "needed": self.required, "offered": names},
        )


def _option(options: Iterable[Any]) -> schema.SessionConfigOptionSelect | None:
    """Return the option for the mode: by its category, or by its id without one."""
    selects = [each for each in options if isinstance(each, schema.SessionConfigOptionSelect)]
    return next((each for each in selects if (each.category or each.id) == _CATEGORY), None)


def _values(option: schema.SessionConfigOptionSelect) -> list[str]:
    """Return the possible values, grouped or not."""
    values: list[str] = []
    for each in option.options:
        if isinstance(each, schema.SessionConfigSelectGroup):
            values += [choice.value for choice in each.options]
        else:
            values.append(each.value)
    return values
