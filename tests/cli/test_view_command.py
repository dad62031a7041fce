"""``conjury view``: a file, pages until Ctrl-C, filters and checks, labels that ``conjury fit`` reads."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
import pytest
from interrupts import interruptible_process
from made_up.panels import hidden
from made_up.runs import town_run

from conjury.analysis.frames.notes import Note, record_notes
from conjury.cli.commands.view import _checks_with_evidence, _run_of
from conjury.inference.tables import write_table


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return town_run(tmp_path_factory.mktemp("viewed"))


@pytest.mark.long
def test_a_file_of_filtered_transcripts_is_written(ran, files):
    study, run = files
    named = ("--study", str(study / "study.yaml"), "--filter", "refused")
    out = ran("view", str(run), *named, "--html", "some.html")
    assert "transcripts in some.html" in out
    html = Path("some.html").read_text(encoding="utf-8")
    assert "can&#39;t help" in html
    assert int(re.match(r"(\d+) transcripts", out)[1]) == html.count("<article")


@pytest.mark.long
def test_checks_are_found_in_the_folder_of_the_run_or_named(ran, refused, files, tmp_path):
    study, run = files
    named = ("--study", str(study / "study.yaml"), "--html", "x.html")
    tables = run / "checked" / "tables"
    judgments = pd.read_parquet(run / "judgments.parquet").query("status == 'unparsed'")
    rows = judgments[["judge_id", "task_id", "prompt_id"]]
    battery = {"code": "CJ317", "name": "error_texts", "title": "Error texts", "finding": "Some."}
    write_table(pd.DataFrame([battery]), tables / "battery.parquet")
    write_table(rows.reset_index(drop=True), tables / "checked_error_texts_evidence.parquet")
    assert f"{len(rows)} transcripts" in ran("view", str(run), *named, "--filter", "check=CJ317")
    assert "CJ317 Error texts." in Path("x.html").read_text(encoding="utf-8")
    ran("view", str(run), *named, "--checks", str(run / "checked"), "--filter", "check=CJ317")
    assert "contains no checks" in refused("view", str(run), *named, "--checks", str(tmp_path))


def test_evidence_in_the_folder_of_a_run_is_of_this_run_and_other_evidence_of_all(tmp_path):
    roots = [tmp_path / "one", tmp_path / "two", tmp_path / "two"]
    assert _run_of(tmp_path / "one" / "checked", roots) == 0
    assert _run_of(tmp_path / "two" / "checked", roots) is None
    assert _run_of(tmp_path / "onetwo", roots) is None
    rows = pd.DataFrame({"task_id": ["pair_1"]})
    battery = {"code": "CJ317", "name": "error_texts", "title": "Error texts", "finding": "Some."}
    tables = tmp_path / "one" / "checked" / "tables"
    write_table(pd.DataFrame([battery]), tables / "battery.parquet")
    write_table(rows, tables / "checked_error_texts_evidence.parquet")
    assert [(one.code, one.run) for one in _checks_with_evidence(tmp_path / "one", 0, False)] == [
        ("CJ317", 0)
    ]
    texts = {"finding": [Note.of("{n} of {judge}.", n=2, judge="m_1")]}
    entry = {"name": "battery", "kind": "battery", "settings": {"texts": texts}}
    manifest = {"format": 2, "results": [entry], "labels": {"judges": {"m_1": "Model one"}}}
    text = json.dumps(record_notes(manifest))
    (tmp_path / "one" / "checked" / "manifest.json").write_text(text, encoding="utf-8")
    [alarm] = _checks_with_evidence(tmp_path / "one" / "checked", None, True)
    assert alarm.finding == "2 of Model one."


class Browser:
    """A browser without scripts, with cookies."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, path: str = "/") -> str:
        return self._opener.open(self.address + path, timeout=30).read().decode()

    def label(self, position: str) -> None:
        html = self.get("/label")
        fields = {name: hidden(html, name) for name in ("token", "step")} | {"a.choice": position}
        self._opener.open(self.address + "/label", urlencode(fields).encode(), timeout=30).read()


def started(run: Path, study: Path) -> tuple[subprocess.Popen[str], Browser]:
    script = "from conjury.cli.main import main; main()"
    command = [sys.executable, "-u", "-c", script, "view", str(run), "--study", str(study / "study.yaml")]
    process = interruptible_process([*command, "--label", "anna"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    for line in process.stdout:
        if match := re.search(r"(http://127\.0\.0\.1:\d+)(/\?token=[\w-]+)", line):
            browser = Browser(match[1])
            browser.get(match[2])
            return process, browser
    raise AssertionError(f"it ended with {process.wait()}")


@pytest.mark.slow
def test_a_session_that_is_killed_goes_on_and_fit_reads_its_labels(ran, tmp_path):
    study, run = town_run(tmp_path)
    journal = run / "labels" / "anna" / "labels.jsonl"
    done = 0
    for kill in (True, True, False):
        process, browser = started(run, study)
        try:
            assert f"{done} of 12 labelled" in browser.get("/")
            for position in "ABAB":
                browser.label(position)
                done += 1
                assert len(journal.read_text().splitlines()) == done
            process.send_signal(signal.SIGKILL if kill else signal.SIGINT)
            assert (process.wait(timeout=20) == 0) != kill
        finally:
            process.kill()
            process.wait()
    tasks = [json.loads(line)["task"] for line in journal.read_text().splitlines()]
    assert len(set(tasks)) == 12
    labels = run / "labels" / "anna" / "choices.parquet"
    assert len(pd.read_parquet(labels)) == 24
    data = ("--data", str(run / "choices.parquet"), "--data", str(labels))
    out = ran("fit", str(study / "study.yaml"), *data, "--draws", "20", "--out", "results")
    assert "anna/choices.parquet: 24 rows, of human" in out
