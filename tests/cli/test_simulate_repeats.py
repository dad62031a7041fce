"""Models that the simulator asks again, by the command line."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from conjury.inference.tables import read_table

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_repeats_and_samples_are_drawn_on_request(conjury: Run, tmp_path: Path) -> None:
    who = ["--judge", "gpt4o", "--prompt", "baseline", "--pairs", 50, "--out", "choices.parquet"]
    again = ["--swapped-share", 0.2, "--samples", 2, "--noise", 0.3]
    made = conjury("simulate", "moderation", *who, *again, cwd=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    choices = read_table(tmp_path / "choices.parquet")
    assert choices.groupby(["repeat", "sample"], observed=True).size().tolist() == [100, 100, 20, 20]
    one, two = (choices[choices["sample"] == number]["chosen"].tolist() for number in (1, 2))
    assert one != two


def test_a_share_beyond_one_is_refused(conjury: Run, tmp_path: Path) -> None:
    refused = conjury("simulate", "moderation", "--out", "c.csv", "--swapped-share", 2, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == "conjury: The share of swapped pairs is 2; give a number from 0 to 1.\n"
