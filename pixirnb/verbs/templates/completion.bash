_pixirnb_values() {
  _pixirnb
  [[ ${#COMPREPLY[@]} -gt 0 ]] && return
  local line="${COMP_LINE:0:COMP_POINT}" each last prefix
  local -a words
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  last="${words[${#words[@]}-1]}"
  prefix="${last%"${COMP_WORDS[COMP_CWORD]}"}"  # a `=` divides words, an `@` only begins one
  prefix="${prefix%@}"
  while IFS= read -r each; do
    COMPREPLY+=("${each#"$prefix"}")
  done < <(_PIXIRNB_COMPLETE='@OPTIONS@' "${words[@]}" 2>/dev/null)
}

complete -o default -F _pixirnb_values pixirnb
