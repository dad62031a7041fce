from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from fakes.ledgers import answer, answer_all, everything, make_requests, states
from fakes.server import TESTS

from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome
from conjury.inference.ledger.ledger_tables import VERSION
from conjury.inference.ledger.writer import Connection

HOLD = """
import sys
from pathlib import Path
from conjury.inference.ledger import Ledger
with Ledger.open(Path(sys.argv[1])):
    print("open", flush=True)
    sys.stdin.read()
"""

NO_SPACE = """
import resource, signal, sys
from pathlib import Path
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome
ledger = Ledger.open(Path(sys.argv[1]))
counted = []
ledger.on_commit.append(lambda outcomes: counted.extend(outcome.key for outcome in outcomes))
keys = sys.stdin.read().split()
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
try:
    for key in keys:
        ledger.record(Outcome(key, b'{"content": "%s"}' % (key * 30).encode()))
        ledger.flush()
except InputError as error:
    print(error)
print(*counted)
"""


@pytest.fixture
def nobody():
    """A folder that one can read but not write, seen by a user whom permissions bind."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    is_root = os.geteuid() == 0
    yield folder
    if is_root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def bind(folder: Path) -> None:
    folder.chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_a_second_writer_is_refused_until_the_first_is_gone(path):
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(InputError, match=rf"process {holder.pid} on \S+ \(since .* is writing"):
            Ledger.open(path)
        with Ledger.open(path, write=False) as beside:
            assert beside.counts() == []
        holder.kill()
    assert path.with_suffix(".lock").read_text().startswith(f'{{"pid": {holder.pid}')
    with Ledger.open(path):
        assert json.loads(path.with_suffix(".lock").read_text())["pid"] == os.getpid()
        with pytest.raises(InputError, match="is writing to this ledger; wait"):
            Ledger.open(path)


def test_a_child_that_was_forked_does_not_hold_the_lock(path):
    script = f"""
import os, sys, time
from pathlib import Path
from conjury.inference.ledger import Ledger
ledger = Ledger.open(Path({str(path)!r}))
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, b"1")
    time.sleep(5)
    os._exit(0)
os.read(reading, 1)
os._exit(9)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=False, stdout=subprocess.DEVNULL)
    with Ledger.open(path) as ledger:
        assert ledger.counts() == []


def test_a_reader_sees_what_a_writer_adds_and_survives_its_end(path):
    with Ledger.open(path) as ledger:
        reader = Ledger.open(path, write=False)
        answer_all(ledger, make_requests(3))
        assert [count.n for count in reader.counts()] == [3]
    assert [count.n for count in reader.counts()] == [3]
    with Ledger.open(path) as ledger:
        list(ledger.pending(make_requests(4)))
        assert [count.n for count in reader.counts()] == [3, 1]
    reader.close()
    with Ledger.open(path, write=False) as reader:
        assert [count.n for count in reader.counts()] == [3, 1]


def test_opening_to_read_makes_nothing(path, tmp_path):
    with pytest.raises(InputError, match=r"ledger\.sqlite: there is no ledger; collect judgments first"):
        Ledger.open(path, write=False)
    assert list(tmp_path.iterdir()) == []
    path.parent.mkdir()
    path.touch()
    with pytest.raises(InputError, match="the ledger is empty"):
        Ledger.open(path, write=False)
    Ledger.open(path).close()
    before = sorted(path.parent.iterdir())
    with Ledger.open(path, write=False) as ledger:
        assert ledger.counts() == []
        assert sorted(path.parent.iterdir()) == before
        with pytest.raises(ValueError, match="not open for writing"):
            ledger.set("a", 1)
    assert sorted(path.parent.iterdir()) == before


def test_a_copy_of_an_unfinished_ledger_is_read_without_a_trace(ledger, path, tmp_path):
    list(ledger.pending(make_requests(5)))
    ledger._writer.flush()
    copy = tmp_path / "copy.sqlite"
    other = sqlite3.connect(path)
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    shutil.copyfile(path, copy)
    with Ledger.open(copy, write=False) as read:
        assert [count.n for count in read.counts()] == [5]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.sqlite", "run"]


