"""A resource as a row: every change shows in exactly one column, and a save without a change in none."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.channels.failing import NoReading
from oracle.channels.fhir_rows import BOOKKEEPING, COLUMNS, ModelCheck, RowMaker, resource_of
from oracle.channels.json_paths import parse_path
from spec.canonical import Json, canonical_json

Resource = dict[str, Any]

ENCOUNTER: Resource = {
    "resourceType": "Encounter",
    "id": "e1",
    "meta": {"versionId": "3", "lastUpdated": "2026-01-31T12:00:00Z", "source": "#r1"},
    "status": "finished",
    "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB"},
    "subject": {"reference": "Patient/p1"},
    "reasonCode": [{"text": "cough"}, {"text": "fever"}],
}
FIELDS = {"status": parse_path("status"), "reason": parse_path("reasonCode[0].text"), "end": parse_path("period.end")}


def maker(*ignored: str) -> RowMaker:
    return RowMaker(FIELDS, [parse_path(path) for path in ignored])


def changed(path: tuple[Any, ...], value: Json) -> Resource:
    """The encounter with another value at a place."""
    resource = copy.deepcopy(ENCOUNTER)
    place: Any = resource
    for step in path[:-1]:
        place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
    place[path[-1]] = value
    return resource


def columns_changed(resource: Resource, *ignored: str) -> set[str]:
    one, other = maker(*ignored).row(ENCOUNTER), maker(*ignored).row(resource)
    assert list(one) == list(other) == [*COLUMNS, *FIELDS]
    return {column for column in one if one[column] != other[column]}


def test_a_row_has_its_fields_and_a_digest() -> None:
    """A field that is not there is null."""
    row = dict(maker().row(ENCOUNTER))
    assert str(row.pop("digest")).startswith("sha256:")
    assert row == {
        "id": "e1",
        "resourceType": "Encounter",
        "meta.versionId": "3",
        "meta.lastUpdated": "2026-01-31T12:00:00Z",
        "status": "finished",
        "reason": "cough",
        "end": None,
    }


@pytest.mark.parametrize(
    ("path", "value", "columns"),
    [
        (("status",), "planned", {"status"}),
        (("reasonCode", 0, "text"), "coughs", {"reason"}),
        (("period", "end"), "2026-02-01", {"end"}),
        (("reasonCode", 1, "text"), "chills", {"digest"}),
        (("reasonCode", 0, "id"), "x", {"digest"}),
        (("period", "start"), "2026-02-01", {"digest"}),
        (("subject", "reference"), "Patient/p2", {"digest"}),
        (("extension",), [{"url": "http://x", "valueString": "y"}], {"digest"}),
        (("meta", "source"), "#r2", {"digest"}),
        (("meta", "versionId"), "4", {"meta.versionId"}),
        (("meta", "lastUpdated"), "2026-02-01T00:00:00Z", {"meta.lastUpdated"}),
    ],
)
def test_a_change_shows_in_one_column(path: tuple[Any, ...], value: Json, columns: set[str]) -> None:
    """So a contract that licenses a field licenses nothing beside it, and a new version alone is bookkeeping."""
    assert columns_changed(changed(path, value)) == columns


def test_what_a_provider_excepts_is_bookkeeping() -> None:
    """A path that the server writes for itself shows nowhere."""
    assert columns_changed(changed(("meta", "source"), "#r2"), "meta.source") == set()


contents = st.recursive(
    st.sampled_from(["a", "b", 1, True]),
    lambda inner: st.dictionaries(st.sampled_from(["x", "y"]), inner, max_size=2) | st.lists(inner, max_size=2),
    max_leaves=5,
)
resources = st.fixed_dictionaries(
    {"resourceType": st.just("Basic"), "id": st.just("1")}, optional={"x": contents, "y": contents, "z": contents}
)
paths = st.lists(st.sampled_from(["x", "y", "x.x", "x[0]", "y.x[1]", "/z/y/x"]), max_size=3, unique=True)


@given(one=resources, other=resources, fields=paths)
def test_equal_rows_are_equal_resources(one: Resource, other: Resource, fields: list[str]) -> None:
    """Nothing in a resource can change without its row."""
    rows = RowMaker({f"field {path}": parse_path(path) for path in fields}, [])
    try:
        seen = canonical_json(rows.row(one)) == canonical_json(rows.row(other))
    except NoReading:
        return
    assert seen == (canonical_json(one) == canonical_json(other))


def test_a_path_that_does_not_fit_is_no_reading() -> None:
    """The reason names resource and path."""
    with pytest.raises(NoReading, match=r"^Encounter/e1: 'reasonCode.text': a list stands before 'text'"):
        RowMaker({"reason": parse_path("reasonCode.text")}, []).row(ENCOUNTER)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "an entry has no resource"),
        ([], "an entry has no resource"),
        ({"id": "1"}, "a resource has no resourceType"),
        ({"resourceType": "Patient"}, "a resource of type Patient has no id"),
        ({"resourceType": "Patient", "id": 1}, "a resource of type Patient has no id"),
        ({"resourceType": "Patient", "id": "1", "meta": {"tag": [{"code": "SUBSETTED"}]}}, "only a part of Patient/1"),
    ],
)
def test_what_is_no_whole_resource_is_no_reading(value: Json, reason: str) -> None:
    """A resource without a name, and one of which the server left something out."""
    with pytest.raises(NoReading, match=f"^{reason}"):
        resource_of(value)


def test_a_model_check_refuses_what_breaks_the_standard() -> None:
    """A resource without a required element does not fit, and the reason names the place."""
    check = ModelCheck()
    check.check(ENCOUNTER)
    check.check(ENCOUNTER)
    with pytest.raises(NoReading, match=r"^Encounter/e1 does not fit R4: "):
        check.check(changed(("period",), "yesterday"))
    broken = {name: value for name, value in ENCOUNTER.items() if name != "status"}
    for _ in range(2):
        with pytest.raises(NoReading, match=r"^Encounter/e1 does not fit R4: "):
            check.check(broken)


def test_a_type_without_a_model_is_not_checked() -> None:
    """R4B lacks a few types of R4; they pass."""
    ModelCheck().check({"resourceType": "MedicinalProduct", "id": "1", "anything": 1})


def test_the_bookkeeping_is_named() -> None:
    """These are the names for a provider's bookkeeping_fields."""
    assert set(BOOKKEEPING) < set(COLUMNS)
