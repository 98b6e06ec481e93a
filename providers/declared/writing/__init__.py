"""How the back door of a declared record writes: into a database, or into a folder of files."""
