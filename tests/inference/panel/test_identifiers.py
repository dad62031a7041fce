"""Identifiers of people and the token of the researcher: where they are, and how they are erased."""

from __future__ import annotations

import os
import sqlite3

import pytest
from made_up.panels import CHECK, arrive, take_part
from sqlalchemy.exc import DBAPIError

from conjury.inference.errors import InputError
from conjury.inference.panel.storage import opening
from conjury.inference.panel.storage.database_state import read_stored
from conjury.inference.panel.storage.forgetting import forget_everywhere


def test_forgetting_erases_identifiers_of_one_person_and_nothing_else(opened):
    visits = opened()
    for person in ("alice-secret", "bob-secret"):
        take_part(visits, arrive(visits, person))
    before = read_stored(visits._database)
    assert visits.forget("nobody") == 0
    assert visits.forget("alice-secret") == 1
    assert visits.forget("alice-secret") == 0
    after = read_stored(visits._database)
    for name in ("visits", "slots", "answers", "quotas"):
        assert getattr(before, name).equals(getattr(after, name))
    assert visits.step(arrive(visits, "bob-secret")).ended == "finished"


def test_a_forgotten_identifier_is_in_no_byte_of_the_file_or_its_log(alone, tmp_path):
    visits = alone()
    take_part(visits, arrive(visits, "alice-secret"))
    content = lambda: b"".join(path.read_bytes() for path in (tmp_path / "run").glob("panel.sqlite*"))  # noqa: E731
    assert b"alice-secret" in content()
    visits.forget("alice-secret")
    assert b"alice-secret" not in content()


def test_an_identifier_that_a_reader_keeps_in_the_log_is_not_reported_as_erased(alone, monkeypatch):
    monkeypatch.setattr(opening, "WAIT", 0.1)
    visits = alone()
    arrive(visits, "alice-secret")
    file = visits.plan.folder / "panel.sqlite"
    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM visits").fetchall()
    for erase in (visits.forget, lambda one: list(forget_everywhere(one, [file]))):
        with pytest.raises(InputError, match="its log may still contain them"):
            erase("alice-secret")
    reader.execute("COMMIT")
    with pytest.raises(InputError, match="the logs contain nothing erased"):
        list(forget_everywhere("alice-secret", [file]))
    assert not [path for path in file.parent.glob("panel.sqlite*") if b"alice-secret" in path.read_bytes()]
    reader.close()


def test_a_long_identifier_is_erased_as_it_was_stored(alone):
    visits = alone()
    arrive(visits, "x" * 300)
    file = visits.plan.folder / "panel.sqlite"
    assert list(forget_everywhere(" " + "x" * 300, [file])) == [(str(file), 1)]


def test_an_error_of_the_database_names_no_person(alone):
    visits = alone()
    with visits._database.engine.connect() as connection:
        connection.exec_driver_sql("DROP TABLE identifiers")
        connection.commit()
    with pytest.raises(DBAPIError) as error:
        visits.arrive({"PROLIFIC_PID": "alice-secret"}, {}, "en")
    assert "INSERT" in str(error.value) or "SELECT" in str(error.value)
    assert "alice-secret" not in str(error.value)


@pytest.mark.long
def test_identifiers_are_in_a_table_of_their_own_and_in_no_table_that_comes_out(alone, tmp_path):
    visits = alone(panel={"attention": [CHECK]})
    names = {"PROLIFIC_PID": "alice-secret", "STUDY_ID": "study-secret", "SESSION_ID": "session-secret"}
    visit = visits.arrive({**names, "other": "dropped-secret"}, {}, "en")
    take_part(visits, visit)
    for table in vars(visits.tables()).values():
        text = table.to_csv()
        assert "secret" not in text
        assert visit not in text
    with sqlite3.connect(tmp_path / "run" / "panel.sqlite") as plain:
        tables = [name for (name,) in plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        holding = [
            name for name in tables if "secret" in str(plain.execute(f"SELECT * FROM {name}").fetchall())
        ]
        stored = plain.execute("SELECT name FROM identifiers").fetchall()
    assert holding == ["identifiers"]
    assert sorted(name for (name,) in stored) == sorted(names)


def test_the_token_of_the_researcher_is_made_once_and_stored_as_a_hash(opened, tmp_path):
    visits = opened()
    assert not visits.is_researcher("")
    token = visits.researcher_token()
    assert visits.researcher_token() is None
    assert visits.is_researcher(token)
    assert not visits.is_researcher(token[:-1])
    assert not visits.is_researcher("ñ")
    for path in tmp_path.glob("people.sqlite*"):
        assert token.encode() not in path.read_bytes()


def test_only_the_owner_may_read_the_file_of_a_panel(alone, tmp_path):
    visits = alone()
    take_part(visits, arrive(visits))
    for path in (tmp_path / "run").glob("panel.sqlite*"):
        assert os.stat(path).st_mode & 0o077 == 0
