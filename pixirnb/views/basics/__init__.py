"""What every view is made of: text made safe, times, marks, icons, tables."""
