"""The engine: leases trials to workers, passes readings on, commits rows. It knows no kind and no system of record."""
