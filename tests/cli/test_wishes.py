"""What every command takes: version, short help, silence, and to see the page that it writes."""

from __future__ import annotations

import subprocess
import sys
import webbrowser
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import conjury as package
from conjury.cli.main import PANELS, LazyCommands

Run = Callable[..., Any]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A file of a judge and two people."""
    rows = [f"{k},{k % 2},{(k + k // 7) % 2},{(k + k // 9) % 2}" for k in range(60)]
    path = tmp_path / "judged.csv"
    path.write_text("\n".join(["item,verdict,ann,ben", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that a browser was asked to open."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or True)
    return addresses


def test_the_version_is_that_of_the_distribution(here: Run) -> None:
    assert here("--version").out == f"conjury {version('conjury')}\n"
    assert package.__version__ == version("conjury")


@pytest.mark.long
def test_the_package_runs_as_a_module() -> None:
    words = [sys.executable, "-m", "conjury", "--version"]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ended.stdout == f"conjury {version('conjury')}\n"


def test_the_help_lists_each_command_once_in_its_panel_and_in_one_line(
    here: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = here("-h").out.splitlines()
    panels = [line.strip("╭╮─ ") for line in lines if line.startswith("╭")]
    assert panels == ["Options", *PANELS]
    heads = [line.split()[1] for line in lines if line.startswith("│ ") and line[2] not in " -"]
    assert heads == list(LazyCommands())
    begun = lines.index(next(line for line in lines if "Start here" in line))
    assert len(lines[begun:]) <= len(heads) + 2 * len(PANELS) + 1


def test_a_former_name_is_understood_and_the_new_one_is_said(here: Run) -> None:
    former, now = here("ledger verify towns --json"), here("run verify towns --json")
    assert (former.code, former.out) == (now.code, now.out)
    assert former.err == f"conjury: `conjury ledger` is now `conjury run`.\n{now.err}"
    assert "is now `conjury check --results results" in here("diagnose -h").err
    for command, option, name in (
        ("import", "--people", "--all-people"), ("import", "--labels", "--level-order"),
        ("compare-pairs", "--people", "--people-names"),
        ("raters", "--model", "--rater-model"), ("render", "--format", "--to"),
        ("label", "--batch", "--batch-size"), ("collect", "--results", "--batch-results"),
        ("collect", "--cluster", "--backend=ray"),
    ):  # fmt: skip
        page = here(f"{command} {option} x -h")
        assert page.err == f"conjury: {option} of `conjury {command}` is now {name}.\n"
        assert f"{name.partition('=')[0]} " in page.out


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("prepare", "[e-mail]"), ("label", "[default: 0.05]"), ("replicate", "[default: all]"),
        ("judge", "not met; 2: the file or an option cannot be used."),
    ],
)  # fmt: skip
def test_square_brackets_and_whole_lines_of_help_are_printed(
    here: Run, monkeypatch: pytest.MonkeyPatch, command: str, part: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert part in (text := here(f"{command} -h").out)
    assert "\\[" not in text


@pytest.mark.parametrize("line", ["--quiet convert {file}", "convert {file} --quiet"])
def test_a_quiet_command_prints_nothing_and_does_its_work(here: Run, judged: Path, line: str) -> None:
    quiet, loud = here(f"{line.format(file=judged)} --out b.csv"), here(f"convert {judged} --out a.csv")
    assert "a.csv" in loud.out
    assert (quiet.code, quiet.out) == (0, "")
    assert (judged.parent / "b.csv").read_bytes() == (judged.parent / "a.csv").read_bytes()


def test_a_quiet_command_still_says_why_it_ends(here: Run, judged: Path) -> None:
    ended = here(f"judge {judged} --judge absent --human ann --quiet")
    assert (ended.code, ended.out) == (2, "")
    assert "absent" in ended.err


def test_the_first_screen_has_the_answer_and_names_the_option_for_the_rest(here: Run, judged: Path) -> None:
    asked = f"judge {judged} --judge verdict --human ann,ben"
    first, every = here(asked, everything=False).out.splitlines(), here(asked).out.splitlines()
    assert first[-1] == "--all prints the rest."
    assert set(first[:-1]) <= set(every)
    assert len(first) <= 24 < len(every)


@pytest.mark.long
@pytest.mark.parametrize(
    ("further", "code"), [("--json", 0), ("--quiet", 0), ("--fail-under kappa=0.999", 1)]
)
def test_the_page_that_a_command_writes_is_opened(
    here: Run, judged: Path, opened: list[str], further: str, code: int
) -> None:
    ended = here(f"judge {judged} --judge verdict --human ann,ben --html page.html --open {further}")
    assert ended.code == code, ended.err
    assert opened == [(judged.parent / "page.html").resolve().as_uri()]


@pytest.mark.slow
def test_of_commands_that_run_others_the_page_at_the_end_is_opened(
    here: Run, tmp_path: Path, opened: list[str]
) -> None:
    ended = here("demo --open --quiet")
    assert (ended.code, ended.out) == (0, "")
    assert opened == [(tmp_path / "conjury-demo" / "reports" / "conjoint.html").resolve().as_uri()]


@pytest.mark.long
def test_where_no_browser_is_the_page_is_named(
    here: Run, judged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    ended = here(f"judge {judged} --judge verdict --human ann,ben --html page.html --open")
    assert (ended.code, "page.html" in ended.err) == (0, True)


@pytest.mark.long
def test_without_a_page_nothing_is_opened_and_the_remedy_is_named(
    here: Run, judged: Path, opened: list[str]
) -> None:
    ended = here(f"judge {judged} --judge verdict --human ann,ben --open")
    assert (ended.code, opened) == (2, [])
    assert "--html" in ended.err
    here(f"judge {judged} --judge absent --human ann --html page.html --open")
    assert opened == []
