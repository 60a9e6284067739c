"""A workflow as written: the one model behind YAML, dicts and Python objects.

`Workflow` says what was asked, in the author's words, and nothing else: no path is looked up, no default of another
level is applied. Durations are in milliseconds. `planning` says what should happen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, StrictInt

from pixirnb.spec import limits
from pixirnb.spec.fields import Duration, Name, SpecModel, Texts
from pixirnb.spec.policies import Agent, Input, Phase
from pixirnb.spec.source_map import Places
from pixirnb.spec.steps import Defaults, Step


class Workflow(SpecModel):
    """What was asked."""

    name: Name
    """Names the workflow, in lists of runs and in cells."""
    description: str = ""
    """For people; nothing depends on it."""
    max_concurrency: Annotated[StrictInt, Field(ge=1, le=limits.MAX_CONCURRENCY)] = 6
    """How many steps may run at once."""
    timeout: Duration | None = None
    """Of the whole run."""
    defaults: Defaults = Field(default_factory=Defaults)
    """What steps say when they do not say it themselves."""
    agents: dict[Name, Agent] = Field(default_factory=dict)
    """Who tasks may be delegated to."""
    never_copy: Texts = ()
    """Globs of files that no isolated step is given, beside what is secret by its name."""
    repos: dict[Name, str] = Field(default_factory=dict)
    """Further repositories, by path relative to the workflow's folder; `repos.NAME:glob` claims in one."""
    phases: tuple[Phase, ...] = ()
    """Units of work as people call them; each leaves a checkpoint when it ends well. Unassigned steps are `rest`."""
    undeclared_writers: Literal["allow", "serialize"] = "allow"
    """What shell steps claim that declare neither posture nor sets: nothing, or everything."""
    on_failure: Literal["continue", "stop"] = "continue"
    """After a step that is not ready: go on with what does not need it, or start nothing more."""
    readiness: Literal["strict", "lenient"] = "strict"
    """Whether agents must earn readiness by a report or a check, or a clean end is enough."""
    inputs: dict[Name, Input] = Field(default_factory=dict)
    """Typed parameters, given anew for each run."""
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=limits.STEPS)]
    """What is to be done. Their order breaks ties and nothing else."""

    _places: Places = PrivateAttr(default_factory=Places)
    _sources: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _origins: Mapping[str, Places] = PrivateAttr(default_factory=dict)

    @property
    def places(self) -> Places:
        """Where in the author's text each key stands; knows no lines when there was no text."""
        return self._places

    def with_places(self, places: Places) -> Workflow:
        """The same workflow, knowing where it stands in a text. Changes this object: for loaders only."""
        self._places = places
        return self

    @property
    def sources(self) -> Mapping[str, str]:
        """Functions its steps bring along, as `{":name": source}`: those of `%%step` cells; none of a file, a dict or YAML."""
        return self._sources

    def with_sources(self, sources: Mapping[str, str]) -> Workflow:
        """The same workflow, bringing its functions along. Changes this object: for who makes it only."""
        self._sources = dict(sources)
        return self

    @property
    def origins(self) -> Mapping[str, str]:
        """The role files its agents were adopted from, as `{agent: file}`; those it declares itself have none."""
        return {name: places.source or "" for name, places in self._origins.items()}

    @property
    def adopted_places(self) -> Mapping[str, Places]:
        """Where in those files each of their keys stands, by agent."""
        return self._origins

    def with_origins(self, origins: Mapping[str, Places]) -> Workflow:
        """The same workflow, knowing which agents come from files. Changes this object: for who adopts only."""
        self._origins = dict(origins)
        return self
