"""The tools offered to agents, inside a session and from outside through MCP. Decides nothing by itself."""
