"""The ground floor: the words of SPEC.md in code. Everyone may import it; it imports nothing of ours."""
