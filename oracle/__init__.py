"""The only code that opens a read path: reads, judges, and says what is unknown."""
