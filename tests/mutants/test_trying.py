"""A made-up package with a weak test: what is noticed, what survives, and how a stopped run goes on."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mutants.choosing import Chooser
from mutants.places import Places
from mutants.recording import Store, record
from mutants.trying import Trial, Verdicts, has_lost_its_test, in_parts, try_all

pytestmark = pytest.mark.long

TEXT = (
    "def half(x):\n    return x / 2\n\n\ndef third(x):\n    return x / 3\n\n\ndef unseen(x):\n    return x\n"
)
TESTS = """
import subprocess, sys
from made_up_parts import half, third

def test_weak():
    assert half(4) > 1

def test_strong():
    assert third(9) == 3

def test_child():
    code = "import made_up_parts; made_up_parts.unseen(1)"
    assert not subprocess.run([sys.executable, "-c", code]).returncode
"""
WEAK, STRONG, CHILD = (f"test_parts.py::test_{name}" for name in ("weak", "strong", "child"))
OPTIONS = ["-q", "-p", "no:cacheprovider", "--disable-plugin-autoload"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    (tmp_path / "made_up_parts.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "test_parts.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def a_trial(root: Path, before: str, after: str, *tests: str) -> Trial:
    text = TEXT.replace(before, after)
    return Trial(after, "made_up_parts.py", root / "made_up_parts.py", "made_up_parts", text, tests, 1.0)


def tried(root: Path, *trials: Trial, verdicts: Verdicts | None = None) -> dict[str, dict[str, Any]]:
    known = verdicts or Verdicts(root / "verdicts.jsonl")
    said: list[str] = []
    try_all(root, trials, known, total=len(trials), options=OPTIONS, processes=2, say=said.append)
    assert len(said) == len(trials)
    return known.known


def test_a_weak_test_lets_a_mutant_live_that_a_strong_one_notices(root: Path) -> None:
    verdicts = tried(
        root,
        a_trial(root, "x / 2", "x / 1", WEAK),
        a_trial(root, "x / 3", "x * 3", STRONG),
        a_trial(root, "return x\n", "return None\n"),
    )
    assert {key: told["verdict"] for key, told in verdicts.items()} == {
        "x / 1": "survived",
        "x * 3": "killed",
        "return None\n": "not reached",
    }
    assert verdicts["x * 3"]["by"] == STRONG
    assert verdicts["x * 3"]["message"] == "assert 27 == 3"


@pytest.mark.parametrize("whole", [False, True])
def test_all_tests_of_a_mutant_run_where_each_that_notices_it_is_asked_for(root: Path, whole: bool) -> None:
    trial = a_trial(root, "x / ", "0 * x / ", WEAK, STRONG)
    verdict = tried(root, replace(trial, whole=whole))[trial.id]
    assert verdict.get("failed", [verdict["by"]]) == ([WEAK, STRONG] if whole else [WEAK])


def test_a_mutant_that_breaks_the_import_or_was_not_imported_is_no_kill_by_a_test(root: Path) -> None:
    missed = a_trial(root, "x / 2", "x / 4", WEAK)
    elsewhere = Trial(missed.id, missed.file, missed.path, "another_module", missed.text, missed.tests, 1.0)
    verdicts = tried(root, a_trial(root, "def half(x)", "def half(x=1/0)", WEAK), elsewhere)
    assert [told["verdict"] for _, told in sorted(verdicts.items())] == ["broken", "not run"]


def test_verdicts_are_read_again_and_a_line_that_was_cut_off_is_not(root: Path) -> None:
    path = root / "verdicts.jsonl"
    Verdicts(path).add({"id": "a", "verdict": "survived"})
    Verdicts(path).add({"id": "a", "verdict": "killed"})
    with path.open("a", encoding="utf-8") as file:
        file.write('{"id": "b", "verd')
    assert Verdicts(path).known == {"a": {"id": "a", "verdict": "killed"}}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="events of lines came with Python 3.12")
def test_tests_are_chosen_by_the_lines_that_they_execute(root: Path) -> None:
    store = Store(root, root / "map")
    record(store, ["test_parts.py"], ["made_up_parts"], OPTIONS, 1)
    places = Places({"made_up_parts.py": TEXT})
    chooser = Chooser(store, ["test_parts.py"], places)
    for line, test in ((2, WEAK), (6, STRONG), (10, CHILD)):
        chosen = chooser.choose("made_up_parts.py", line, line)
        assert chosen.reaching == 1
        assert chosen.tests[0] == test  # others of the file may look at what it has computed
    assert chooser.choose("made_up_parts.py", 1, 1).reaching == 1  # a default value
    assert store.is_current("test_parts.py")

    later = "# a line more\n" + TEXT
    (root / "made_up_parts.py").write_text(later, encoding="utf-8")
    assert not store.is_current("test_parts.py")
    moved = Chooser(store, ["test_parts.py"], Places({"made_up_parts.py": later}))
    assert moved.choose("made_up_parts.py", 3, 3).reaching == 1
    assert moved.choose("made_up_parts.py", 3, 3).tests[0] == WEAK


def test_a_verdict_is_lost_with_the_test_that_gave_it(root: Path) -> None:
    noticed = tried(root, a_trial(root, "x / 3", "x / 4", STRONG))["x / 4"]
    assert noticed["by"] == STRONG
    assert not has_lost_its_test(root, noticed)
    assert not has_lost_its_test(root, {"verdict": "survived"})
    (root / "test_parts.py").write_text(TESTS.replace("third(9) == 3", "third(9)"), encoding="utf-8")
    assert has_lost_its_test(root, noticed)
    (root / "test_parts.py").unlink()
    assert has_lost_its_test(root, noticed)


def test_tests_of_the_first_files_run_before_others_are_imported() -> None:
    tests = [f"test_{n % 12}.py::test_{n}" for n in range(24)]
    first, second, third = in_parts(tests)
    assert first == [f"test_{n % 12}.py::test_{n}" for n in (0, 1, 12, 13)]
    assert len(second) == 16
    assert sorted(first + second + third) == sorted(tests)
    assert list(in_parts([])) == []
