"""The notebook: cells, magics and pictures over the same verbs as the command line."""
