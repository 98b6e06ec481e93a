"""The live control of a run: a socket that other terminals speak to, and what they may ask."""