def assert_kept(path: Path, counted: list[str], n: int) -> None:
    """A ledger that took no more is whole, and has what counted of n requests, and no more."""
    with Ledger.open(path) as ledger:
        assert ledger.problems() == []
        kept = {one.key for one in everything(ledger) if one.body is not None}
        assert kept == set(counted) != set()
        assert len(list(ledger.pending(make_requests(n)))) == n - len(kept) > 0


@pytest.mark.long
def test_a_full_ledger_is_told_in_one_sentence_and_keeps_what_counted(path):
    requests, counted = make_requests(1000), []
    ledger = Ledger.open(path)
    ledger.on_commit.append(lambda outcomes: counted.extend(outcome.key for outcome in outcomes))
    asked = list(ledger.pending(requests))

    def limit(connection: Connection) -> None:
        (pages,) = connection.db.execute("PRAGMA page_count").fetchone()
        connection.db.execute(f"PRAGMA max_page_count = {pages + 60}")

    def record() -> None:
        for request in asked:
            ledger.record(Outcome(request.key, answer(os.urandom(200).hex())))
            ledger.flush()

    ledger._writer.call(limit)
    with pytest.raises(InputError, match=r"ledger\.sqlite: there is no space left for the ledger; free some"):
        record()
    with pytest.raises(InputError, match="no space left"):
        ledger.close()
    assert_kept(path, counted, 1000)


@pytest.mark.long
def test_a_disk_that_takes_no_more_is_told_in_one_sentence(path):
    with Ledger.open(path) as ledger:
        keys = [request.key for request in ledger.pending(make_requests(800))]
    command = [sys.executable, "-c", NO_SPACE, str(path)]
    done = subprocess.run(command, input="\n".join(keys), capture_output=True, text=True, check=True)
    sentence, counted = done.stdout.splitlines()
    assert "the ledger cannot be read or written any further" in sentence
    assert_kept(path, counted.split(), 800)


def test_in_a_folder_that_cannot_be_written_a_ledger_is_read_and_none_made(nobody):
    with Ledger.open(nobody / "ledger.sqlite") as ledger:
        list(ledger.pending(make_requests(2)))
    bind(nobody)
    with Ledger.open(nobody / "ledger.sqlite", write=False) as ledger:
        assert states(ledger) == {"pending": 2}
        assert ledger.problems() == []
    for place, problem in (
        ("other", r"other\.lock: .* here \(Permission denied\)"),
        ("run/a", "opened here"),
    ):
        with pytest.raises(InputError, match=problem):
            Ledger.open(nobody / f"{place}.sqlite")


@pytest.mark.parametrize("write", [True, False])
def test_a_file_that_is_no_ledger_or_of_a_newer_format_is_refused(path, write):
    Ledger.open(path).close()
    text, other = (path.with_name(name) for name in ("text.sqlite", "other.sqlite"))
    text.write_text("post_id,text\n" * 500)
    for file, command in (
        (path, f"PRAGMA user_version = {VERSION + 1}"),
        (other, "CREATE TABLE posts (text)"),
    ):
        db = sqlite3.connect(file)
        db.execute(command)
        db.close()
    for file, problem in (
        (text, r"text\.sqlite: this file is no ledger"),
        (other, r"other\.sqlite: this SQLite file is no ledger"),
        (path, rf"a newer conjury wrote this ledger \(format {VERSION + 1}, this one reads {VERSION}\)"),
    ):
        with pytest.raises(InputError, match=problem):
            Ledger.open(file, write=write)
    assert text.read_text() == "post_id,text\n" * 500


def test_a_damaged_page_is_told_in_one_sentence(path):
    requests = make_requests(2000)
    with Ledger.open(path) as ledger:
        list(ledger.pending(requests))
    with path.open("r+b") as file:
        for page in range(20, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 100)
    with Ledger.open(path, write=False) as ledger:
        with pytest.raises(InputError, match=r"ledger\.sqlite: the ledger is damaged \(.*malformed\)"):
            list(ledger.answers())
        assert (
            "The requests cannot be read to their end (database disk image is malformed)."
            in ledger.problems()
        )
    with Ledger.open(path) as ledger, pytest.raises(InputError, match="the ledger is damaged"):
        list(ledger.pending(requests))


def test_what_the_builder_of_requests_raises_is_left_as_it_is(ledger):
    def build():
        raise FileNotFoundError("a template")
        yield

    with pytest.raises(FileNotFoundError, match="a template"):
        list(ledger.pending(build()))


