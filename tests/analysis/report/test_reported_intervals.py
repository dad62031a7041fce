"""Figures, tables and sentences have the intervals that a study reports."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fits import fit_study

from conjury.analysis.figures import draw
from conjury.analysis.frames.reported_intervals import reported
from conjury.analysis.pipeline.manifest import RecordedResult
from conjury.analysis.pipeline.runner import FitOptions
from conjury.analysis.report.exhibits.conjoint.conjoint_exhibits import effects
from conjury.analysis.report.paper.paper_tables import _SingleResult, tables_of_result
from conjury.analysis.results import Result
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

KIND_OF = {"human": "human", "gpt": "model"}
BOTH = {"human": "normal", "model": "bootstrap"}


def estimates(judge: str, place: float) -> pd.DataFrame:
    """Two levels; limits of the bootstrap are 0.3 wider than those of standard errors."""
    keys = {"judge": judge, "prompt": "", "variant": "", "statistic": "amce", "feature": "reply"}
    second = {"estimate": place, "std_error": 0.05, "z": place / 0.05, "p": 0.01}
    second |= {"lower": place - 0.1, "upper": place + 0.1, "boot_std_error": 0.2, "boot_p": 0.4}
    second |= {"boot_lower": place - 0.4, "boot_upper": place + 0.4}
    numbers = {name: [0.0 if name == "estimate" else np.nan, value] for name, value in second.items()}
    return pd.DataFrame({**keys, "level": ["none", "agree"], **numbers})


def made(intervals: dict[str, str] | None, judges: tuple[str, ...] = ("human", "gpt")) -> Result:
    frame = pd.concat([estimates(judge, 0.2 + k) for k, judge in enumerate(judges)], ignore_index=True)
    groups = [{"judge": judge, "kind": KIND_OF[judge], "unit": "pair_id"} for judge in judges]
    settings = {
        **{"verb": "amce", "interval": "percentile", "draws": 500, "alpha": 0.05, "vcov": "survey"},
        **{"id": "pair_id", "unit": "pair_id", "groups": groups, "intervals": intervals},
    }
    return Result(frame, "amce", settings=settings)


def lines(result: Result, **options: str) -> list[tuple[float, float]]:
    """Ends of the intervals that a figure shows, from its text in place of a picture."""
    figure = draw(result, **options)
    ends = [
        (round(float(path.vertices[0, 0]), 3), round(float(path.vertices[-1, 0]), 3))
        for axes in figure.axes
        for drawn in axes.collections
        for path in drawn.get_paths()
        if len(path.vertices) == 2 and path.vertices[0, 0] != path.vertices[-1, 0]
    ]
    return sorted(set(ends))


NORMAL, WIDE = [(0.1, 0.3), (1.1, 1.3)], [(-0.2, 0.6), (0.8, 1.6)]
MIXED = [NORMAL[0], WIDE[1]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("intervals", "shown", "words"),
    [
        (BOTH, MIXED, "95% intervals, percentile bootstrap for models and normal for people"),
        ({"human": "bootstrap", "model": "bootstrap"}, WIDE, "95% percentile bootstrap intervals"),
        ({"human": "normal", "model": "normal"}, NORMAL, "95% normal intervals"),
        (None, NORMAL, "95% normal intervals"),
    ],
)
def test_figures_draw_and_name_the_intervals_of_the_study(
    intervals: dict[str, str] | None, shown: list[tuple[float, float]], words: str
) -> None:
    result = made(intervals)
    assert lines(result) == shown
    figure = draw(result)
    labels = " ".join([figure.get_supxlabel(), *(axes.get_xlabel() for axes in figure.axes)])
    assert words in " ".join(labels.split())
    assert lines(result, interval="normal") == NORMAL
    assert lines(result, interval="bootstrap") == WIDE


def test_tables_have_the_intervals_of_the_study_in_cells_and_note() -> None:
    text = made(BOTH).to_markdown().replace("\\[", "[").replace("\\]", "]")
    assert "[0.100,\N{NO-BREAK SPACE}0.300]" in text
    assert "[0.800,\N{NO-BREAK SPACE}1.600]" in text
    assert "[1.100," not in text
    assert "In brackets: 95% intervals, percentile bootstrap for models and normal for people." in text


def test_a_table_of_one_judge_has_both_kinds_each_under_its_own_heading() -> None:
    (single,) = tables_of_result(made(BOTH, ("gpt",)))
    text = single.gt.as_raw_html()
    assert text.index("0.100") < text.index("\N{MINUS SIGN}0.200")
    assert "95% normal interval" in text
    assert "95% percentile bootstrap interval" in text


def test_sentences_of_a_report_have_the_intervals_of_the_study() -> None:
    result = made(BOTH)
    record = RecordedResult("amce", "amce", "Effects", dict(result.settings))
    section = effects(result, record, _SingleResult(result, record, {}))
    assert "percentile bootstrap for models and normal for people" in section.figures[0].caption
    assert "by at most 0.3000" in section.reading


@pytest.mark.long
def test_a_study_that_asks_for_the_bootstrap_of_models_gets_it_and_both_kinds_stay_in_the_table() -> None:
    study = load_study("moderation")
    study = study.model_copy(update={"analyses": study.analyses[:1]})
    choices = simulate(
        study, 5, pairs=120, respondents=20, judges=["human", "gpt4o"], prompts=["baseline"], truth=False
    ).choices
    result = fit_study(study, {"": choices}, FitOptions(draws=20)).by_name["amce"]
    assert result.settings["intervals"] == BOTH
    model = result.frame["judge"] == "gpt4o"
    table = reported(result.frame, result.settings)
    pd.testing.assert_series_equal(
        table["lower"][model], result.frame["boot_lower"][model], check_names=False
    )
    pd.testing.assert_series_equal(table["lower"][~model], result.frame["lower"][~model])
    assert (result.frame["boot_lower"] != result.frame["lower"])[model].any()
    assert reported(table, result.settings) is table
    other = fit_study(study, {"": choices}, FitOptions(draws=0)).by_name["amce"]
    assert reported(other.frame, other.settings) is other.frame
