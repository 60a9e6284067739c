"""Names of secrets: files and variables that are not read, copied, carried or shown."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

from pixirnb.planning.globs.pattern import Pattern

STARS: Final = "***"
"""Replacement of a secret in all that is shown."""
SHORTEST: Final = 8
"""Minimum length of a secret: masking `yes` or `1` would garble every log and protect nothing."""
_SECRET_NAMES: Final = (
    *(".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".pgpass", ".pypirc"),
    *(".npmrc", ".git-credentials", ".htpasswd", ".ssh", ".gnupg", ".aws", "credentials*"),
    *("secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml"),
)
_SECRET_VARIABLE: Final = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SOURCES: Final = (
    *(".py", ".pyi", ".js", ".jsx", ".mjs", ".ts", ".tsx", ".go", ".rs", ".rb", ".java", ".kt"),
    *(".c", ".h", ".cc", ".cpp", ".cs", ".ex", ".exs", ".php", ".swift", ".scala"),
    *(".md", ".rst", ".html", ".css"),
)
"""Suffixes of source files: a module called `credentials` is code, not a secret."""
_PUBLIC: Final = frozenset({"cacert.pem"})
"""Public certificate authorities, which environments need to connect at all."""


@lru_cache(maxsize=4096)
def is_secret_variable(name: str) -> bool:
    """Return whether a variable's name contains KEY TOKEN SECRET PASSWORD or CREDENTIAL. Cached: names repeat in every step."""
    return _SECRET_VARIABLE.search(name) is not None


def shown_input(name: str, value: Any) -> Any:
    """Return the value of an input; of a secret, by its name, only stars."""
    is_long = isinstance(value, str) and len(value) >= SHORTEST
    return STARS if is_long and is_secret_variable(name) else value


def is_secret(path: str) -> bool:
    """Return whether a path names what is usually a secret: a key, a token file, an `.env`."""
    return any(_is_secret_name(name) for name in path.casefold().split("/"))


def _is_secret_name(name: str) -> bool:
    if name in _PUBLIC:
        return False
    if name.startswith("credentials") and name.endswith(_SOURCES):
        return False
    return any(fnmatchcase(name, pattern) for pattern in _SECRET_NAMES)


def never_copied(text: str) -> Pattern:
    """Return the pattern of one of `never_copy`: without a slash it matches names at any depth. Raises ValueError."""
    return Pattern.parse(text if "/" in text.strip("/") else f"**/{text}")
