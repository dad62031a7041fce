"""Transcripts as one file: everything inside, a policy by hashes, a limit in words, no web server needed."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from html import unescape

import pytest
from made_up.runs import collection_of

from conjury.inference.panel.view import one_file
from conjury.inference.panel.view.filters import Query
from conjury.inference.panel.view.one_file import sentence, write_file

SERVERS = ("starlette", "uvicorn", "itsdangerous", "markdown_it", "sqlalchemy", "multipart", "psycopg")
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({servers!r}))
from conjury.cli.main import main
sys.argv = ["conjury", *{arguments!r}]
main()
"""


def test_the_file_contains_the_answers_of_a_query_with_pictures_inside(picture_collection, tmp_path):
    path = tmp_path / "all.html"
    written = write_file(picture_collection, path)
    html = path.read_text(encoding="utf-8")
    assert (written.selected, written.written, written.omitted) == (3, 3, 0)
    assert written.size == path.stat().st_size
    assert len(re.findall(r'<img src="data:image/png;base64,[^"]{40,}"', html)) == 6
    assert not re.search(r'(?:src|href)="(?!data:|#)', html)


def test_the_policy_of_the_file_allows_exactly_its_own_script_and_style(town_collection, tmp_path):
    path = tmp_path / "all.html"
    write_file(town_collection, path, most=3)
    html = path.read_text(encoding="utf-8")
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1])
    for name in ("style", "script"):
        inside = re.search(rf"<{name}>(.*?)</{name}>", html, flags=re.DOTALL)[1]
        value = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{value}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_a_limit_is_stated_in_the_file_and_by_the_command(town_collection, tmp_path):
    path = tmp_path / "some.html"
    written = write_file(town_collection, path, Query((("judge", "models"),)), most=5)
    html = path.read_text(encoding="utf-8")
    assert html.count("<article") == written.written == 5
    assert f"{written.selected} answers were selected; this file contains the first 5." in html
    assert len(re.findall(r'data-judge="[^"]*models"', html)) == 5
    told = sentence(written, path, ["runs/towns"])
    assert told.startswith(f"5 transcripts in {path} ({path.stat().st_size / 1024 / 1024:.1f} MB).")
    assert "the file contains the first 5 of them" in told
    assert "conjury view runs/towns" in told
    assert set(re.findall(r'href="(#a\d+)"', html)) <= {f"#a{n}" for n in re.findall(r'id="a(\d+)"', html)}


def test_pictures_beyond_the_limit_of_bytes_are_left_out_and_counted(
    picture_collection, tmp_path, monkeypatch
):
    monkeypatch.setattr(one_file, "MEDIA", 100)
    path = tmp_path / "small.html"
    written = write_file(picture_collection, path)
    assert written.omitted > 0
    assert f"{written.omitted} pictures or clips are not included" in path.read_text(encoding="utf-8")
    assert "left out, since those of a file" in sentence(written, path, ["x"])


def run_without_servers(*arguments: str, cwd) -> subprocess.CompletedProcess[str]:
    code = WITHOUT.format(servers=set(SERVERS), arguments=arguments)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.slow
def test_the_file_is_written_without_the_extra_and_pages_ask_for_it(town_files, tmp_path):
    study, run = town_files
    common = (str(run), "--study", str(study / "study.yaml"))
    ran = run_without_servers("view", *common, "--html", "all.html", "--filter", "judges", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "transcripts in all.html" in ran.stdout
    refused = run_without_servers("view", *common, cwd=tmp_path)
    assert refused.returncode == 2
    assert "pip install 'conjury[panel]'" in refused.stderr


@pytest.mark.long
def test_the_same_run_gives_the_same_file(town_files, tmp_path):
    for name in ("one", "two"):
        write_file(collection_of(*town_files), tmp_path / f"{name}.html", most=2)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
