"""The tools of agents as an MCP server."""
