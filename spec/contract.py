"""The contract language: what must be true of the record for a task to have succeeded.

A contract is a sequence of effects. An effect names records by a selector (``match``) and says how many of them
there must be (``record_written``) or what one of their fields must hold (``field_equals``). Values are literals or
parameters of the trial (``Param``); a contract is judged only after every parameter has been resolved.

Two hashes: ``contract_hash`` of one effect is the public one, kept compatible; ``contract_digest`` is ours and covers
all parts, types, licences and times.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import orjson

from spec.canonical import Json, JsonObject, content_digest


class EffectKind(StrEnum):
    """What an effect says about the records that it selects."""

    RECORD_WRITTEN = "record_written"
    FIELD_EQUALS = "field_equals"


class FieldType(StrEnum):
    """How a field's values are compared; ``spec.values`` has the rules."""

    TEXT = "text"
    INT = "int"
    FLOAT = "float"
    DECIMAL = "decimal"
    BOOL = "bool"
    DATETIME = "datetime"


class Risk(StrEnum):
    """How hard an effect is to take back."""

    REVERSIBLE = "reversible"
    IRREVERSIBLE = "irreversible"


@dataclass(frozen=True, slots=True)
class Param:
    """A value that each trial fills in from its own parameters."""

    name: str

    def __str__(self) -> str:
        """``{name}``, as the public hash writes it."""
        return "{" + self.name + "}"


Term = Json | Param


class UnresolvedParam(ValueError):
    """Raised when a contract names a parameter that the trial does not have."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One statement about the record.

    Attributes:
        kind: ``record_written`` counts records, ``field_equals`` reads a field back.
        match: the selector: field -> literal or parameter.
        field: the field that ``field_equals`` reads.
        value: what that field must hold.
        expected_count: how many records must match; 0 says that none may have been written.
        idempotency_key: one more term of the selector, on ``key_field``.
        key_field: the field that carries the idempotency key.
        count_new_only: count only records created since the baseline (``record_written`` only).
        forbid_collateral_loss: False licenses vanished records, and nothing else.
        risk: for readers of a report; no part of the judgement.
        probe: text for people; no part of the judgement.
        timeout_s: how long a live read path is polled for the contract to hold, in seconds.
        table: the table it speaks of; "" is the provider's main table.
        types: field -> type; a field that is not named is text.
        also: further expected values of the selected records, field -> literal or parameter.
    """

    kind: EffectKind
    match: Mapping[str, Term]
    field: str | None = None
    value: Term = None
    expected_count: int = 1
    idempotency_key: Term = None
    key_field: str = "key"
    count_new_only: bool = False
    forbid_collateral_loss: bool = True
    risk: Risk = Risk.IRREVERSIBLE
    probe: str = ""
    timeout_s: float = 5.0
    table: str = ""
    types: Mapping[str, FieldType] = dataclasses.field(default_factory=dict)
    also: Mapping[str, Term] = dataclasses.field(default_factory=dict)


Contract = tuple[Effect, ...]


def resolve(contract: Sequence[Effect], params: JsonObject) -> Contract:
    """The contract with every parameter replaced by the trial's value.

    Raises:
        UnresolvedParam: a parameter has no value; nothing ever compares as the empty text instead.
    """
    return tuple(_resolve_effect(effect, params) for effect in contract)


def unresolved(contract: Sequence[Effect], params: JsonObject) -> list[str]:
    """The names of all parameters that ``params`` does not fill, in order, each once."""
    names = [
        term.name
        for effect in contract
        for term in (*effect.match.values(), effect.value, effect.idempotency_key, *effect.also.values())
        if isinstance(term, Param) and term.name not in params
    ]
    return list(dict.fromkeys(names))


def _resolve_effect(effect: Effect, params: JsonObject) -> Effect:
    return dataclasses.replace(
        effect,
        match={name: _resolve_term(term, params) for name, term in effect.match.items()},
        value=_resolve_term(effect.value, params),
        idempotency_key=_resolve_term(effect.idempotency_key, params),
        also={name: _resolve_term(term, params) for name, term in effect.also.items()},
    )


def _resolve_term(term: Term, params: JsonObject) -> Json:
    if not isinstance(term, Param):
        return term
    if term.name not in params:
        raise UnresolvedParam(f"the contract needs the parameter {term.name!r}, which the trial does not have")
    return params[term.name]


def selector(effect: Effect) -> dict[str, Term]:
    """All terms that a record must satisfy to be one that the effect speaks of."""
    terms = dict(effect.match)
    if effect.idempotency_key is not None:
        terms[effect.key_field] = effect.idempotency_key
    return terms


_PUBLIC_JSON: Final = orjson.OPT_SORT_KEYS


def contract_hash(effect: Effect) -> str:
    """The public hash of one effect: ``sha256:`` over compact JSON with sorted keys.

    A literal prints as itself, a parameter as ``{name}``, an absent value is null; values of ``match`` are text.
    Source: the public implementation's format, SPEC.md section 4.
    """
    body: dict[str, Json] = {
        "kind": effect.kind.value,
        "match": {name: _public_text(term) for name, term in effect.match.items()},
        "field": effect.field,
        "value": _public_text(effect.value),
        "expected_count": effect.expected_count,
        "idempotency_key": _public_text(effect.idempotency_key),
        "key_field": effect.key_field,
        "forbid_collateral_loss": effect.forbid_collateral_loss,
    }
    if effect.count_new_only:
        body["count_new_only"] = True
    return "sha256:" + hashlib.sha256(orjson.dumps(body, option=_PUBLIC_JSON)).hexdigest()


def _public_text(term: Term) -> str | None:
    return None if term is None else str(term)


def contract_digest(contract: Sequence[Effect]) -> str:
    """Our own digest of a contract; covers every part, type, licence and time. Resume and audits use it."""
    return content_digest([effect_json(effect) for effect in contract])


def effect_json(effect: Effect) -> dict[str, Json]:
    """An effect as plain JSON; parameters become ``{"param": name}``."""
    body: dict[str, Json] = {f.name: getattr(effect, f.name) for f in dataclasses.fields(effect)}
    body["match"] = {name: _term_json(term) for name, term in effect.match.items()}
    body["also"] = {name: _term_json(term) for name, term in effect.also.items()}
    body["value"] = _term_json(effect.value)
    body["idempotency_key"] = _term_json(effect.idempotency_key)
    return body


def _term_json(term: Term) -> Json:
    return {"param": term.name} if isinstance(term, Param) else term
