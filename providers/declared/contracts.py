"""From the contract of a declaration to effects that can be judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from providers.declared.model import EffectTable
from providers.declared.reading import Problem
from providers.declared.templates import fill, names_in, whole_name
from spec.canonical import Json
from spec.contract import Contract, Effect, Param, Term
from spec.toml_lines import Place


def effects(tables: Sequence[EffectTable]) -> Contract:
    """The contract; ``"{name}"`` became a parameter, doubled braces single ones."""
    return tuple(_effect(table) for table in tables)


def term_problems(table: EffectTable, place: Place, params: Sequence[str]) -> Iterator[Problem]:
    """Values that are neither a literal nor one whole parameter, and parameters that the task does not have.

    Args:
        table: one effect.
        place: where it stands.
        params: the names that the task has.
    """
    for where, value in _terms(table):
        names = names_in(value)
        if names and whole_name(value) is None:
            message = "must be a literal or one whole parameter"
            yield Problem((*place, *where), message, 'make the whole text a parameter: { text = "..." }')
        else:
            for name in names:
                if name not in params:
                    known = ", ".join(params) or "none"
                    message = f"names the parameter {name!r}, which the task does not have"
                    yield Problem((*place, *where), message, f"its parameters: {known}")


def _terms(table: EffectTable) -> Iterator[tuple[Place, Json]]:
    for key, terms in (("match", table.match), ("also", table.also)):
        for name, value in terms.items():
            yield (key, name), value
    yield ("value",), table.value
    yield ("idempotency_key",), table.idempotency_key


def _effect(table: EffectTable) -> Effect:
    return Effect(
        kind=table.kind,
        match=_resolved(table.match),
        field=table.field,
        value=_term(table.value),
        expected_count=table.expected_count,
        idempotency_key=_term(table.idempotency_key),
        key_field=table.key_field,
        count_new_only=table.count_new_only,
        forbid_collateral_loss=table.forbid_collateral_loss,
        risk=table.risk,
        probe=table.probe,
        timeout_s=table.timeout_s,
        table=table.table,
        types=dict(table.types),
        also=_resolved(table.also),
    )


def _resolved(terms: Mapping[str, Json]) -> dict[str, Term]:
    return {name: _term(value) for name, value in terms.items()}


def _term(value: Json) -> Term:
    name = whole_name(value)
    return fill(value, {}) if name is None else Param(name)
