"""The tool surface: what agents are offered, inside a session and from outside through MCP. Decides nothing by itself."""
