"""A workflow as written: the one model behind YAML, dicts and Python objects.

`Workflow` says what was asked, in the author's words, and nothing else: no path is looked up, no default of another
level is applied. Durations are in milliseconds. `planning` says what should happen.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, StrictInt

from pixirnb.spec import limits
from pixirnb.spec.fields import Duration, Name, SpecModel, Texts
from pixirnb.spec.places import Places
from pixirnb.spec.policies import Agent, Input, Phase
from pixirnb.spec.steps import Defaults, Step


class Workflow(SpecModel):
    """What was asked."""

    name: Name
    description: str = ""
    max_concurrency: Annotated[StrictInt, Field(ge=1, le=limits.MAX_CONCURRENCY)] = 6
    timeout: Duration | None = None
    """Of the whole run."""
    defaults: Defaults = Field(default_factory=Defaults)
    agents: dict[Name, Agent] = Field(default_factory=dict)
    never_copy: Texts = ()
    repos: dict[Name, str] = Field(default_factory=dict)
    phases: tuple[Phase, ...] = ()
    undeclared_writers: Literal["allow", "serialize"] = "allow"
    on_failure: Literal["continue", "stop"] = "continue"
    readiness: Literal["strict", "lenient"] = "strict"
    inputs: dict[Name, Input] = Field(default_factory=dict)
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=limits.STEPS)]

    _places: Places = PrivateAttr(default_factory=Places)

    @property
    def places(self) -> Places:
        """Where in the author's text each key stands; knows no lines when there was no text."""
        return self._places

    def with_places(self, places: Places) -> Workflow:
        """The same workflow, knowing where it stands in a text. Changes this object: for loaders only."""
        self._places = places
        return self
