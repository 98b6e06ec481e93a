"""A script is taken apart at the right places, and its parameters are those outside of quotes and comments."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from providers.declared.statements import statements

SCRIPT = """-- a comment; with :name and 'quote
CREATE TABLE a (x TEXT);

/* two
lines; */
INSERT INTO a VALUES (':no; ''still''', :yes, "a;b", 12::int, x'::y', $t$ ; :no $t$, 100 % 7);
CREATE TRIGGER t AFTER INSERT ON a BEGIN
  UPDATE a SET x = 1;
  DELETE FROM a;
END;
;
SELECT :a, :b, :a"""


def test_statements_begin_where_they_say() -> None:
    """Comments, quotes, dollar quotes and a trigger's body hold no end; what is empty is no statement."""
    found = list(statements(SCRIPT))
    assert [(one.line, one.params) for one in found] == [(2, ()), (6, ("yes",)), (7, ()), (12, ("a", "b"))]
    assert found[2].text.endswith("END;")


def test_a_driver_that_wants_percent_signs_gets_them() -> None:
    """Parameters become named ones and every other percent sign is doubled; quotes stay as they are."""
    (one,) = statements("SELECT ':a' || :a || '%' -- :b %")
    assert one.pyformat == "SELECT ':a' || %(a)s || '%%' -- :b %%"


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=5))
def test_texts_come_through_a_script(texts: list[str]) -> None:
    """Whatever stands in quotes, every statement is found and writes what it says."""
    quoted = ["'" + text.replace("'", "''") + "'" for text in texts]
    script = "CREATE TABLE a (x TEXT);\n" + "".join(f"INSERT INTO a VALUES ({text}); -- it's\n" for text in quoted)
    record = sqlite3.connect(":memory:")
    for one in statements(script):
        assert not one.params
        record.execute(one.text)
    assert [row[0] for row in record.execute("SELECT x FROM a ORDER BY rowid")] == texts
    record.close()
