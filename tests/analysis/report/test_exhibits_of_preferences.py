"""What reports say about comparisons of profiles, cycles, importance, shares, rates and bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up.figures import PREFERENCES, example
from made_up.results import write_items
from snapshots import shown

from conjury.analysis.report import Report

SENTENCES = {
    "people_flow": "Of 60 people who started, 43 are analysed",
    "choice_level": "2 of 2 intervals exclude one half.",
    "choice_level, ties": "answers compared are ties; ties are a separate outcome",
    "choice_level, amce": "None against Generic",
    "afcp": "The clearest preference is for *None* over *Generic*, in 81.",
    "preference_cycles": "Direct and indirect preferences differ in none of 4 triples of levels. The joint",
    "importance": "The most important attribute is *Slur*, with a share of 8",
    "choice_shares": "if these were all, by a conditional logit model of the choices",
    "substitution": "by how much *Slur* would have to change to make up for each level",
    "share_preferring": "levels the data show what the majority prefers.",
}


@pytest.mark.parametrize("name", PREFERENCES)
def test_exhibits_state_what_was_found(name: str, tmp_path: Path) -> None:
    result = example(name).result
    text = shown(Report(write_items(tmp_path, {result.kind: result})), result.kind)
    assert SENTENCES[name] in text
    assert f"{{#fig-{result.kind.replace('_', '-')}}}" in text
    assert f"{{#tbl-{result.kind.replace('_', '-')}}}" in text
    assert "nan" not in text
