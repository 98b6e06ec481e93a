"""The contract language: what must be true of the record for a task to have succeeded.

A contract is a sequence of effects. An effect names records by a selector (``match``) and says how many of them
there must be (``record_written``) or what one of their fields must hold (``field_equals``). Values are literals or
parameters of the trial (``Param``); a contract is judged only after every parameter has been resolved.

Two hashes: ``contract_hash`` of one effect is the public one, kept compatible; ``contract_digest`` is ours and covers
all parts, types, licences and times.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from spec.canonical import Json, JsonObject, canonical_json, content_digest, digest_bytes
from spec.reading import RecordSchema
from spec.values import FieldType as FieldType
from spec.values import reads_as, show


class EffectKind(StrEnum):
    """What an effect says about the records that it selects."""

    RECORD_WRITTEN = "record_written"
    FIELD_EQUALS = "field_equals"


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


def contract_problems(contract: Sequence[Effect], schema: RecordSchema | None = None) -> list[str]:
    """Everything that is wrong with an authored contract; empty where it can be judged.

    Checked when the plan is made, so that no trial is spent on a contract that means nothing or cannot be met.

    Args:
        contract: as authored, parameters unresolved.
        schema: where given, no effect may speak of what the provider keeps for itself.
    """
    problems = [] if contract else ["a contract needs at least one effect"]
    for place, effect in enumerate(contract, start=1):
        found = [*_shape_problems(effect), *_number_problems(effect), *_literal_problems(effect)]
        if schema is not None:
            found += _bookkeeping_problems(effect, schema)
        problems += [f"effect {place}: {problem}" for problem in found]
    return problems + _type_conflicts(contract)


def _type_conflicts(contract: Sequence[Effect]) -> list[str]:
    """A field of a table has one type: the baseline is compared once for all effects."""
    declared: dict[tuple[str, str], set[FieldType]] = {}
    for effect in contract:
        for name, kind in effect.types.items():
            declared.setdefault((effect.table, name), set()).add(kind)
    return [
        f"field {name!r} is declared as {' and as '.join(sorted(kinds))}"
        for (_, name), kinds in declared.items()
        if len(kinds) > 1
    ]


def _shape_problems(effect: Effect) -> list[str]:
    """Parts that are missing, or that this kind of effect would silently ignore."""
    problems = [] if effect.match else ["match is empty, so it would select every record"]
    if effect.kind is EffectKind.FIELD_EQUALS:
        if not effect.field:
            problems.append("field_equals needs a field")
        elif effect.field in selector(effect):
            problems.append(f"field_equals reads {effect.field!r}, which its own selector fixes already")
        if effect.count_new_only:
            problems.append("count_new_only belongs to record_written")
    elif effect.field is not None or effect.value is not None:
        problems.append("field and value belong to field_equals")
    if effect.idempotency_key is not None and effect.key_field in effect.match:
        problems.append(f"match and the idempotency key both fix {effect.key_field!r}")
    if "" in (*effect.match, *effect.also, effect.key_field):
        problems.append("a field has an empty name")
    return problems


def _number_problems(effect: Effect) -> list[str]:
    problems = []
    if type(effect.expected_count) is not int or effect.expected_count < 0:
        problems.append(f"expected_count must be a count, not {effect.expected_count!r}")
    if isinstance(effect.timeout_s, bool) or not math.isfinite(effect.timeout_s) or effect.timeout_s < 0:
        problems.append(f"timeout_s must be a finite number of seconds from 0, not {effect.timeout_s!r}")
    return problems


def _literal_problems(effect: Effect) -> list[str]:
    """Literals that no record can equal: NaN, or what does not read as the field's type."""
    terms = [*selector(effect).items(), *effect.also.items()]
    if effect.field:
        terms.append((effect.field, effect.value))
    return [
        f"{name!r} can never equal {show(term)} as {effect.types.get(name, FieldType.TEXT).value}"
        for name, term in terms
        if not isinstance(term, Param) and not reads_as(term, effect.types.get(name, FieldType.TEXT))
    ]


def _bookkeeping_problems(effect: Effect, schema: RecordSchema) -> list[str]:
    """A change that is always licensed cannot be asked for: it would go unseen."""
    problems = []
    if effect.table in schema.bookkeeping_tables:
        problems.append(f"table {effect.table!r} is the system's own bookkeeping")
    problems += [
        f"field {name!r} is the system's own bookkeeping"
        for name in (effect.field, *effect.also)
        if name in schema.bookkeeping_fields
    ]
    return problems


_NO_PARAMS: Final[JsonObject] = {}


def contract_hash(effect: Effect, params: JsonObject = _NO_PARAMS) -> str:
    """The public hash of one effect: ``sha256:`` over compact JSON with sorted keys.

    A literal prints as itself, a parameter that ``params`` does not fill as ``{name}``, an absent value is null;
    values of ``match`` are text. So ``contract_hash(effect, params)`` is the hash of the resolved effect.
    Source: the public implementation's format, SPEC.md section 4.
    """
    body: dict[str, Json] = {
        "kind": effect.kind,
        "match": {name: _public_text(term, params) for name, term in effect.match.items()},
        "field": effect.field,
        "value": _public_text(effect.value, params),
        "expected_count": effect.expected_count,
        "idempotency_key": _public_text(effect.idempotency_key, params),
        "key_field": effect.key_field,
        "forbid_collateral_loss": effect.forbid_collateral_loss,
    }
    if effect.count_new_only:
        body["count_new_only"] = True
    return digest_bytes(canonical_json(body))


def _public_text(term: Term, params: JsonObject) -> str | None:
    if isinstance(term, Param) and term.name in params:
        term = params[term.name]
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
