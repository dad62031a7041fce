"""What reports say about comparisons of profiles, cycles, importance, shares, rates and bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import cases
from made_up.figures import PREFERENCES, example
from made_up.results import write_items
from snapshots import shown

from conjury.analysis.report import Report

SENTENCES = dict(cases(__file__, "sentences"))


@pytest.mark.parametrize("name", PREFERENCES)
def test_exhibits_state_what_was_found(name: str, tmp_path: Path) -> None:
    result = example(name).result
    text = shown(Report(write_items(tmp_path, {result.kind: result})), result.kind)
    assert SENTENCES[name] in text
    assert f"{{#fig-{result.kind.replace('_', '-')}}}" in text
    assert f"{{#tbl-{result.kind.replace('_', '-')}}}" in text
    assert "nan" not in text
