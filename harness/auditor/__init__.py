"""An independent reader of logs, that finds every promise a run broke."""
