"""A small record in PostgreSQL for the tests: keys, references, triggers, sequences, generated columns, partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import psycopg

from providers.postgres import Login
from providers.postgres.databases import connect

TABLES: Final = """
CREATE SEQUENCE alone START 50;
CREATE SCHEMA "Odd Name";
CREATE TABLE patient (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL,
    loud text GENERATED ALWAYS AS (upper(name)) STORED, number bigint DEFAULT nextval('alone')
);
CREATE TABLE encounter (
    id serial PRIMARY KEY, patient int REFERENCES patient, note text UNIQUE, at timestamptz DEFAULT clock_timestamp(),
    amount numeric(12, 2), blob bytea, tags text[]
);
CREATE TABLE "Odd Name"."it's a table" (id serial PRIMARY KEY, "a col" text);
CREATE TABLE part (id int, kind text) PARTITION BY LIST (kind);
CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a');
CREATE TABLE empty (id serial PRIMARY KEY);
CREATE TABLE log (id bigserial PRIMARY KEY, what text);
CREATE FUNCTION logged() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO log (what) VALUES (TG_OP || ' ' || NEW.note); NEW.note := NEW.note || '!'; RETURN NEW; END $$;
CREATE TRIGGER note_is_logged BEFORE INSERT ON encounter FOR EACH ROW EXECUTE FUNCTION logged();
CREATE VIEW loud AS SELECT loud FROM patient;
CREATE MATERIALIZED VIEW many AS SELECT count(*) FROM patient;
INSERT INTO patient (name) SELECT 'p' || i FROM generate_series(1, 5) i;
INSERT INTO encounter (patient, note, amount, blob, tags)
    SELECT i, E'tab\\t back\\\\ line\\n ' || random(), i / 3.0, '\\x00ff', ARRAY['a', NULL, '']
    FROM generate_series(1, 5) i;
INSERT INTO encounter (note) VALUES (NULL);
DELETE FROM encounter WHERE id = 3;
INSERT INTO "Odd Name"."it's a table" ("a col") VALUES ('x');
INSERT INTO part VALUES (1, 'a');
REFRESH MATERIALIZED VIEW many;
SELECT nextval('alone');
"""

MESS: Final = """
INSERT INTO patient (name) VALUES ('new');
UPDATE patient SET name = 'changed' WHERE id = 2;
INSERT INTO encounter (patient, note) VALUES (1, 'mine'), (2, 'other');
DELETE FROM encounter WHERE id = 1;
DELETE FROM "Odd Name"."it's a table";
INSERT INTO part VALUES (2, 'a');
INSERT INTO empty DEFAULT VALUES;
SELECT nextval('alone'), nextval('log_id_seq');
"""


async def build(login: Login, database: str) -> None:
    """Make the record in an empty database."""
    async with await connect(login, database) as connection:
        await connection.execute(TABLES)


def contents(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Every row of every table, and where every sequence stands."""
    with psycopg.connect(**arguments) as connection:
        found: dict[str, object] = {}
        relations = connection.execute(
            "SELECT oid::regclass::text, relkind::text FROM pg_class WHERE relnamespace IN"
            " ('public'::regnamespace, '\"Odd Name\"'::regnamespace) AND relkind IN ('r', 'S', 'm') ORDER BY 1"
        ).fetchall()
        for name, kind in relations:
            columns = "last_value, is_called" if kind == "S" else "t::text"
            found[name] = connection.execute(f"SELECT {columns} FROM {name} t ORDER BY 1").fetchall()
    return found
