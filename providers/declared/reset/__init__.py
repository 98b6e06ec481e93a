"""How a declaration makes a fresh record for a trial: by SQL, by a program, by requests."""
