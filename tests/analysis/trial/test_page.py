"""The trial of docs/comparisons/validation.md runs as it is printed there."""

from __future__ import annotations

import re
from pathlib import Path

from conjury.analysis.trial import load_trial, run_trial
from conjury.inference.tables.files import ROOT


def block(language: str) -> str:
    page = (ROOT / "docs" / "comparisons" / "validation.md").read_text(encoding="utf-8")
    found = re.search(rf"^```{language}\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_file_and_the_module_of_the_page_make_a_trial(tmp_path: Path) -> None:
    (tmp_path / "raters.yaml").write_text(block("yaml"), encoding="utf-8")
    (tmp_path / "means.py").write_text(block("py"), encoding="utf-8")
    result = run_trial(load_trial(tmp_path / "raters.yaml"), draws=8)
    tone = result.frame.query("quantity == 'tone=rude' and measure == 'failures'")
    assert set(tone["method"]) == {"CR1", "Means of raters"}
    assert (tone["estimate"] == 0).all()
    assert result.notes == ()
