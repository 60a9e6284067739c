"""The session mode that a permission asks of an ACP agent: found in what it offers, set, and kept an eye on.

    configOptions   a select of category `mode`, set by `session/set_config_option`, which answers with what holds then
    modes           set by `session/set_mode`, which answers nothing; what it says later is all there is to go by

An agent that cannot be put into the mode is never prompted, and one that leaves it is ended: none works in its default mode
instead. Source: contract.md §7, §11 (agents' modes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from acp import RequestError, schema

from pixirnb.runners.agents.channel import Failed

AUTH_REQUIRED: Final = -32000
_CATEGORY: Final = "mode"


@dataclass(slots=True, eq=False)
class SessionMode:
    """What one session is to be in, for one agent. Belongs to one thread."""

    agent: str
    """What a person calls it."""
    permission: str
    """What asks for it: `read_only`, `ask` or `auto`."""
    wanted: str
    _is_entered: bool = False
    _told: str | None = None
    """What it said of itself since it was asked to change."""

    async def enter(self, connection: Any, session: schema.NewSessionResponse) -> None:
        """Put a fresh session into the mode. Raises Failed (`agent_mode_missing`), RequestError where it wants a login."""
        option = _option(session.config_options or [])
        selectable = _values(option) if option is not None else []
        modes = [mode.id for mode in session.modes.available_modes] if session.modes else []
        offered = [*selectable, *modes]
        self._told = None
        try:
            if option is not None and self.wanted in selectable:
                answer = await connection.set_config_option(
                    config_id=option.id, session_id=session.session_id, value=self.wanted
                )
                said = _option(answer.config_options)
                self._told = said.current_value if said is not None else "nothing that it names"
            elif self.wanted in modes:
                await connection.set_session_mode(
                    session_id=session.session_id, mode_id=self.wanted
                )
            else:
                raise self._missing("it does not offer that", offered)
        except RequestError as error:
            if error.code == AUTH_REQUIRED:
                raise
            raise self._missing(f"it refuses ({error})", offered) from error
        if self._told not in (None, self.wanted):
            raise self._missing(f"asked to, it says that it is in `{self._told}`", offered)
        self._is_entered = True

    def left(self, update: Any) -> Failed | None:
        """What follows from an update that says the session, which had entered its mode, is in another. Takes every update."""
        now: str | None = None
        match update:
            case schema.CurrentModeUpdate():
                now = update.current_mode_id
            case schema.ConfigOptionUpdate():
                option = _option(update.config_options)
                now = option.current_value if option is not None else None
            case _:
                pass  # it says nothing of modes
        self._told = now or self._told
        if now is None or now == self.wanted or not self._is_entered:
            return None
        return Failed(
            "agent_mode_left",
            f"the agent {self.agent} left its mode `{self.wanted}`, which `permission_mode: {self.permission}` needs, for "
            f"`{now}`: its turn was ended.",
            {"permission_mode": self.permission, "needed": self.wanted, "now": now},
        )

    def _missing(self, why: str, offered: Sequence[str]) -> Failed:
        names = list(dict.fromkeys(offered))
        shown = ", ".join(f"`{name}`" for name in names[:20]) or "none"
        return Failed(
            "agent_mode_missing",
            f"the agent {self.agent} was not given its task: `permission_mode: {self.permission}` needs its mode "
            f"`{self.wanted}`, and {why}. Modes it offers: {shown}. Name the one that does what `{self.permission}` says under "
            "`modes` of its table in agents.toml, or choose another agent.",
            {"permission_mode": self.permission, "needed": self.wanted, "offered": names},
        )


def _option(options: Iterable[Any]) -> schema.SessionConfigOptionSelect | None:
    """The option that is the mode: by its category, or by its id where it has none."""
    selects = [each for each in options if isinstance(each, schema.SessionConfigOptionSelect)]
    return next((each for each in selects if (each.category or each.id) == _CATEGORY), None)


def _values(option: schema.SessionConfigOptionSelect) -> list[str]:
    """What may be chosen, groups or not."""
    found: list[str] = []
    for each in option.options:
        if isinstance(each, schema.SessionConfigSelectGroup):
            found += [choice.value for choice in each.options]
        else:
            found.append(each.value)
    return found
