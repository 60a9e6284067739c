"""What a child session is: its events, what a provider is sent of them, how a turn ended, what an agent may do. Pure."""
