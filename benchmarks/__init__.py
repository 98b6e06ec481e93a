"""Speed and memory of the orchestrator, printed as figures with the machine; never part of the tests."""
