"""Channel ``sql`` on a real PostgreSQL server, with the owner's login: what holds it to reading is its own doing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import anyio
import psycopg
import pytest

from oracle.base import ChannelContext, ReadFailed
from oracle.channels import sql
from oracle.channels.sql import SqlChannel
from oracle.channels.sql_dialects import Limits
from providers.postgres import EmbeddedServer, Login
from spec.canonical import Json
from spec.clock import SystemClock
from spec.reading import ReadPath, Tables

SCHEMA = """
CREATE TABLE patients (
    id serial PRIMARY KEY, name text, born date, active boolean, seen timestamptz, at timestamp, amount numeric(12, 2),
    ratio double precision, extra jsonb, tags text[], scan bytea, ref uuid
);
INSERT INTO patients (name, born, active, seen, at, amount, ratio, extra, tags, scan, ref) VALUES (
    'Ada', '1990-01-31', true, '2026-01-31 12:00+02', '2026-01-31 12:00', 12.50, 0.1, '{"a": [1, null]}',
    ARRAY['x', NULL], '\\x00ff', '00000000-0000-0000-0000-000000000001'
);
CREATE SCHEMA "Odd Name";
CREATE TABLE "Odd Name"."it's 100%" (id int, "a %s col" text);
INSERT INTO "Odd Name"."it's 100%" VALUES (1, 'x');
CREATE TABLE part (id int, kind text) PARTITION BY LIST (kind);
CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a');
INSERT INTO part VALUES (1, 'a');
CREATE TABLE parent (id int);
CREATE TABLE child () INHERITS (parent);
INSERT INTO child VALUES (1);
CREATE VIEW adults AS SELECT * FROM patients;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM patients;
"""
WHOLE: Tables = {
    "Odd Name.it's 100%": [{"id": 1, "a %s col": "x"}],
    "child": [{"id": 1}],
    "parent": [],
    "part": [{"id": 1, "kind": "a"}],
    "patients": [
        {
            "id": 1,
            "name": "Ada",
            "born": "1990-01-31",
            "active": True,
            "seen": "2026-01-31T10:00:00+00:00",
            "at": "2026-01-31T12:00:00",
            "amount": "12.50",
            "ratio": 0.1,
            "extra": {"a": [1, None]},
            "tags": ["x", None],
            "scan": "AP8=",
            "ref": "00000000-0000-0000-0000-000000000001",
        }
    ],
}


class Desk:
    """A record on the server, with its owner's login."""

    def __init__(self, login: Login, oracle: Login, database: str) -> None:
        self.login, self.oracle, self.database = login, oracle, database

    def run(self, statement: str) -> None:
        with psycopg.connect(**self.login.arguments(self.database), autocommit=True) as connection:
            connection.execute(statement)

    def path(self, **where: Json) -> ReadPath:
        return ReadPath("sql", False, {"url": self.login.url(self.database), "password_env": "PW", **where})

    def read(self, *paths: ReadPath, limits: Limits | None = None) -> Sequence[Tables | ReadFailed]:
        async def main() -> Sequence[Tables | ReadFailed]:
            context = ChannelContext(_fetch, SystemClock(), {"PW": str(self.login.password), "WRONG": "not-the-word"})
            channel = SqlChannel(context, limits or Limits())
            try:
                return await channel.read(paths)
            finally:
                await channel.close()

        return anyio.run(main)

    def reason(self, path: ReadPath, limits: Limits | None = None) -> str:
        (answer,) = self.read(path, limits=limits)
        assert isinstance(answer, ReadFailed), answer
        assert str(self.login.password) not in answer.reason
        return answer.reason

    def is_left_alone(self) -> bool:
        """Whether soon nobody is connected: a session that was closed needs a moment to be gone."""
        end_s = time.monotonic() + 5
        while (count := self.sessions()) and time.monotonic() < end_s:
            time.sleep(0.02)
        return not count

    def sessions(self) -> int:
        with psycopg.connect(**self.login.arguments(self.database)) as connection:
            (count,) = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()", [self.database]
            ).fetchone() or (0,)
        return int(count)


async def _fetch(worker: str, places: Sequence[int]) -> bytes:
    return b"{}"


