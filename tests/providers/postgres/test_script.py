from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from providers.postgres import EmbeddedServer, run_script
from spec.errors import ConfigError, ProviderFault
from tests.providers.postgres.records import TABLES

SCRIPT = """-- a desk
CREATE TABLE ticket (id int PRIMARY KEY, title text);

COPY ticket (id, title) FROM stdin;
1\tone
2\ttwo
\\.
"""


def count(server: EmbeddedServer, database: str) -> int:
    with psycopg.connect(**server.logins.owner.arguments(database)) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        assert row is not None
        return int(row[0])


@pytest.mark.anyio
async def test_a_script_runs_whole(postgres_server: EmbeddedServer, postgres_database: str, tmp_path: Path) -> None:
    """A script with functions, quoted bodies and rows for COPY is run as it stands."""
    file = tmp_path / "seed.sql"
    file.write_text(f"{TABLES}\n{SCRIPT}")
    await run_script(file, postgres_server.logins.owner, postgres_database)
    assert count(postgres_server, postgres_database) == 7


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("more", "line", "says"),
    [
        ("INSERT INTO ticket VALUES\n  (1, 'again');\n", 9, "duplicate key"),
        ("SELECT 1 FRM x;\n", 8, "syntax error"),
        ("DELETE FROM nowhere;\n", 8, 'relation "nowhere" does not exist'),
    ],
)
async def test_a_failing_line_is_named(
    postgres_server: EmbeddedServer, postgres_database: str, tmp_path: Path, more: str, line: int, says: str
) -> None:
    """A statement that fails is named by file and line with the server's reason, and nothing of the script stays."""
    file = tmp_path / "seed.sql"
    file.write_text(SCRIPT + more)
    with pytest.raises(ConfigError, match=says) as caught:
        await run_script(file, postgres_server.logins.owner, postgres_database)
    assert (caught.value.file, caught.value.line) == (str(file), line)
    assert count(postgres_server, postgres_database) == 0


@pytest.mark.anyio
async def test_what_keeps_a_script_from_running_is_told(postgres_server: EmbeddedServer, tmp_path: Path) -> None:
    """A missing file, a wrong password and a script without an end each give one sentence, without the password."""
    owner, file = postgres_server.logins.owner, tmp_path / "seed.sql"
    with pytest.raises(ConfigError, match="cannot be read"):
        await run_script(file, owner, "postgres")
    file.write_text("SELECT pg_sleep(60);")
    with pytest.raises(ProviderFault, match=r"did not end within 0\.3 s"):
        await run_script(file, owner, "postgres", deadline_s=0.3)
    with pytest.raises(ProviderFault, match="password authentication failed") as caught:
        await run_script(file, replace(owner, password="wrong:word\\"), "postgres")
    assert "wrong" not in str(caught.value)
