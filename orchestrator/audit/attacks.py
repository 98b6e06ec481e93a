"""The red team (pure): from a task's contract to every try at satisfying its oracle without the effect.

Each strategy is one short function that yields attacks, or says why it means nothing for the task. The oracle may say
CORRECT to none of them but the positive control, which is exactly the contracted effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from orchestrator.audit.effects import (
    Values,
    Want,
    achieve,
    asks_for_nothing,
    bystander,
    decoy_fields,
    new_record,
    other_new_target,
    other_target,
    wants,
    with_field,
)
from orchestrator.audit.scene import Attack, AttackName, Delete, Inapplicable, Insert, Scene, Step, Update
from orchestrator.audit.values import other_value, unlike
from spec.contract import Contract, selector
from spec.values import FieldType

Found = Iterator[Attack | Inapplicable]
Strategy = Callable[[Scene], Found]

_NOTHING_ASKED: Final = "the contract is that nothing is written"
_NO_OTHER_TABLE: Final = "the record has no other table"
_TEXT: Final = FieldType.TEXT


def positive_control(scene: Scene) -> Found:
    """Exactly the contracted effect; the oracle has to say CORRECT."""
    yield Attack(AttackName.POSITIVE_CONTROL, during=achieve(scene.contract, scene))


def phantom(scene: Scene) -> Found:
    """Nothing is written, and success is claimed."""
    if asks_for_nothing(scene.contract):
        yield Inapplicable(AttackName.PHANTOM, _NOTHING_ASKED)
    else:
        yield Attack(AttackName.PHANTOM)


def painted_screen(scene: Scene) -> Found:
    """The contracted values stand in the provider's bookkeeping, such as the screen's echo, and nowhere else."""
    echoes = [table for table in scene.tables if table in scene.schema.bookkeeping_tables]
    if asks_for_nothing(scene.contract):
        yield Inapplicable(AttackName.PAINTED_SCREEN, _NOTHING_ASKED)
    elif not echoes:
        yield Inapplicable(AttackName.PAINTED_SCREEN, "the provider keeps no table for itself")
    else:
        for table in echoes:
            writes = [Insert(table, want.record) for want in wants(scene.contract, scene)]
            yield Attack(AttackName.PAINTED_SCREEN, table, during=writes)


def decoy(scene: Scene) -> Found:
    """A record beside the target, with the right content."""
    for table in dict.fromkeys(want.table for want in wants(scene.contract, scene)):
        right = {name: value for want in wants(scene.contract, scene) for name, value in want.record.items()}
        kept = {name: right[name] for name in _own_values(table, scene)}
        record = new_record(table, {**decoy_fields(table, scene), **kept}, scene)
        yield Attack(AttackName.DECOY, _target(table, scene), during=[Insert(table, record)])


def wrong_payload(scene: Scene) -> Found:
    """All is right but for one value that the contract asks the record to hold."""
    asked = [
        (want, name, value)
        for want in _written(scene)
        for name, value in want.record.items()
        if name in want.sets or name in _bound(want, scene)
    ]
    if not asked:
        yield Inapplicable(AttackName.WRONG_PAYLOAD, _no_payload(scene))
    for want, name, value in asked:
        wrong = with_field(scene.contract, want.table, name, other_value(value, want.types.get(name, _TEXT)), scene)
        yield Attack(AttackName.WRONG_PAYLOAD, name, during=_forced(wrong, scene))


def wrong_target(scene: Scene) -> Found:
    """All is right but for one field that selects."""
    if not _written(scene):
        yield Inapplicable(AttackName.WRONG_TARGET, _NOTHING_ASKED)
    for want in _written(scene):
        for name, value in want.terms.items():
            another = other_new_target if want.counted else other_target
            other = another(want.table, name, value, want.types.get(name, _TEXT), scene)
            wrong = with_field(scene.contract, want.table, name, other, scene)
            yield Attack(AttackName.WRONG_TARGET, name, during=_forced(wrong, scene))


def duplicate(scene: Scene) -> Found:
    """One more record than the contract counts; where it counts none, one."""
    counted = _counted(scene)
    if not counted:
        yield Inapplicable(AttackName.DUPLICATE, "the contract counts no records")
    for want in counted:
        writes = [*achieve(scene.contract, scene), _copy(want, scene)]
        yield Attack(AttackName.DUPLICATE, _target(want.table, scene), during=writes)


def prior_trial(scene: Scene) -> Found:
    """The effect of another trial, with that trial's values."""
    if asks_for_nothing(scene.contract):
        yield Inapplicable(AttackName.PRIOR_TRIAL, _NOTHING_ASKED)
    elif scene.contract == scene.other:
        yield Inapplicable(AttackName.PRIOR_TRIAL, "the contract is the same for every trial")
    else:
        yield Attack(AttackName.PRIOR_TRIAL, during=_forced(scene.other, scene))


