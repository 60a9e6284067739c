"""Parts of every view: text made safe, times, marks, icons, tables."""
