"""``conjury perturb``: written files, printed counts, refused options."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.cli.main import main
from conjury.inference.tables import read_table, write_table

Command = Callable[..., tuple[int, str, str]]
Here = Callable[..., tuple[int, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command in a folder with items and labels; its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    items = pd.DataFrame(
        {
            "item_id": ["j2", "j1"],
            "language": ["es", "en"],
            "text": ["Hola.\nEl niño llora, <b>coño</b>.", "Hi.\nMy mom hates the elevator."],
        }
    )
    write_table(items.assign(lines=items["text"].str.split("\n")), "items.parquet")
    write_table(items, "items.csv")
    labels = [
        (item, f"line_{n}", label) for item in ("j1", "j2") for n, label in ((1, "setup"), (2, "punchline"))
    ]
    write_table(pd.DataFrame(labels, columns=["item_id", "label_set", "label"]), "labels.csv")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["conjury", "perturb", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capfd.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return run


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_pairs_labels_and_sheet_are_written(command: Command, suffix: str) -> None:
    given = ("--only", "punchline", "--labels", "labels.csv", "--rate", "0.5", "--rate", "dialect=0.2")
    assert command(f"items.{suffix}", *given)[0] == 0
    assert set(read_table(f"items.perturbed.refused.{suffix}")["reason"]) == {"rate not met"}
    code, out, _ = command(f"items.{suffix}", *given, "--allow-unmet")
    assert code == 0
    items = read_table(f"items.perturbed.{suffix}", "items")
    assert len(items) == 10
    assert all(text.startswith(("Hola.\n", "Hi.\n")) for text in items["text"])
    assert len(read_table(f"items.perturbed.labels.{suffix}", "labels")) == 20
    assert read_table(f"items.perturbed.refused.{suffix}").empty
    assert "dialect, en: 1 pairs of 1 items; rate 0.2 requested, mean 0.200; not met in 0" in out
    assert "Note: dialect, en: 1 pairs are too few" in out
    page = Path("items.perturbed.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_same_seed_gives_the_same_bytes_in_any_order_of_rows(command: Command) -> None:
    files = ("a.parquet", "a.html", "a.refused.parquet")
    command("items.parquet", "--kinds", "orthographic,drift", "--out", "a.parquet")
    first = [Path(name).read_bytes() for name in files]
    write_table(read_table("items.parquet", "items").iloc[::-1], "items.parquet")
    command("items.parquet", "--kinds", "drift,orthographic", "--out", "a.parquet")
    assert [Path(name).read_bytes() for name in files] == first
    command("items.parquet", "--kinds", "drift,orthographic", "--out", "a.parquet", "--seed", "2")
    assert Path("a.parquet").read_bytes() != first[0]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("items.parquet", "--kinds", "drft"), "did you mean 'drift'"),
        (("items.parquet", "--kinds", "drift,,dialect"), "--kinds 'drift,,dialect' names nothing"),
        (("item.parquet",), "did you mean 'items.parquet'"),
        (("items.parquet", "--rate", "much"), "--rate 'much' is no share"),
        (
            ("items.parquet", "--kinds", "drift", "--rate", "dialect=0.1"),
            "'dialect' is not in --kinds",
        ),
        (("items.parquet", "--dialect", "uk"), "write NAME=VALUE"),
        (("items.parquet", "--out", "items.parquet"), "items.parquet would be overwritten"),
        (("items.parquet", "--out", "copies"), "add an ending"),
        (("items.parquet", "--language-column", "lang"), "did you mean 'language'"),
        (("moderation",), "moderation is a conjoint"),
    ],
)
def test_refused_options_end_with_one_sentence(
    command: Command, arguments: tuple[str, ...], problem: str
) -> None:
    before = set(Path().iterdir())
    code, _, err = command(*arguments)
    assert code == 2
    assert problem in err
    assert err.count("\n") == 1
    assert set(Path().iterdir()) == before


def test_a_study_is_named_in_place_of_its_files(conjury_here: Here) -> None:
    code, printed = conjury_here("perturb", "multiturn", "--only", "punchline", "--kinds", "orthographic")
    assert code == 0, printed
    copies, labels = pd.read_csv("multiturn.perturbed.csv"), pd.read_csv("multiturn.perturbed.labels.csv")
    assert copies["condition"].value_counts().to_dict() == {"none": 20, "orthographic": 20}
    assert set(labels["item_id"]) == set(copies["item_id"])
