"""The tools of an agent of ours: files, search, shell."""