@pytest.fixture
def desk(postgres_server: EmbeddedServer, postgres_database: str) -> Iterator[Desk]:
    made = Desk(postgres_server.logins.owner, postgres_server.logins.oracle, postgres_database)
    made.run(SCHEMA)
    yield made
    assert made.is_left_alone()


def test_the_whole_database_is_read(desk: Desk) -> None:
    """Every schema, every table once with its own rows, no view; each value as JSON."""
    assert desk.read(desk.path()) == [WHOLE]


def test_the_oracles_own_login_comes_from_a_private_file(desk: Desk) -> None:
    """The role that may only read logs in with the password file that its server wrote."""
    where = {"url": desk.oracle.url(desk.database), "password_file": str(desk.oracle.password_file)}
    (answer,) = desk.read(ReadPath("sql", False, {**where, "queries": {"t": "SELECT name FROM patients"}}))
    assert answer == {"t": [{"name": "Ada"}]}


def test_percent_signs_and_colons_are_left_alone(desk: Desk) -> None:
    """A query is the database's to read, and nobody else's."""
    wanted = {"t": "SELECT id, 'a:b' AS \"c%d\" FROM patients WHERE name LIKE 'A%' AND seen::date = '2026-01-31'"}
    assert desk.read(desk.path(queries=wanted)) == [{"t": [{"id": 1, "c%d": "a:b"}]}]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO part VALUES (9, 'a') RETURNING id",
        "UPDATE patients SET name = 'x'",
        "DELETE FROM patients",
        "TRUNCATE patients",
        "DROP TABLE patients",
        "CREATE TABLE mine (id int)",
        "SELECT * INTO mine FROM patients",
        "SELECT * FROM patients FOR UPDATE",
        "WITH gone AS (DELETE FROM patients RETURNING id) SELECT * FROM gone",
        "SELECT nextval('patients_id_seq')",
        "SELECT setval('patients_id_seq', 99)",
        "SELECT lo_create(0)",
        "SELECT 1; DELETE FROM patients",
        "COMMIT; SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE; DELETE FROM patients",
        "SET default_transaction_read_only = off",
        "SET TRANSACTION READ WRITE",
        "COMMIT",
        "COPY patients TO STDOUT",
        "DO $$ BEGIN DELETE FROM patients; END $$",
        "SELECT * FROM nowhere",
    ],
)
def test_what_is_no_reading_statement_is_refused_by_the_database(desk: Desk, statement: str) -> None:
    """The owner of everything cannot write through this channel, whatever the query tries; and no sequence moves."""
    assert "table 't'" in desk.reason(desk.path(queries={"t": statement}))
    assert desk.read(desk.path()) == [WHOLE]
    desk.run("INSERT INTO patients DEFAULT VALUES")
    (after,) = desk.read(desk.path(queries={"t": "SELECT max(id) AS id FROM patients"}))
    assert after == {"t": [{"id": 2}]}


@pytest.mark.parametrize(
    "first",
    [
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT set_config('default_transaction_read_only', 'off', false)",
    ],
)
def test_a_query_cannot_lift_the_mode_for_the_next(desk: Desk, first: str) -> None:
    """What a function of the server would switch off stays on, or is too late for this transaction."""
    function = "CREATE FUNCTION wipe() RETURNS int LANGUAGE sql AS 'DELETE FROM patients; SELECT 1'"
    desk.run(function)
    reason = desk.reason(desk.path(queries={"a": first, "b": "SELECT wipe()"}))
    assert "read-only" in reason or "read-write" in reason
    assert desk.read(desk.path()) == [WHOLE]


def test_one_reading_is_one_moment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write between two tables of a reading is in neither of them."""
    whole = sql._rows

    def rows_then_write(*arguments: Any) -> Any:
        found = whole(*arguments)
        desk.run("INSERT INTO patients DEFAULT VALUES; INSERT INTO part VALUES (2, 'a')")
        return found

    monkeypatch.setattr(sql, "_rows", rows_then_write)
    (found,) = desk.read(desk.path())
    assert found == WHOLE


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ({"password_env": "WRONG"}, "password authentication failed"),
        ({"queries": {"t": "SELECT 'NaN'::float8 AS x"}}, "the number nan cannot be read"),
        ({"queries": {"t": "SELECT 'NaN'::numeric AS x"}}, "the number NaN cannot be read"),
        ({"queries": {"t": "SELECT 1 AS x, 2 AS x"}}, "same name"),
    ],
)
def test_no_clean_reading_is_a_reason(desk: Desk, where: Mapping[str, Json], why: str) -> None:
    """Whatever keeps the record from being read is told in the server's words, without a password."""
    reason = desk.reason(desk.path(**where))
    assert why in reason
    assert "not-the-word" not in reason


