"""A model provider on loopback: an HTTP server of the OpenAI protocol that answers as a test tells it to, faults included."""
