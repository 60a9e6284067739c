"""A workflow as written: the model behind YAML, dicts and Python objects.

`Workflow` holds what the author wrote and nothing else: no path is looked up, no default of another level applied.
Durations are in milliseconds. `planning` derives what should happen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, StrictInt, model_validator

from pixirnb.spec import limits, shorthands
from pixirnb.spec.fields import Duration, Name, SpecModel, Texts
from pixirnb.spec.policies import Agent, InputKey, Phase
from pixirnb.spec.source_map import SourceMap
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
    inputs: dict[Name, InputKey] = Field(default_factory=dict)
    """Typed parameters, given anew for each run."""
    steps: Annotated[
        tuple[Step, ...],
        Field(min_length=1, max_length=limits.STEPS),
        BeforeValidator(
            shorthands.steps, json_schema_input_type=tuple[Step, ...] | dict[Name, Step]
        ),
    ]
    """What is to be done. Their order breaks ties and nothing else."""

    @model_validator(mode="before")
    @classmethod
    def _without_extensions(cls, value: Any) -> Any:
        """Drop the keys `x-*`: they hold anchors, or what other tools read."""
        if isinstance(value, dict) and any(str(key).startswith("x-") for key in value):
            return {key: item for key, item in value.items() if not str(key).startswith("x-")}
        return value

    _source_map: SourceMap = PrivateAttr(default_factory=SourceMap)
    _sources: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _origins: Mapping[str, SourceMap] = PrivateAttr(default_factory=dict)

    @property
    def source_map(self) -> SourceMap:
        """Return the position of each key in the author's text; without a text it knows no lines."""
        return self._source_map

    def with_source_map(self, source_map: SourceMap) -> Workflow:
        """Set the position in a text, and return this workflow. Changes this object: for loaders only."""
        self._source_map = source_map
        return self

    @property
    def sources(self) -> Mapping[str, str]:
        """Return the functions of `%%step` cells as `{":name": source}`; empty for a file, a dict or YAML."""
        return self._sources

    def with_sources(self, sources: Mapping[str, str]) -> Workflow:
        """Set the functions, and return this workflow. Changes this object: for its builder only."""
        self._sources = dict(sources)
        return self

    @property
    def origins(self) -> Mapping[str, str]:
        """Return the role files of adopted agents, as `{agent: file}`."""
        return {name: source_map.source or "" for name, source_map in self._origins.items()}

    @property
    def adopted_source_maps(self) -> Mapping[str, SourceMap]:
        """Return, by agent, the position of each key in its role file."""
        return self._origins

    def with_origins(self, origins: Mapping[str, SourceMap]) -> Workflow:
        """Set the agents that come from files, and return this workflow. Changes this object: for `role_files.adopt` only."""
        self._origins = dict(origins)
        return self