def test_a_table_that_may_not_be_read_is_no_empty_one(desk: Desk) -> None:
    """A record of which a part is out of reach is no record."""
    desk.run("ALTER TABLE part OWNER TO CURRENT_USER; REVOKE ALL ON part FROM CURRENT_USER")
    assert "table 'part': permission denied" in desk.reason(desk.path())


def test_a_database_that_is_gone_is_a_reason(desk: Desk) -> None:
    """A trial's database that was dropped is not read as another one."""
    where = {"url": desk.login.url("to_never_there")}
    assert 'database "to_never_there" does not exist' in desk.reason(desk.path(**where))


@pytest.mark.parametrize(
    ("limits", "query"),
    [(Limits(statement_s=0.1), "SELECT pg_sleep(20)"), (Limits(reading_s=0.1), "SELECT pg_sleep(0.3)")],
)
def test_a_slow_statement_is_ended(desk: Desk, limits: Limits, query: str) -> None:
    """A statement that would hold the reading up is ended by the server, and a reading by its own time."""
    reason = desk.reason(desk.path(queries={"t": query}), limits)
    assert "statement timeout" in reason or "not read within" in reason


def test_a_lock_is_not_waited_for_without_end(desk: Desk) -> None:
    """A table that another session has locked is no reading, in time."""
    with psycopg.connect(**desk.login.arguments(desk.database)) as connection:
        connection.execute("LOCK TABLE patients")
        assert "lock timeout" in desk.reason(desk.path(), Limits(connect_s=0.1))


def test_readings_leave_no_session_behind(desk: Desk) -> None:
    """Many readings at once, failing ones among them, leave no connection to the server."""
    broken = desk.path(queries={"t": "SELECT 1/0"})
    answers = desk.read(*[broken if n % 3 == 0 else desk.path() for n in range(12)])
    assert [isinstance(answer, ReadFailed) for answer in answers] == [n % 3 == 0 for n in range(12)]
    assert desk.is_left_alone()


@pytest.mark.parametrize(
    ("kind", "stored", "read"),
    [
        ("char(5)", "'ab'", "ab"),
        ("char(3)[]", "ARRAY['a', 'bcd']", ["a", "bcd"]),
        ("json", """'{"a": 1, "a": 2}'""", '{"a": 1, "a": 2}'),
        ("jsonb", """'{"a": 12345678901234567890123}'""", {"a": "12345678901234567890123"}),
        ("jsonb", "'[0.12345678901234567891]'", ["0.12345678901234567891"]),
        ("interval", "'1 mon'", "P1M"),
        ("interval", "'30 days'", "P30D"),
        ("real", "0.1", 0.1),
        ("int8", "9007199254740993", 2**53 + 1),
        ("numeric", "0.10", "0.10"),
        ("int4range", "'[1,4)'", "[1,4)"),
    ],
)
def test_different_values_stay_different(desk: Desk, kind: str, stored: str, read: Json) -> None:
    """No value is rounded, padded or merged with another one, whatever the defaults of the database are."""
    desk.run(f"ALTER DATABASE {desk.database} SET extra_float_digits = -5")
    desk.run(f"CREATE TABLE kept (v {kind}); INSERT INTO kept VALUES ({stored})")
    assert desk.read(desk.path(queries={"kept": "SELECT v FROM kept"})) == [{"kept": [{"v": read}]}]


def test_rows_that_a_policy_hides_are_no_reading(desk: Desk) -> None:
    """A login that row security shows only some of the rows does not read the rest as missing."""
    desk.run(
        "CREATE TABLE guarded (id int); INSERT INTO guarded VALUES (1);"
        "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; ALTER TABLE guarded FORCE ROW LEVEL SECURITY"
    )
    assert "row-level security" in desk.reason(desk.path(queries={"guarded": "SELECT * FROM guarded"}))
