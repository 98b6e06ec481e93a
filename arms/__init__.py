"""Systems under test, and the seam that a user plugs one into."""
