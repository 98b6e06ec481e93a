"""Rows as FHIR R4 resources: one type a table of the record.

A resource says what its row says, right or wrong: what the application stored badly is to be seen. So resources are
made as plain JSON here, and the tests hold them against the models of FHIR.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

Row = Mapping[str, Any]
Resource = dict[str, Any]

DELETED_URL: Final = "urn:records:deleted-at"
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_ACT_CODES: Final = "http://terminology.hl7.org/CodeSystem/v3-ActCode"


def patient(row: Row) -> Resource:
    """A patient."""
    return {
        **_head("Patient", row),
        "identifier": [{"value": row["record_number"]}],
        "name": [{"text": row["name"]}],
        "birthDate": row["birth_date"],
        "managingOrganization": {"identifier": {"value": row["tenant"]}},
    }


def encounter(row: Row) -> Resource:
    """An encounter; one that is deleted is entered in error."""
    deleted = row["deleted_at"]
    resource = {
        **_head("Encounter", row),
        "status": "finished" if deleted is None else "entered-in-error",
        "class": {"system": _ACT_CODES, "code": "AMB"},
        "type": [{"text": row["type"]}],
        "subject": _patient(row),
        "serviceProvider": {"identifier": {"value": row["tenant"]}},
    }
    resource["meta"]["source"] = f"urn:records:{row['source']}"
    if deleted is not None:
        resource["extension"] = [{"url": DELETED_URL, "valueString": deleted}]
    if row["note"]:
        resource["reasonCode"] = [{"text": row["note"]}]
    if row["key"]:
        resource["identifier"] = [{"value": row["key"]}]
    if row["clinician"]:
        resource["participant"] = [{"individual": {"display": row["clinician"]}}]
    if row["seen_at"]:
        resource["period"] = {"start": row["seen_at"]}
    return resource


def observation(row: Row) -> Resource:
    """An observation; its value is the decimal that stands in the row, digit for digit."""
    value = row["value"]
    number = orjson.Fragment(value) if _NUMBER.fullmatch(value) else value
    return {
        **_head("Observation", row),
        "status": "final",
        "code": {"text": row["code"]},
        "subject": _patient(row),
        "encounter": {"reference": f"Encounter/{row['encounter_id']}"},
        "valueQuantity": {"value": number, "unit": row["unit"]},
    }


def charge_item(row: Row) -> Resource:
    """A bill."""
    return {
        **_head("ChargeItem", row),
        "status": "billable",
        "code": {"text": row["amount"]},
        "subject": _patient(row),
    }


def communication(row: Row) -> Resource:
    """A message in the outbox."""
    return {
        **_head("Communication", row),
        "status": "in-progress",
        "subject": _patient(row),
        "payload": [{"contentString": row["text"]}],
    }


MAKERS: Final[Mapping[str, tuple[str, Callable[[Row], Resource]]]] = {
    "Patient": ("patients", patient),
    "Encounter": ("encounters", encounter),
    "Observation": ("observations", observation),
    "ChargeItem": ("billing", charge_item),
    "Communication": ("outbox", communication),
}
"""Resource type -> its table, and what makes a resource of a row."""

FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "patients": {"name": "name[0].text", "birth_date": "birthDate", "record_number": "identifier[0].value"},
    "encounters": {
        "patient_id": "subject.identifier.value",
        "type": "type[0].text",
        "note": "reasonCode[0].text",
        "key": "identifier[0].value",
        "clinician": "participant[0].individual.display",
        "seen_at": "period.start",
        "tenant": "serviceProvider.identifier.value",
        "deleted_at": "extension[0].valueString",
    },
    "observations": {
        "patient_id": "subject.identifier.value",
        "code": "code.text",
        "value": "valueQuantity.value",
        "unit": "valueQuantity.unit",
    },
    "billing": {"patient_id": "subject.identifier.value", "amount": "code.text"},
    "outbox": {"patient_id": "subject.identifier.value", "text": "payload[0].contentString"},
}
"""Where the columns of a table are found in its resources."""


def _head(kind: str, row: Row) -> Resource:
    meta = {"lastUpdated": row["updated_at"]} if row.get("updated_at") else {}
    return (
        {"resourceType": kind, "id": str(row["id"]), "meta": meta}
        if meta
        else {
            "resourceType": kind,
            "id": str(row["id"]),
        }
    )


def _patient(row: Row) -> Resource:
    ident = row["patient_id"]
    return {"reference": f"Patient/{ident}", "identifier": {"value": ident}}
