_pixirnb_values() {
  local -a line found
  line=("${(@)words[1,CURRENT]}")
  _cyclopts_pixirnb
  (( compstate[nmatches] )) && return
  found=(${(f)"$(_PIXIRNB_COMPLETE='@OPTIONS@' "${(@)line}" 2>/dev/null)"})
  if (( $#found )); then compadd -- "${(@)found}"; else _files; fi
}

if [[ "$funcstack[1]" == _pixirnb ]]; then _pixirnb_values "$@"; else compdef _pixirnb_values pixirnb; fi
