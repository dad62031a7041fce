"""Commands that collect from a fake server: interrupted, refused, short of space; keys are told nowhere."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from fakes.echoes import FORMS, PLACES
from fakes.server import FakeServer
from fakes.studies import collect, everything_said, table, towns, write_study
from interrupts import interruptible_process

from conjury.inference.ledger import Ledger

pytestmark = pytest.mark.long

KEY = "quince-SENTINEL-0123456789abcdef"
REQUESTS = 88

LIMITED = """
import resource, sys
from conjury.cli.main import main
import conjury.inference.collecting.recorder, conjury.inference.collecting.run_tables
import conjury.inference.backends.openai.live
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
main()
"""
NOBODY = """
import contextlib, os, sys
from conjury.cli.main import main
from conjury.inference.backends.openai import live
from conjury.inference.collecting import run
sys.argv.append("--dry-run")
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(None):
    main()  # imports all that it needs while it still may
sys.argv.pop()
if os.geteuid() == 0:
    os.seteuid(65534)
main()
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path / "towns", towns())


def start(code: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    return interruptible_process(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, error = process.communicate(timeout=120)
    return process.returncode, out, error


def sentence(process: subprocess.Popen[str]) -> str:
    """The one sentence that a process ends with."""
    code, _, error = ended(process)
    assert code == 2, error
    assert re.fullmatch(r"conjury: .*\n", error), error
    return error


def wait_for_answers(server: FakeServer, n: int) -> None:
    deadline = time.monotonic() + 60
    while sum(server.counts()["answered"].values()) < n:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_an_interrupted_run_writes_its_tables_and_goes_on_where_it_stopped(study, tmp_path, server, refused):
    server.configure(latency=0.2)
    run = tmp_path / "run"
    options = ("--judge", "judge", "--base-url", server.url, "--out", run, "--concurrency", 3)
    process = start("from conjury.cli.main import main; main()", "collect", study, *options)
    wait_for_answers(server, 6)
    told = refused("collect", study, *options, writes=True)
    assert f"process {process.pid} on" in told
    assert "is writing to this ledger; wait until it is done" in told
    process.send_signal(signal.SIGINT)
    code, out, told = ended(process)
    assert code == 130
    assert "Stopped (interrupted); the same command resumes the run." in out
    assert told == "conjury: interrupted; no file was left half written.\n"
    n = len(table(run, "responses"))
    assert 6 <= n < REQUESTS
    assert len(table(run, "choices")) == 2 * n
    assert table(run, "choices")["status"].eq("ok").all()
    assert sum(server.counts()["answered"].values()) == n
    assert collect(study, run, base_url=server.url) == 0
    assert set(server.counts()["answered"].values()) == {1}
    assert len(table(run, "responses")) == REQUESTS


def test_a_key_is_told_nowhere(study, tmp_path, server, monkeypatch, capfd, refused):
    monkeypatch.setenv("SENTINEL_KEY", KEY)
    run, said = tmp_path / "run", []

    def ask(out: str, url: str, *options: str, judge: str = "judge") -> str:
        words = ("--judge", judge, "--key-variable", "SENTINEL_KEY", "--out", tmp_path / out, *options)
        said.append(refused("collect", study, *words, "--base-url", url, writes=True))
        return said[-1]

    ask("run", f"http://me:{KEY}@127.0.0.1:9/v1")
    server.configure(key="another key")
    refusal = "does not accept the key in the environment variable SENTINEL_KEY"
    assert refusal in ask("run", server.url)
    ask("batch", server.url, "--batch")
    server.configure(models=["other", "third"])
    assert "contains a key or password" in ask("nowhere", f"{server.root}/{KEY}/nowhere")
    assert "does not support OpenAI's protocol at this address" in ask("nowhere", f"{server.root}/nowhere")
    ask("run", server.url, judge="mine")
    server.configure(faults={"500": 0.3, "wrong_schema": 0.2, "rejected": 0.2}, key=KEY)
    assert collect(study, run, base_url=server.url, key_variable="SENTINEL_KEY") == 0
    assert collect(study, run, "other", base_url=server.url, key_variable="SENTINEL_KEY", batch=True) == 0
    assert KEY in server.counts()["keys"]
    assert KEY not in "".join([*said, *capfd.readouterr()])
    for folder in (run, tmp_path / "batch", tmp_path / "nowhere"):
        assert KEY.encode() not in everything_said(folder)
    assert b"SENTINEL_KEY" in everything_said(run)


@pytest.mark.slow
def test_a_full_disk_ends_a_run_with_one_sentence_and_keeps_what_was_answered(study, tmp_path, server):
    run = tmp_path / "run"
    options = ("collect", study, "--judge", "judge", "--base-url", server.url, "--out", run)
    collect(study, run, base_url=server.url, pairs=1)
    assert "space" in sentence(start(LIMITED, (run / "ledger.sqlite").stat().st_size + 16_000, *options))
    assert collect(study, run, base_url=server.url) == 0
    assert len(table(run, "choices")) == 2 * REQUESTS


@pytest.mark.slow
@pytest.mark.parametrize("out", ["run", pytest.param("new", marks=pytest.mark.long)])
def test_a_folder_that_cannot_be_written_ends_a_run_with_one_sentence(server, out):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = write_study(folder / "towns", towns())
        collect(study, folder / "run", base_url=server.url, pairs=1)
        seen = len(server.counts()["arrivals"])
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        options = ("collect", study, "--judge", "judge", "--base-url", server.url, "--out", folder / out)
        assert "ermission" in sentence(start(NOBODY, *options))
        assert len(server.counts()["arrivals"]) == seen
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)


FORMS_OF_KEYS = [f"{form}@{place}" for form in FORMS for place in ("content", "error", "cut")]
PLACES_OF_KEYS = [f"{form}@{place}" for form in ("plain", "json") for place in PLACES]


def answers(run: Path) -> Iterator[Any]:
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        for answered in chain.from_iterable(ledger.answers()):
            yield from map(json.loads, ledger.answer_bodies(answered.key))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("batch", [False, True])
def test_a_key_in_any_encoding_is_kept_nowhere(study, tmp_path, server, monkeypatch, capfd, batch):
    monkeypatch.setenv("SENTINEL_KEY", KEY)
    ways = [way for way in (*FORMS_OF_KEYS, *PLACES_OF_KEYS) if not (batch and "utf16" in way)]
    server.configure(echo=ways)
    run = tmp_path / "run"
    collect(study, run, base_url=server.url, key_variable="SENTINEL_KEY", concurrency=4, batch=batch)
    if batch:
        collect(study, run, base_url=server.url, key_variable="SENTINEL_KEY", batch=True)
    said = everything_said(run) + "".join(capfd.readouterr()).encode()
    rows = table(run, "responses")
    said += rows.to_csv().encode() + "".join(rows["text"].dropna()).encode()
    for form, write in FORMS.items():
        core = write(KEY).rstrip("=")[:-2]
        core = core if form not in ("basic", "bearer") else core[12:]
        assert core.encode() not in said, form
        assert core.encode().lower() not in said.lower(), form
    for answer in answers(run):
        assert KEY not in json.dumps(answer)
        assert KEY not in "".join(strings(answer))
    assert said.count(b"[key]") > len(ways)
    assert len(rows) > len(ways)


def test_a_run_tells_that_its_rule_was_not_met(study, ran):
    ask = "--judge judge --backend simulated --prompt plain --until 'ci(size) < 0.01'"
    printed = " ".join(ran("collect", study, ask).split())
    assert "--until was not met: after 44 complete tasks" in printed