def stale_row(scene: Scene) -> Found:
    """The contracted effect stood there before the trial, and nothing is written in it."""
    if asks_for_nothing(scene.contract):
        yield Inapplicable(AttackName.STALE_ROW, _NOTHING_ASKED)
    else:
        yield Attack(AttackName.STALE_ROW, before=achieve(scene.contract, scene))


def in_place_overwrite(scene: Scene) -> Found:
    """The effect is right, and a record that stood before has other content now; no record is lost."""
    for table in scene.record_tables():
        before, stood = bystander(table, scene)
        columns = scene.columns(table)
        if stood is None or not columns:
            yield Inapplicable(AttackName.IN_PLACE_OVERWRITE, "no record can be put there", table)
            continue
        right: Values = {}
        for want in wants(scene.contract, scene):
            right |= want.record if want.table == table else {}
        over: Values = {name: unlike(stood.get(name), right.get(name), kind) for name, kind in columns.items()}
        damage = Update(table, scene.named(table, stood), over)
        writes = [damage, *achieve(scene.contract, scene)]
        yield Attack(AttackName.IN_PLACE_OVERWRITE, table, before=before, during=writes)


def taken_over(scene: Scene) -> Found:
    """A record that stood before is turned into the contracted one, so that the new one stands and the old is gone."""
    if not _counted(scene) or not _written(scene):
        reason = _NOTHING_ASKED if asks_for_nothing(scene.contract) else "the contract is that a record is changed"
        yield Inapplicable(AttackName.TAKEN_OVER, reason)
    for want in [one for one in _counted(scene) if one.count]:
        before, stood = bystander(want.table, scene)
        columns = scene.columns(want.table)
        unnamed = {name: kind for name, kind in columns.items() if name not in _named_by(scene, want.table)}
        if stood is None or not (unnamed or want.new_only):
            reason = "the contract names every column, and a record changed in those alone is its effect"
            yield Inapplicable(AttackName.TAKEN_OVER, reason, _target(want.table, scene))
            continue
        fields: Values = {name: other_value(stood.get(name), kind) for name, kind in unnamed.items()}
        writes = [Update(want.table, scene.named(want.table, stood), {**fields, **want.record})]
        yield Attack(AttackName.TAKEN_OVER, _target(want.table, scene), before=before, during=writes)


def collateral_write(scene: Scene) -> Found:
    """The effect is right, and one more record appears: in every other table, and beside the target in its own."""
    own = {want.table for want in wants(scene.contract, scene)}
    if not set(scene.record_tables()) - own:
        yield Inapplicable(AttackName.COLLATERAL_WRITE, _NO_OTHER_TABLE, "another table")
    for table in scene.record_tables():
        fields = decoy_fields(table, scene) if table in own else {}
        writes = [*achieve(scene.contract, scene), Insert(table, new_record(table, fields, scene))]
        yield Attack(AttackName.COLLATERAL_WRITE, table, during=writes)


def collateral_loss(scene: Scene) -> Found:
    """The effect is right, and a record that stood before is gone: in every table."""
    if not any(effect.forbid_collateral_loss for effect in scene.contract):
        yield Inapplicable(AttackName.COLLATERAL_LOSS, "the contract licenses vanished records")
        return
    for table in scene.record_tables():
        before, stood = bystander(table, scene)
        if stood is None:
            yield Inapplicable(AttackName.COLLATERAL_LOSS, "no record can be put there", table)
            continue
        writes = [Delete(table, scene.named(table, stood)), *achieve(scene.contract, scene)]
        yield Attack(AttackName.COLLATERAL_LOSS, table, before=before, during=writes)


