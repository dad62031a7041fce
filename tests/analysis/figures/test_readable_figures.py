"""What keeps figures readable: intervals of many series, thousands, labels of judges in checks."""

from __future__ import annotations

import pandas as pd
import pytest
from drawn import row_labels
from made_up import label_results as labels
from matplotlib.collections import LineCollection, PolyCollection

from conjury.analysis import figures
from conjury.analysis.figures.diagnostics.check_figures import only_zeros
from conjury.analysis.results import Result


@pytest.mark.long
@pytest.mark.parametrize("many", [True, False])
def test_intervals_of_many_series_are_lines_side_by_side_and_of_few_are_bands(many: bool) -> None:
    result = labels.passes(by=())
    judges = list(dict.fromkeys(result.frame["judge"]))
    extra = [result.frame[result.frame["judge"] == judges[0]].assign(judge=f"more_{k}") for k in range(4)]
    frame = pd.concat([result.frame, *extra]) if many else result.frame
    figure = figures.draw(Result(frame, "passes", settings=result.settings))
    axes = figure.axes[0]
    kind = LineCollection if many else PolyCollection
    assert axes.collections
    assert all(isinstance(one, kind) for one in axes.collections)
    label = figure.get_supxlabel()
    assert ("vertical lines: 95%" in label) == many
    assert ("bands: 95%" in label) != many
    marked = [line.get_xdata() for line in axes.get_lines() if line.get_marker() not in ("", "None")]
    assert len({float(x[0]) for x in marked}) == (len(marked) if many else 1)


def design_card(**columns: object) -> Result:
    levels = [("gpt4o", "baseline", "tone", level, n) for level, n in (("rude", 1500.0), ("kind", 3100.0))]
    frame = pd.DataFrame(levels, columns=["judge", "prompt", "feature", "level", "estimate"])
    return Result(frame.assign(**columns), "design_card")


def test_counts_on_axes_have_thousands_separators() -> None:
    axes = figures.draw(design_card()).axes[0]
    ticks = [axes.xaxis.get_major_formatter()(x) for x in (0.0, 1000.0, 2500.0, -1000.0)]
    assert ticks[1:] == ["1,000", "2,500", "\N{MINUS SIGN}1,000"]
    assert "," not in ticks[0]


def test_checks_name_judges_and_prompts_by_their_labels() -> None:
    numbers = {"estimate": [0.5, 0.6], "lower": 0.4, "upper": 0.7}
    frame = pd.DataFrame({"judge": ["gpt4o", "human"], "prompt": ["baseline", ""], **numbers})
    given = {("judges", "gpt4o"): "GPT-4o", ("prompts", "baseline"): "Policy only"}
    figure = figures.draw(Result(frame, "position_share"), labels=given)
    assert row_labels(figure.axes[0]) == ["GPT-4o, Policy only", "People"]


def test_a_check_without_repeated_rows_has_no_figure() -> None:
    assert only_zeros("repeated_keys", pd.DataFrame({"estimate": [0.0, 0.0]}))
    assert not only_zeros("repeated_keys", pd.DataFrame({"estimate": [0.0, 1.0]}))
