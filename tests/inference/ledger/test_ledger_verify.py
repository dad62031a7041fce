from __future__ import annotations

import hashlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Attempt, Outcome

IMAGE = b"\x89PNG" * 100


@pytest.fixture
def filled(path, make_requests, answer):
    with Ledger.open(path) as ledger:
        ledger.put_media(hashlib.sha256(IMAGE).hexdigest(), "image/png", IMAGE)
        requests = [*ledger.pending(make_requests(40)), *ledger.pending(make_requests(40, prompt="q"))]
        for request in requests[:50]:
            ledger.record(Outcome(request.key, answer(request.key)))
        ledger.record(
            Outcome(requests[50].key, kind="server", error="down", attempts=(Attempt(500, "down", 1),))
        )
        ledger.record(Outcome(requests[51].key, kind="invalid_response", error="cut", refused_body=b"{"))
        ledger.plan_batch("shard", "m", [request.key for request in requests[60:70]], "")
        ledger.record(Outcome(requests[60].key, answer(), batch="shard"))
        ledger.flush()
        ledger.ask_again([requests[0].key])
    return path


def damage(path: Path, *commands: str) -> list[str]:
    copy = path.with_name("copy.sqlite")
    shutil.copyfile(path, copy)
    db = sqlite3.connect(copy)
    for command in commands:
        assert db.execute(command).rowcount != 0
    db.commit()
    db.close()
    with Ledger.open(copy, write=False) as ledger:
        return ledger.problems()


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("UPDATE responses SET digest = zeroblob(32) WHERE id = 7", "response 7 has another digest"),
        ("UPDATE responses SET body = substr(body, 1, 20) WHERE id = 7", "response 7 cannot be read back"),
        ("UPDATE responses SET body = zeroblob(40) WHERE id = 7", "response 7 cannot be read back"),
        ("UPDATE responses SET body = 'text' WHERE id = 7", "response 7 cannot be read back"),
        ("UPDATE panels SET response_dictionary = zeroblob(99)", "response 7 cannot be read back"),
        ("UPDATE panels SET response_dictionary = NULL", "response 7 cannot be read back"),
        ("DELETE FROM requests WHERE id = 7", "Response 7: its request is not there"),
        ("DELETE FROM requests WHERE id = 7", "row 7 names a row of requests that is not there"),
        ("DELETE FROM requests WHERE id = 65", "Table batch_items: a row names a row of requests"),
        ("DELETE FROM standings WHERE request = 7", "what is counted for it disagrees"),
        ("DELETE FROM responses WHERE id = 7", "what is counted for it disagrees"),
        ("DELETE FROM attempts WHERE id = 1", "what is counted for it disagrees"),
        ("UPDATE standings SET state = 'pending' WHERE request = 7", "what is counted for it disagrees"),
        ("UPDATE standings SET state = 'answered' WHERE request = 52", "what is counted for it disagrees"),
        ("UPDATE standings SET state = 'timeout' WHERE request = 51", "what is counted for it disagrees"),
        ("UPDATE standings SET response = 8 WHERE request = 7", "what is counted for it disagrees"),
        ("UPDATE standings SET tries = 9 WHERE request = 7", "what is counted for it disagrees"),
        ("UPDATE standings SET prompt_tokens = 9 WHERE request = 7", "what is counted for it disagrees"),
        ("UPDATE standings SET completion_tokens = 9 WHERE request = 7", "what is counted for it disagrees"),
        ("UPDATE standings SET round = 2 WHERE request = 7", "what is counted for it disagrees"),
        ("UPDATE standings SET panel = 2 WHERE request = 7", "what is counted for it disagrees"),
        (
            "UPDATE standings SET waiting = 1 WHERE request = 7",
            "it waits in a batch that is over or does not",
        ),
        (
            "UPDATE standings SET waiting = NULL WHERE request = 65",
            "the batch shard holds it and is not over",
        ),
        ("UPDATE batches SET state = 'collected'", "it waits in a batch that is over or does not"),
        ("DELETE FROM batch_items WHERE line = 3", "Batch shard: it has 9 requests, not the 10"),
        (
            "UPDATE requests SET subject_id = 'task_8' WHERE id = 7",
            "its key is not the hash of what is stored",
        ),
        ("UPDATE requests SET sample = 2 WHERE id = 7", "its key is not the hash of what is stored"),
        ("UPDATE requests SET place = 8 WHERE id = 7", "its key is not the hash of what is stored"),
        ("UPDATE requests SET panel = 2 WHERE id = 7", "its key is not the hash of what is stored"),
        ("UPDATE panels SET judge_id = 'n' WHERE id = 1", "its key is not the hash of what is stored"),
        ("UPDATE requests SET place = 99 WHERE id = 7", "its body cannot be read back"),
        ("UPDATE requests SET arrangement = '{' WHERE id = 7", "its body cannot be read back"),
        ("UPDATE request_blocks SET bodies = substr(bodies, 2) WHERE id = 1", "its body cannot be read back"),
        ("DELETE FROM request_blocks WHERE id = 1", "its body cannot be read back"),
        ("UPDATE attempts SET body = zeroblob(9) WHERE body IS NOT NULL", "Attempt 2: what was received"),
        ("UPDATE attempts SET digest = zeroblob(32) WHERE body IS NOT NULL", "Attempt 2: what was received"),
        ("UPDATE media SET content = zeroblob(9)", "its content has another digest"),
    ],
)
def test_damage_is_found_and_named(filled, command, found):
    problems = damage(filled, command)
    assert any(found in problem for problem in problems), problems
    assert all(problem.endswith(".") for problem in problems)


def test_an_index_that_lost_a_row_is_found(filled):
    whole = "CREATE INDEX attempts_by_request ON attempts (request)"
    define = "UPDATE sqlite_master SET sql = ? WHERE name = 'attempts_by_request'"
    add = (
        "INSERT INTO attempts (request, round, kind, status, error, seconds, batch, created) "
        "VALUES (1, 1, '', 0, '', 0, '', 0)"
    )
    for command, values in ((define, (f"{whole} WHERE id < 0",)), (add, ()), (define, (whole,))):
        db = sqlite3.connect(filled)
        db.execute("PRAGMA writable_schema = ON")
        db.execute(command, values)
        db.commit()
        db.close()
    problems = damage(filled)
    assert any("SQLite finds the file damaged" in problem for problem in problems), problems


def test_many_problems_of_a_sort_are_cut_short(filled):
    problems = damage(filled, "UPDATE responses SET digest = zeroblob(32)")
    assert len(problems) == 21
    assert problems[-1] == "And 31 more like the last one."


def test_flipped_bits_anywhere_in_stored_bodies_are_found(filled):
    content = bytearray(filled.read_bytes())
    db = sqlite3.connect(filled)
    (blob,) = db.execute("SELECT body FROM responses WHERE id = 20").fetchone()
    db.close()
    start = content.find(blob)
    for offset in (0, len(blob) // 2, len(blob) - 1):
        flipped = bytearray(content)
        flipped[start + offset] ^= 0x10
        copy = filled.with_name("flipped.sqlite")
        copy.write_bytes(flipped)
        with Ledger.open(copy, write=False) as ledger:
            assert any("response 20" in problem for problem in ledger.problems())


def test_progress_is_told_to_the_end(path, make_requests):
    steps = []
    with Ledger.open(path) as ledger:
        list(ledger.pending(make_requests(2500)))
        assert ledger.problems(lambda done, total: steps.append((done, total))) == []
    assert steps == [(1000, 2500), (2000, 2500), (2500, 2500)]


def test_a_sound_ledger_has_no_problems(filled):
    assert damage(filled) == []
