"""The way around the client, for an audit of the oracle: it writes straight into the store.

Its probe plays an agent that looks for the record: it puts a value into the record that no screen can know, calls
every tool with every argument that the tools themselves answered, and looks whether that value comes back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Final

from providers.mockmed.environment import MockMedEnvironment
from providers.mockmed.store import FIELDS, SCHEMA, Store
from spec.canonical import Json, JsonObject, canonical_json
from spec.environment import Tool, ToolError
from spec.errors import ProviderFault
from spec.reading import Record

_MARK: Final = "only-the-record-knows-this"
_ROUNDS: Final = 2
"""The second round uses what the first one was told: names of patients and drafts."""
_VALUES_MAX: Final = 32
_CALLS_MAX: Final = 256


class StoreBackDoor:
    """Writes to the store of one fixture (``providers.base.BackDoor``).

    Args:
        store: the record.
        environment: what an arm of this fixture would act in.
    """

    __slots__ = ("_environment", "_store")

    def __init__(self, store: Store, environment: MockMedEnvironment) -> None:
        self._store, self._environment = store, environment

    async def tables(self) -> Sequence[str]:
        """The one table that there is."""
        return (SCHEMA.main_table,)

    async def insert(self, table: str, record: JsonObject) -> None:
        """Add a row with the next id.

        Raises:
            ProviderFault: there is no such table.
        """
        _check(table)
        self._store.insert(_known(record))

    async def update(self, table: str, match: JsonObject, fields: JsonObject) -> int:
        """Change fields in place in every row that has all of ``match``.

        Raises:
            ProviderFault: there is no such table.
        """
        _check(table)
        rows, changed = self._store.rows, _known(fields)
        self._store.rows = tuple({**row, **changed} if _has(row, match) else row for row in rows)
        return sum(_has(row, match) for row in rows)

    async def delete(self, table: str, match: JsonObject) -> int:
        """Remove every row that has all of ``match``.

        Raises:
            ProviderFault: there is no such table.
        """
        _check(table)
        rows = self._store.rows
        self._store.rows = tuple(row for row in rows if not _has(row, match))
        return len(rows) - len(self._store.rows)

    async def reach(self) -> Sequence[str]:
        """Whether any tool, or any other part of the environment that an arm gets, tells what stands in the record."""
        await self.insert(SCHEMA.main_table, {"patient_id": _MARK, "type": _MARK, "note": _MARK, "key": _MARK})
        told: list[Json] = ["", SCHEMA.main_table]
        found: dict[str, None] = {}
        for _ in range(_ROUNDS):
            values = list(islice(dict.fromkeys(text for answer in told for text in _texts(answer)), _VALUES_MAX))
            for tool in self._environment.tools:
                for arguments in islice(_arguments(tool, values), _CALLS_MAX):
                    answer = await self._answer(tool, arguments)
                    if _MARK.encode() in canonical_json(answer) and _MARK not in arguments.values():
                        found[f"the tool {tool.name} tells what stands in the record"] = None
                    told.append(answer)
        return list(found)

    async def _answer(self, tool: Tool, arguments: JsonObject) -> Json:
        try:
            return await self._environment.call(tool.name, arguments)
        except ToolError as refusal:
            return str(refusal)


def _check(table: str) -> None:
    if table != SCHEMA.main_table:
        raise ProviderFault(f"mockmed has no table {table!r}")


def _known(record: JsonObject) -> Record:
    return {name: value for name, value in record.items() if name in FIELDS}


def _has(row: Record, match: JsonObject) -> bool:
    return all(row.get(name) == value for name, value in match.items())


def _arguments(tool: Tool, values: Sequence[str]) -> Iterator[JsonObject]:
    """The required arguments of a tool with every value in every place."""
    required = tool.parameters.get("required")
    names = [str(name) for name in required] if isinstance(required, list) else []
    for chosen in product(values, repeat=len(names)):
        yield dict(zip(names, chosen, strict=True))


def _texts(answer: Json) -> Iterator[str]:
    """Every short text in what a tool answered."""
    if isinstance(answer, str):
        yield answer[:_VALUES_MAX]
    elif isinstance(answer, dict):
        for value in answer.values():
            yield from _texts(value)
    elif isinstance(answer, list | tuple):
        for value in answer:
            yield from _texts(value)
