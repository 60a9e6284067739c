"""Programs that run in an agent's process: below a reaper, in a fork of the supervisor, one for each kind of agent."""
