"""Systems of record with their tasks, and the seam that a user plugs one into."""
