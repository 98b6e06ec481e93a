"""The tools of a declared environment: endpoints, programs, the operations of an OpenAPI file, an MCP server."""