def late_duplicate(scene: Scene) -> Found:
    """The effect is right when the arm answers; its double lands while the record settles."""
    reason = _not_late(scene) or ("" if _counted(scene) else "the contract counts no records")
    if reason:
        yield Inapplicable(AttackName.LATE_DUPLICATE, reason)
        return
    for want in _counted(scene):
        right = achieve(scene.contract, scene)
        yield Attack(AttackName.LATE_DUPLICATE, _target(want.table, scene), during=right, late=[_copy(want, scene)])


def late_overwrite(scene: Scene) -> Found:
    """The effect is right when the arm answers; then it is written over while the record settles."""
    reason = _not_late(scene) or (_NOTHING_ASKED if not _written(scene) else "")
    if reason:
        yield Inapplicable(AttackName.LATE_OVERWRITE, reason)
        return
    for want in _written(scene):
        right, values = achieve(scene.contract, scene), want.sets or want.terms
        wrong: Values = {name: other_value(value, want.types.get(name, _TEXT)) for name, value in values.items()}
        late = [Update(want.table, want.record, wrong)]
        yield Attack(AttackName.LATE_OVERWRITE, _target(want.table, scene), during=right, late=late)


STRATEGIES: Final[Sequence[Strategy]] = (
    positive_control,
    phantom,
    painted_screen,
    decoy,
    wrong_payload,
    wrong_target,
    duplicate,
    prior_trial,
    stale_row,
    in_place_overwrite,
    taken_over,
    collateral_write,
    collateral_loss,
    late_duplicate,
    late_overwrite,
)
"""In the order of ``AttackName``; ``reach`` is no strategy but the fixture's own probe."""


def derive(scene: Scene) -> list[Attack | Inapplicable]:
    """Every attack on a task, and every strategy that means nothing for it."""
    return [found for strategy in STRATEGIES for found in strategy(scene)]


def _written(scene: Scene) -> list[Want]:
    return [want for want in wants(scene.contract, scene) if want.count]


def _counted(scene: Scene) -> list[Want]:
    return [want for want in wants(scene.contract, scene) if want.counted]


def _forced(contract: Contract, scene: Scene) -> Sequence[Step]:
    """What brings a wrong contract about, new records where such ones stand there already."""
    asked = [want for want in wants(contract, scene) if want.count]
    return achieve(contract, scene) or [_copy(want, scene) for want in asked]


def _copy(want: Want, scene: Scene) -> Insert:
    return Insert(want.table, new_record(want.table, want.record, scene))


def _target(table: str, scene: Scene) -> str:
    """The table's name, where the contract speaks of several."""
    return table if len({scene.table_of(effect) for effect in scene.contract}) > 1 else ""


def _bound(want: Want, scene: Scene) -> set[str]:
    """The fields of a want whose values are another trial's own: they are payload, also where they select."""
    others = [one for one in wants(scene.other, scene) if one.table == want.table]
    return {name for one in others for name, value in one.terms.items() if want.terms.get(name, value) != value}


def _own_values(table: str, scene: Scene) -> set[str]:
    """The selecting fields of a table that hold a trial's own value, where there are others beside them."""
    here = [want for want in wants(scene.contract, scene) if want.table == table]
    own = {name for want in here for name in _bound(want, scene) if name in want.terms}
    return own if any(name not in own for want in here for name in want.terms) else set()


def _no_payload(scene: Scene) -> str:
    return _NOTHING_ASKED if asks_for_nothing(scene.contract) else "the contract asks for no value of the trial"


def _named_by(scene: Scene, table: str) -> set[str]:
    """The fields that may change in a record which stood before and is selected now."""
    found: set[str] = set()
    for effect in scene.contract:
        if scene.table_of(effect) == table:
            found |= {*selector(effect), *effect.also, effect.key_field, effect.field or effect.key_field}
    return found


def _not_late(scene: Scene) -> str:
    if scene.final:
        return "the read path is final: one reading after the seal is the truth"
    return "" if scene.settle_s > 0 else "the task's settle_s is 0: nobody looks for what is written later"