@pytest.mark.parametrize("content", ["X'C328'", "X'41'"], ids=["no text", "text"])
def test_text_where_a_blob_was_is_told_in_one_sentence(path, content):
    image = hashlib.sha256(b"pixels").hexdigest()
    with Ledger.open(path) as ledger:
        [request] = ledger.pending(make_requests(1))
        ledger.record(Outcome(request.key, answer()))
        ledger.put_media(image, "image/png", b"pixels")
    db = sqlite3.connect(path)
    for column in ("request_blocks SET bodies", "responses SET body", "media SET content"):
        db.execute(f"UPDATE {column} = CAST({content} AS TEXT)")
    db.commit()
    db.close()
    with Ledger.open(path, write=False) as ledger:
        for read in (
            lambda: list(ledger.answers()),
            lambda: ledger.answer_bodies(request.key),
            lambda: ledger.request_body(request.key),
            lambda: ledger.media(image),
        ):
            with pytest.raises(InputError, match="`conjury run verify` finds"):
                read()
        problems = " ".join(ledger.problems())
        assert all(name in problems.lower() for name in ("request", "response", "image"))


# --- kills ---------------------------------------------------------------------------------------

WORK = """
import itertools, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from fakes.ledgers import make_requests
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Attempt, Outcome

def tell(outcomes):
    lines = "".join(f"{one.key}\\n" for one in outcomes if one.body is not None)
    os.write(1, lines.encode())

os.write(1, b"open\\n")
with Ledger.open(Path(sys.argv[1])) as ledger:
    ledger.on_commit.append(tell)
    first = len(ledger.batches())
    for number in itertools.count(first):
        requests = make_requests(400, start=number * 200)
        keys = []
        for position, request in enumerate(ledger.pending(requests, chunk=50)):
            if position % 7 == 0:
                ledger.record(Outcome(request.key, kind="timeout", attempts=(Attempt(0, "late", 1.0),)))
            elif position % 5 == 0:
                keys.append(request.key)
            else:
                ledger.record(Outcome(request.key, b'{"content": "%s"}' % request.key.encode()))
        ledger.plan_batch(f"b{number}", "m", keys, "")
        for key in keys:
            ledger.record(Outcome(key, b'{"content": "%s"}' % key.encode(), batch=f"b{number}"))
        ledger.update_batch(f"b{number}", state="collected")
        ledger.ask_again(keys[:3])
"""


def run_and_kill(path: Path, keys: int, delay: float) -> list[str]:
    """End a process ``delay`` seconds after it counted ``keys`` answers; return the keys that it counted."""
    process = subprocess.Popen([sys.executable, "-c", WORK, str(path), str(TESTS)], stdout=subprocess.PIPE)
    told = b"".join(process.stdout.readline() for _ in range(keys + 1))
    time.sleep(delay)
    os.kill(process.pid, signal.SIGKILL)
    told += process.stdout.read()
    assert process.wait() == -signal.SIGKILL
    return told[: told.rfind(b"\n") + 1].decode().split()[1:]


def check_killed(path: Path, times: int, seed: int) -> None:
    draw = random.Random(seed)
    counted: set[str] = set()
    for _ in range(times):
        counted.update(run_and_kill(path, draw.choice([0, 1, 300]), draw.random() * 0.1))
        if not path.exists():
            continue
        with Ledger.open(path) as ledger:
            assert ledger.problems() == []
            answered = {one.key: one.body for one in everything(ledger) if one.body is not None}
            for batch in ledger.batches(live=True):
                ledger.update_batch(batch.shard, state="failed")
        assert counted <= answered.keys()
        assert all(body == {"content": key} for key, body in answered.items())
    assert counted


@pytest.mark.long
@pytest.mark.parametrize("times", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_loses_nothing_that_counted(path, times):
    check_killed(path, times, seed=1)


def test_a_reader_reads_what_a_killed_writer_left(path):
    run_and_kill(path, 20, 0)
    before = sorted(path.parent.iterdir())
    with Ledger.open(path, write=False) as ledger:
        assert sum(count.n for count in ledger.counts()) > 0
        assert ledger.problems() == []
    assert sorted(path.parent.iterdir()) == before
    with Ledger.open(path) as ledger:
        answer_all(ledger, make_requests(1, judge="n"))
