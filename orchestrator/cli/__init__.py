"""The command line: one file a command, and a command only calls. ``orchestrator.cli.app`` puts them together."""
