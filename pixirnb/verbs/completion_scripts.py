"""Completion scripts of shells: what cyclopts generates, and below it what only the program can answer, or else files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from cyclopts import App

Shell = Literal["bash", "zsh", "fish"]
VARIABLE: Final = "_PIXIRNB_COMPLETE"
"""Set to the options that take a value: then the program prints the words that may stand last (see `cli.complete`)."""

_BELOW: Final[Mapping[Shell, str]] = {
    "bash": r"""
_pixirnb_values() {
  _pixirnb
  [[ ${#COMPREPLY[@]} -gt 0 ]] && return
  local line="${COMP_LINE:0:COMP_POINT}" each last prefix
  local -a typed
  read -ra typed <<< "$line"
  [[ "$line" == *[[:space:]] ]] && typed+=("")
  last="${typed[${#typed[@]}-1]}"
  prefix="${last%"${COMP_WORDS[COMP_CWORD]}"}"  # a `=` divides them, an `@` only begins one
  prefix="${prefix%@}"
  while IFS= read -r each; do
    COMPREPLY+=("${each#"$prefix"}")
  done < <(@VARIABLE@='@OPTIONS@' "${typed[@]}" 2>/dev/null)
}

complete -o default -F _pixirnb_values pixirnb
""",
    "zsh": r"""
_pixirnb_values() {
  local -a line found
  line=("${(@)words[1,CURRENT]}")
  _cyclopts_pixirnb
  (( compstate[nmatches] )) && return
  found=(${(f)"$(@VARIABLE@='@OPTIONS@' "${(@)line}" 2>/dev/null)"})
  if (( $#found )); then compadd -- "${(@)found}"; else _files; fi
}

if [[ "$funcstack[1]" == _pixirnb ]]; then _pixirnb_values "$@"; else compdef _pixirnb_values pixirnb; fi
""",
    "fish": r"""
function __fish_pixirnb_values
    set -lx @VARIABLE@ '@OPTIONS@'
    set -l line (commandline -opc) (commandline -ct)
    $line 2>/dev/null
end
complete -c pixirnb -a '(__fish_pixirnb_values)'
for option in from only until session prompt resume status checkpoint
    complete -c pixirnb -l $option -x -a '(__fish_pixirnb_values)'
end
""",
}


def completion_script(app: App, shell: Shell) -> str:
    """Return the script of a shell."""
    script = app.generate_completion(prog_name="pixirnb", shell=shell)
    # Readline completes files better than `compgen -f`: folders get their slash.
    script = script.replace('COMPREPLY=( $(compgen -f -- "${cur}") )', "COMPREPLY=()")
    script = script.replace("complete -F _pixirnb pixirnb\n", "")
    below = _BELOW[shell].replace("@VARIABLE@", VARIABLE).replace("@OPTIONS@", _with_value(app))
    return f"{script.rstrip()}\n{below}".rstrip()


def _with_value(app: App) -> str:
    """Return the options that take a value, as the script of bash lists them."""
    script = app.generate_completion(prog_name="pixirnb", shell="bash")  # noqa: S604 - the name of one
    match = re.search(r"options_with_values='([^']*)'", script)
    return "" if match is None else match[1]
