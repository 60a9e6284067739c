function __fish_pixirnb_values
    set -lx _PIXIRNB_COMPLETE '@OPTIONS@'
    set -l line (commandline -opc) (commandline -ct)
    $line 2>/dev/null
end
complete -c pixirnb -a '(__fish_pixirnb_values)'
for option in from only until session prompt resume status checkpoint
    complete -c pixirnb -l $option -x -a '(__fish_pixirnb_values)'
end
