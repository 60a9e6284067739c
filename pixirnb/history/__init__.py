"""What has happened: events, their codec, and the state they fold to."""
