from __future__ import annotations

from orchestrator.config.problems import Origin, Problem, key_text, known_keys, look


def test_a_key_is_written_as_on_the_command_line() -> None:
    """Arms stand by their names, list elements by their index, odd names in quotes, and no key is endless."""
    document = {"arms": [{"name": "a"}, {"name": 3}, 4]}
    assert key_text(document, ("arms", 0, "options", "x y", 1)) == 'arms.a.options."x y"[1]'
    assert key_text(document, ("arms", 1, "name")) == "arms[1].name"
    assert key_text(document, ("arms", 2)) == "arms[2]"
    assert len(key_text({}, ("k" * 1000,))) < 200


def test_looking_past_the_end_finds_nothing() -> None:
    """A place that is not there is None."""
    document = {"a": [{"b": 1}]}
    assert look(document, ("a", 0, "b")) == 1
    assert [look(document, place) for place in (("a", 1), ("a", "b"), ("c",), ("a", 0, "b", "c"))] == [None] * 4


def test_known_keys_are_those_of_the_table() -> None:
    """Each table has its own; options take any."""
    assert "trials" in known_keys(("run",))
    assert "in_flight" in known_keys(("arms", 0))
    assert known_keys(()) == ["format", "run", "engine", "oracle", "provider", "arms", "limits", "artifacts"]
    assert known_keys(("provider", "options")) == []


def test_errors_are_in_the_files_order_and_the_command_lines_last() -> None:
    """A reader meets them as in the file."""
    origin = Origin("f.toml", "a = 1\nb = 2\n", {"a": 1, "b": 2, "c": 3}, [("c",)])
    problems = [Problem(("c",), "x"), Problem(("b",), "x"), Problem(("a",), "x"), Problem((), "x", by_command=True)]
    found = [(error.file, error.line, error.key) for error in origin.errors(problems).errors]
    assert found == [("f.toml", 1, "a"), ("f.toml", 2, "b"), ("", None, "c"), ("", None, "")]
