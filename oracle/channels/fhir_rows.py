"""A FHIR resource as a row: its name, the fields that are asked for, and a digest of everything else.

The columns of every row are ``id``, ``resourceType``, ``digest``, and the server's own bookkeeping ``meta.versionId``
and ``meta.lastUpdated``; then one column a declared field. The digest covers the whole resource without its declared
fields and without bookkeeping. So any change anywhere shows in exactly one place: in its field where there is one, else
in ``digest``; and a resource that was saved again as it was has the same row, versions aside.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from fhir.resources.R4B import get_fhir_model_class
from pydantic import ValidationError

from oracle.channels.failing import NoReading
from oracle.channels.json_paths import Path, WrongPath, find, tree_of, without
from spec.canonical import Json, JsonObject, content_digest
from spec.reading import Record

BOOKKEEPING: Final = ("meta.versionId", "meta.lastUpdated")
COLUMNS: Final = ("id", "resourceType", "digest", *BOOKKEEPING)
KNOWN_GOOD_MAX: Final = 100_000
"""Digests of resources that were found to fit their model; some 15 MB."""

_BOOKKEEPING_PATHS: Final = tuple(tuple(name.split(".")) for name in BOOKKEEPING)
_SUBSETTED: Final = "SUBSETTED"


class RowMaker:
    """Makes the rows of one table.

    Args:
        fields: column -> path into the resource.
        ignored: paths that are bookkeeping besides version and date.
    """

    def __init__(self, fields: Mapping[str, Path], ignored: Sequence[Path]) -> None:
        self._fields = dict(fields)
        self._rest = tree_of([*fields.values(), *ignored, *_BOOKKEEPING_PATHS])

    def row(self, resource: JsonObject) -> Record:
        """The row of a resource.

        Raises:
            NoReading: a path does not fit the resource.
        """
        try:
            fields = {column: find(resource, path) for column, path in self._fields.items()}
            rest = without(resource, self._rest)
            version, date = (find(resource, path) for path in _BOOKKEEPING_PATHS)
        except WrongPath as error:
            raise NoReading(f"{name_of(resource)}: {error}") from None
        named = (resource["id"], resource["resourceType"], content_digest(rest), version, date)
        return {**dict(zip(COLUMNS, named, strict=True)), **fields}


class ModelCheck:
    """Checks resources against the models of FHIR R4B, each content once.

    A check takes some 0.15 ms, three times what reading takes; so what was found good is remembered by its digest, and
    a record of which little changes costs little. A resource type of R4 that R4B no longer has is not checked.
    """

    def __init__(self) -> None:
        self._good: OrderedDict[str, None] = OrderedDict()

    def check(self, resource: JsonObject) -> None:
        """Pass a resource that fits its model.

        Raises:
            NoReading: it does not.
        """
        digest = content_digest(resource)
        if digest in self._good:
            self._good.move_to_end(digest)
            return
        try:
            model = get_fhir_model_class(str(resource["resourceType"]))
        except ValueError:  # no type of R4B
            return
        try:
            model.model_validate(resource)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(str(step) for step in first["loc"])
            raise NoReading(f"{name_of(resource)} does not fit R4: {place}: {first['msg']}") from None
        self._good[digest] = None
        if len(self._good) > KNOWN_GOOD_MAX:
            self._good.popitem(last=False)


def resource_of(value: Json) -> JsonObject:
    """A JSON value that is a whole resource with a name.

    Raises:
        NoReading: it is none, or only a part of one.
    """
    if not isinstance(value, dict):
        raise NoReading("an entry has no resource")
    kind, ident = value.get("resourceType"), value.get("id")
    if type(kind) is not str or not kind:
        raise NoReading("a resource has no resourceType")
    if type(ident) is not str or not ident:
        raise NoReading(f"a resource of type {kind} has no id")
    if _is_subset(value.get("meta")):
        raise NoReading(f"only a part of {name_of(value)} came, by its tag {_SUBSETTED}")
    return value


def name_of(resource: JsonObject) -> str:
    """``Encounter/e1``."""
    return f"{resource.get('resourceType')}/{resource.get('id')}"


def _is_subset(meta: Json) -> bool:
    tags = meta.get("tag") if isinstance(meta, dict) else None
    return isinstance(tags, list) and any(isinstance(tag, dict) and tag.get("code") == _SUBSETTED for tag in tags)
