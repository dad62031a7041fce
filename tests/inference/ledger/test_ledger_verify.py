from __future__ import annotations

import hashlib
import shutil
import sqlite3
from pathlib import Path

import pytest
from cases import cases
from fakes.ledgers import answer, as_first_version, everything, make_requests

from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Attempt, Outcome

IMAGE = b"\x89PNG" * 100


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        ledger.put_media(hashlib.sha256(IMAGE).hexdigest(), "image/png", IMAGE)
        requests = [*ledger.pending(make_requests(40)), *ledger.pending(make_requests(40, prompt="q"))]
        keys = [request.key for request in requests]
        for key in keys[:50]:
            ledger.record(Outcome(key, answer(key)))
        ledger.record(Outcome(keys[50], kind="server", error="down", attempts=(Attempt(500, "down", 1),)))
        ledger.record(Outcome(keys[51], kind="invalid_response", error="cut", refused_body=b"{"))
        ledger.plan_batch("shard", "m", keys[60:70], "")
        ledger.record(Outcome(keys[60], answer(), batch="shard"))
        ledger.flush()
        ledger.ask_again(keys[:1])
        ledger.set("inputs", {"judges": {"m": {}}})
    return path


def problems_of(path: Path) -> list[str]:
    with Ledger.open(path, write=False) as ledger:
        return ledger.problems()


def damage(path: Path, folder: Path, *commands: str) -> list[str]:
    copy = Path(shutil.copyfile(path, folder / "copy.sqlite"))
    for command in commands:
        db = sqlite3.connect(copy)
        db.execute("PRAGMA writable_schema = ON")
        assert db.execute(command).rowcount != 0
        db.commit()
        db.close()
    return problems_of(copy)


CHANGED = "what is stored of it was changed"


@pytest.mark.parametrize(("command", "problem"), cases(__file__, "damage"))
def test_damage_is_found_and_named(filled, tmp_path, command, problem):
    problems = damage(filled, tmp_path, command)
    assert any(problem in sentence for sentence in problems), problems
    assert all(sentence.endswith(".") for sentence in problems)


@pytest.mark.parametrize("command", cases(__file__, "unusable"))
def test_a_damaged_ledger_is_not_used(filled, tmp_path, command):
    damage(filled, tmp_path, command)
    refused = pytest.raises(InputError, match="is damaged, so its answers are not used")
    with Ledger.open(tmp_path / "copy.sqlite", write=False) as ledger, refused:
        ledger.require_whole()


def test_an_index_that_lost_a_row_is_found_and_a_sound_ledger_has_no_problems(filled, tmp_path):
    assert damage(filled, tmp_path) == []
    index = "CREATE INDEX attempts_by_request ON attempts (request)"
    define = "UPDATE sqlite_master SET sql = '{}' WHERE name = 'attempts_by_request'"
    row = (
        "INSERT INTO attempts (request, round, kind, status, error, seconds, batch, created) "
        "VALUES (1, 1, '', 0, '', 0, '', 0)"
    )
    problems = damage(filled, tmp_path, define.format(f"{index} WHERE id < 0"), row, define.format(index))
    assert any("SQLite finds the file damaged" in problem for problem in problems), problems


def test_many_problems_of_a_sort_are_cut_short(filled, tmp_path):
    problems = damage(filled, tmp_path, "UPDATE responses SET body = substr(body, 2)")
    assert len(problems) == 21
    assert problems[-1] == "And 31 more like the last one."


def test_flipped_bits_anywhere_in_stored_bodies_are_found(filled, tmp_path):
    db = sqlite3.connect(filled)
    (blob,) = db.execute("SELECT body FROM responses WHERE id = 20").fetchone()
    db.close()
    start = filled.read_bytes().find(blob)
    for offset in (0, len(blob) // 2, len(blob) - 1):
        flipped = bytearray(filled.read_bytes())
        flipped[start + offset] ^= 0x10
        copy = tmp_path / "flipped.sqlite"
        copy.write_bytes(flipped)
        assert any("response 20" in problem for problem in problems_of(copy))


def test_the_answer_of_another_request_is_found(filled, tmp_path):
    other = "SELECT body, digest FROM responses b WHERE b.id = 8"
    [problem] = damage(filled, tmp_path, f"UPDATE responses SET (body, digest) = ({other}) WHERE id = 7")
    assert CHANGED in problem
    with Ledger.open(tmp_path / "copy.sqlite", write=False) as ledger:
        with pytest.raises(InputError, match="what is stored of its answer was changed"):
            everything(ledger)
        with pytest.raises(InputError, match=r"damaged, so its answers are not used\. Response 7"):
            ledger.require_whole()


def test_a_ledger_without_digests_gets_them_and_says_what_they_do_not_cover(filled, tmp_path):
    path = Path(shutil.copyfile(filled, tmp_path / "old.sqlite"))
    with Ledger.open(path, write=False) as ledger:
        before = everything(ledger)
        assert ledger.unproven() == ""
        ledger.require_whole()
    as_first_version(path)
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE attempts DROP COLUMN billed")
    db.close()
    with Ledger.open(path, write=False) as ledger:
        assert list(ledger.unstated("judge")) == []
        assert everything(ledger) == before
        assert ledger.problems() == []
        ledger.require_whole()
        assert "would not be noticed" in ledger.unproven()
    for _ in range(2):
        with Ledger.open(path) as ledger:
            ledger.require_whole()
            assert ledger.problems() == []
            assert everything(ledger) == before
            assert "The digests of the first 80 requests and 51 answers were added on 20" in ledger.unproven()
    assert any(CHANGED in problem for problem in damage(path, tmp_path, "UPDATE requests SET created = 1"))


def test_tokens_that_an_earlier_version_counted_otherwise_are_counted_again(filled, tmp_path):
    path = Path(shutil.copyfile(filled, tmp_path / "old.sqlite"))
    with Ledger.open(path, write=False) as ledger:
        before = ledger.counts()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE responses SET prompt_tokens = 1 WHERE id = 7")
        (request,) = db.execute("SELECT request FROM responses WHERE id = 7").fetchone()
        db.execute("UPDATE standings SET prompt_tokens = 1 WHERE request = ?", (request,))
    db.close()
    as_first_version(path)
    with Ledger.open(path) as ledger:
        assert ledger.counts() == before
        assert ledger.problems() == []


def test_progress_is_given_to_the_end(ledger):
    steps = []
    list(ledger.pending(make_requests(2500)))
    assert ledger.problems(lambda done, total: steps.append((done, total))) == []
    assert steps == [(1000, 2500), (2000, 2500), (2500, 2500)]


def test_a_ledger_whose_format_was_turned_back_keeps_its_digests(filled, tmp_path):
    changed = "UPDATE responses SET seconds = seconds + 7 WHERE id = 7"
    assert any(CHANGED in problem for problem in damage(filled, tmp_path, changed, "PRAGMA user_version = 1"))
    copy = tmp_path / "copy.sqlite"
    with Ledger.open(copy) as ledger, pytest.raises(InputError, match="of its answer was changed"):
        everything(ledger)
