"""How the judge tells the rows of the record apart, in plain values: known before any database is opened."""

from __future__ import annotations

from typing import Final

from spec.reading import RecordSchema

MAIN_TABLE: Final = "encounters"
ECHO_TABLES: Final = ("audit_log", "banner")
"""The application's own bookkeeping; no part of the record."""

RECORD_TABLES: Final = ("patients", "encounters", "observations", "billing", "outbox")

NOTES_SHOUTED: Final = "notes_shouted"
ONE_OF_A_KEY: Final = "one_of_a_key"
"""What a database can have built in besides its tables (``tables.EXTRAS``)."""

SCHEMA: Final = RecordSchema(
    main_table=MAIN_TABLE,
    id_field="id",
    bookkeeping_fields=("id", "updated_at"),
    bookkeeping_tables=ECHO_TABLES,
)

FHIR_SCHEMA: Final = SCHEMA._replace(
    bookkeeping_fields=(*SCHEMA.bookkeeping_fields, "meta.versionId", "meta.lastUpdated")
)
"""The same where the record is read as FHIR resources, which carry bookkeeping of their own."""
