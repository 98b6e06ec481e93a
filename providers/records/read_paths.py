"""How the oracle reads a record, by the option ``read``: its database, or the service with a token of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from providers.records.fhir_resources import FIELDS, MAKERS
from providers.records.shape import ECHO_TABLES, RECORD_TABLES
from providers.records.storage import Stored
from spec.canonical import Json
from spec.reading import ReadPath


class Place(NamedTuple):
    """Where a record is.

    Attributes:
        stored: its database.
        record: its name in the service.
        service: the service's address.
        token_file: the file with the oracle's token.
    """

    stored: Stored
    record: str
    service: str
    token_file: Path


def by_sql(place: Place) -> ReadPath:
    """The whole database but for its echo, by the oracle's own read-only connection."""
    return ReadPath("sql", final=False, where={**place.stored.read_where, "except": list(ECHO_TABLES)})


def by_rest(place: Place) -> ReadPath:
    """Every table of the record, page by page."""
    next_page: dict[str, Json] = {"style": "url", "path": "next"}
    tables: dict[str, Json] = {
        name: {"path": name, "rows": "rows", "next": next_page, "total": "total"} for name in RECORD_TABLES
    }
    url = f"{place.service}/read/{place.record}"
    return ReadPath("rest", final=False, where={"url": url, "tables": tables, "token_file": str(place.token_file)})


def by_fhir(place: Place) -> ReadPath:
    """A search a table; the columns of the contract are read out of the resources."""
    searches: dict[str, Json] = {table: kind for kind, (table, _) in MAKERS.items()}
    fields: dict[str, Json] = {table: dict(columns) for table, columns in FIELDS.items()}
    where: dict[str, Json] = {"url": f"{place.service}/fhir/{place.record}", "searches": searches, "fields": fields}
    return ReadPath("fhir", final=False, where={**where, "token_file": str(place.token_file)})


READ_PATHS: Final[Mapping[str, Callable[[Place], ReadPath]]] = {"sql": by_sql, "rest": by_rest, "fhir": by_fhir}
"""Option ``read`` -> how the oracle reads."""
