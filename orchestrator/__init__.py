"""The orchestrator of trials."""
