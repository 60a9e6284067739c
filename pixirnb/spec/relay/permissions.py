"""What a relay file lets its agents do: `permissions` of an agent or a step, spelled out or by the name of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.relay.keys import FILES, PERMISSIONS
from pixirnb.spec.relay.parser import RelayParser
from pixirnb.spec.source_map import PathParts

ACCESS: Final = ("readonly", "readwrite", "restricted", "full")


@dataclass(frozen=True, slots=True)
class RelayPermission:
    """What somebody may do."""

    posture: Literal["read_only", "writer"] | None = None
    """None where the file does not say."""
    is_unasked: bool = False
    """Whether it may write without being asked each time."""
    writes: tuple[str, ...] = ()
    """Globs it may write, relative to the folder it works in."""
    access_at: PathParts = ()
    writes_at: PathParts = ()

    def write_set(self, cwd: str | None) -> list[str]:
        """The globs as claims of a step that works in `cwd`."""
        if cwd is None or cwd == ".":
            return list(self.writes)
        if not cwd.startswith("repos."):
            return [f"{cwd}/{glob}" for glob in self.writes]
        repo, _, below = cwd.partition("/")
        return [f"{repo}:{below}/{glob}" if below else f"{repo}:{glob}" for glob in self.writes]


@dataclass(slots=True)
class Permissions:
    """The profiles of one file, and what is read with them."""

    reading: RelayParser
    _profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    _default: object = None
    """What agents have that say nothing: a kind of access, or a profile."""

    def declare(self, top: Mapping[str, Any]) -> None:
        """Read the profiles of the file, in the new spelling and the old."""
        old = self.reading.mapping(top, "permissions", ())
        found = {
            **self.reading.mapping(old, "profiles", ("permissions",)),
            **self.reading.mapping(top, "permission_profiles", ()),
        }
        self._profiles = {
            str(name): value for name, value in found.items() if isinstance(value, dict)
        }
        self._default = self.reading.text(old, "default", ("permissions",))

    def of(
        self, item: Mapping[str, Any], parts: PathParts, *, is_step: bool = False
    ) -> RelayPermission:
        """What the `permissions` of an agent or a step say."""
        at: PathParts = (*parts, "permissions")
        written = item.get("permissions")
        if written is None and not is_step and self._default is not None:
            written, at = self._default, ("permissions", "default")
        profile_at = access_at = at
        if isinstance(written, str):
            is_access = written not in self._profiles and written in ACCESS
            own: dict[str, Any] = {"access" if is_access else "profile": written}
        else:
            own = self.reading.mapping(item, "permissions", parts)
            profile_at, access_at = (*at, "profile"), (*at, "access")
            self.reading.keys(own, at, PERMISSIONS)
        profile = self.reading.text(own, "profile", at)
        if profile is not None and profile not in self._profiles:
            otherwise = "declare it under `permission_profiles`"
            self.reading.wrong(
                "relay_profile_unknown",
                profile_at,
                f"there is no permission profile `{profile:.80}`",
                did_you_mean(profile, self._profiles, otherwise=otherwise),
            )
        said = {**self._profiles.get(profile or "", {}), **own}
        access_at = access_at if "access" in own else profile_at
        files_at = (*at, "files") if "files" in own else profile_at
        return self._leave(said, at, access_at, files_at)

    def _leave(
        self, said: Mapping[str, Any], at: PathParts, access_at: PathParts, files_at: PathParts
    ) -> RelayPermission:
        access = self.reading.text(said, "access", at)
        if access is not None and access not in ACCESS:
            self.reading.no_choice(access_at, access, "no kind of access", ACCESS)
            access = None
        files = self.reading.mapping(said, "files", at)
        self.reading.keys(files, files_at, FILES)
        writes = self.reading.texts(files, "write", files_at)
        if access == "readonly":
            return RelayPermission("read_only", access_at=access_at)
        where = (*files_at, "write") if files_at[-1] == "files" else files_at
        return RelayPermission(
            None if access is None else "writer",
            # That it may is written: nobody needs to be asked each time.
            access in {"readwrite", "full"},
            tuple(glob.removeprefix("./") for glob in writes),
            access_at,
            where,
        )
