"""A workflow as written: the model behind YAML, dicts and Python objects.

`Workflow` holds what the author wrote and nothing else: no path is looked up, no default of another level applied.
Durations are in milliseconds. `planning` derives what should happen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, StrictInt, model_validator

from pixirnb.spec import limits, shorthands
from pixirnb.spec.fields import Duration, Name, SpecModel, Texts
from pixirnb.spec.policies import Agent, InputKey, Phase
from pixirnb.spec.source_map import PathParts, SourceMap
from pixirnb.spec.steps import Defaults, Shared, Step
from pixirnb.spec.titles import Title


class Workflow(SpecModel):
    """A workflow definition."""

    name: Name
    """Name of the workflow, in lists of runs and in cells."""
    title: Title = ""
    """Name of the workflow for people, in any script; without it the `name` is shown. It has no effect."""
    description: str = ""
    """Description for people; it has no effect."""
    max_concurrency: Annotated[StrictInt, Field(ge=1, le=limits.MAX_CONCURRENCY)] = 6
    """Maximum number of steps that run at the same time."""
    timeout: Duration | None = None
    """Time limit of the whole run."""
    defaults: Defaults = Field(default_factory=Defaults)
    """Default values for step keys."""
    agents: dict[Name, Agent] = Field(default_factory=dict)
    """Agents that tasks can be delegated to, by name."""
    never_copy: Texts = ()
    """Globs of files that are never copied into isolated workspaces, in addition to files with secret-looking names."""
    repos: dict[Name, str] = Field(default_factory=dict)
    """Additional repositories: name to path, relative to the folder of the workflow file; used as `repos.NAME:glob`."""
    phases: tuple[Phase, ...] = ()
    """Named groups of steps; each saves a checkpoint when it succeeds. Unassigned steps belong to `rest`."""
    undeclared_writers: Literal["allow", "serialize"] = "allow"
    """Shell steps without `posture` and sets count as writing nothing (`allow`) or everything (`serialize`)."""
    placement: Literal["local", "cluster"] = "local"
    """Where shell, python and agent steps run that do not say so themselves: here, or on a cluster."""
    on_failure: Literal["continue", "stop"] = "continue"
    """After a failed step: run the steps that do not depend on it (`continue`), or start no more steps (`stop`)."""
    readiness: Literal["strict", "lenient"] = "strict"
    """Whether an agent step needs a report or a passed check to be ready (`strict`), or a clean exit is enough (`lenient`)."""
    inputs: dict[Name, InputKey] = Field(default_factory=dict)
    """Typed parameters, set for each run; a value alone is a default."""
    steps: Annotated[
        tuple[Step, ...],
        Field(min_length=1, max_length=limits.STEPS),
        BeforeValidator(
            shorthands.steps, json_schema_input_type=tuple[Step, ...] | dict[Name, Step]
        ),
    ]
    """Steps, as a list or as a mapping from id to step; if several can start, the first in the file does."""

    @model_validator(mode="before")
    @classmethod
    def _without_extensions(cls, value: Any) -> Any:
        """Drop the keys `x-*`: they hold anchors, or what other tools read."""
        if isinstance(value, dict) and any(str(key).startswith("x-") for key in value):
            return {key: item for key, item in value.items() if not str(key).startswith("x-")}
        return value

    @cached_property
    def used_keys(self) -> frozenset[str]:
        """Return the keys that the defaults or a step have. No copy of a workflow has other steps."""
        return frozenset(self.defaults.__pydantic_fields_set__).union(
            *(step.__pydantic_fields_set__ for step in self.steps)
        )

    def find_keys(self, *keys: str) -> Iterator[tuple[PathParts, Shared]]:
        """Yield the defaults and the steps that have one of the keys, each with its path."""
        if self.used_keys.isdisjoint(keys):
            return
        if not self.defaults.__pydantic_fields_set__.isdisjoint(keys):
            yield ("defaults",), self.defaults
        for position, step in enumerate(self.steps):
            if not step.__pydantic_fields_set__.isdisjoint(keys):
                yield ("steps", position), step

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
