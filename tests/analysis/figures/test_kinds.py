"""Which kinds of results have figures, and what their alternative texts say."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from drawings import FOLDER
from made_up.figures import CHECKS, example

from conjury.analysis import figures
from conjury.analysis.checks.check_runner import NAMES
from conjury.analysis.results import Result
from conjury.inference.errors import InputError


def test_every_kind_is_described_with_numbers_and_no_identifiers() -> None:
    """Of the stored descriptions, which test_drawings compares with those of today."""
    for file in FOLDER.glob("*.txt"):
        text = file.read_text(encoding="utf-8").partition("\nfigure ")[0]
        assert re.search(r"\d", text), file.name
        assert not re.search(r"_|\bnan\b|  ", text), file.name
        assert text.endswith("."), file.name


def test_unknown_kinds_and_parts_are_refused_and_every_check_has_a_figure() -> None:
    scores = example("scores").result
    cards = type(scores)(scores.frame, "cards")
    assert figures.parts(scores) == ["policies"]
    assert (figures.has_figure(scores), figures.has_figure(cards)) == (True, False)
    with pytest.raises(InputError, match="no part 'trace' of the figure of 'scores'"):
        figures.draw(scores, part="trace")
    with pytest.raises(InputError, match="no figure; print their table"):
        figures.draw(cards)
    assert set(CHECKS) <= set(NAMES)
    own = {name for name in NAMES if figures.has_figure(Result(pd.DataFrame(), name))}
    assert own == set(CHECKS)  # the others are drawn by the figure of all checks
