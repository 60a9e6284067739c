"""Survey, capture and merge of the user's files."""
