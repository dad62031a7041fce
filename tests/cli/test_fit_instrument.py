"""``conjury fit`` and ``conjury report`` of choices whose columns name facets of the request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from made_up.choices import in_both_orders

from conjury.inference.tables import write_table

Told = Callable[..., str]


@pytest.mark.slow
def test_the_command_fits_and_reports_an_instrument(tmp_path: Path, short_study: Path, done: Told) -> None:
    write_table(in_both_orders(), tmp_path / "choices.parquet")
    done("fit", short_study / "study.yaml", "--data choices.parquet --draws 0 --out results", cwd=tmp_path)
    assert (tmp_path / "results" / "figures" / "specifications.svg").is_file()
    done("report", "conjoint", "--results results", cwd=tmp_path)
    page = " ".join((tmp_path / "reports" / "conjoint.html").read_text(encoding="utf-8").split())
    assert "Judges as instruments" in page
    assert "chooses the first position in" in page
    assert "the conclusion on" in page
