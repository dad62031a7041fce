"""Figures of ratings: what is drawn where, words instead of identifiers, nothing cut off, both themes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from conjury.analysis.figures import alt as alt_of
from conjury.analysis.figures import draw as figure_of
from conjury.analysis.figures.raters import DRAWN, dimension_maps
from conjury.analysis.figures.raters.descriptions import radar
from conjury.analysis.figures.raters.naming import Names
from conjury.analysis.figures.theme import LIGHT, THEMES
from conjury.analysis.raters import (
    Result,
    biases,
    correlations,
    dimension_correlations,
    distributions,
    means,
    rating_lines,
    tier_accuracy,
)
from conjury.inference.errors import InputError

Tables = tuple[pd.DataFrame, pd.DataFrame]
LABELS = {
    ("judges", "gpt"): "GPT with a rather long name, version 4.1",
    ("dimension", "funniness"): "Overall funniness of the response",
    ("response_type", "serious"): "A serious answer that is not meant to be funny",
}


@pytest.fixture(scope="module")
def results(simulate: Callable[..., Tables]) -> dict[str, Result]:
    tables = simulate(12)
    made = [
        means(*tables, by="response_type", cluster="topic_id", draws=8),
        correlations(*tables, by="response_type", cluster="topic_id", draws=8),
        dimension_correlations(*tables, cluster="topic_id", draws=8),
        rating_lines(*tables, by="response_type", cluster="topic_id", draws=8),
        distributions(*tables),
        biases(*tables, generator="generator", unrelated=("response_type", "unrelated"), draws=8),
        tier_accuracy(
            *tables, levels=["high", "mid", "low"], column="response_type", within="topic_id", draws=8
        ),
    ]
    return {result.kind: result for result in made}


def texts(figure: Figure) -> list[str]:
    figure.draw_without_rendering()
    shown = [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]  # type: ignore[attr-defined]
    return [text for text in shown if text]


def is_whole(figure: Figure) -> bool:
    """Whether everything drawn lies inside the figure, up to two hundredths of an inch."""
    figure.draw_without_rendering()
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    return bool(box.x0 > -0.02 and box.y0 > -0.02 and box.x1 < width + 0.02 and box.y1 < height + 0.02)


KINDS = [
    "means",
    "correlations",
    "dimension_correlations",
    "rating_lines",
    "distributions",
    "biases",
    "tier_accuracy",
]
QUICK = ["correlations", "dimension_correlations", "tier_accuracy"]


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_each_result_is_drawn_in_words_and_nothing_is_cut_off(results: dict[str, Result], kind: str) -> None:
    figure = figure_of(results[kind], labels=LABELS, title="A heading")
    shown = texts(figure)
    assert not [text for text in shown if "_" in text]
    assert any("GPT with" in text for text in shown)
    assert "A heading" in shown
    assert is_whole(figure)
    assert figure.get_size_inches()[0] <= 7.2


@pytest.mark.parametrize("kind", ["tier_accuracy"])
def test_the_dark_theme_is_dark(results: dict[str, Result], kind: str) -> None:
    figure = figure_of(results[kind], theme="dark")
    assert figure.get_facecolor()[:3] != (1, 1, 1)
    assert set(THEMES) == {"light", "dark"}


@pytest.mark.parametrize("kind", KINDS)
def test_alternative_texts_tell_numbers(results: dict[str, Result], kind: str) -> None:
    told = alt_of(results[kind])
    assert any(character.isdigit() for character in told)
    assert "_" not in told
    assert "nan" not in told
    assert kind in DRAWN


def test_people_have_the_first_colour_wherever_they_stand() -> None:
    place = Names(None).place
    assert place("human", ["gpt", "human"]) == 0
    assert [place(name, ["human", "gpt", "gemini"]) for name in ("gpt", "gemini")] == [1, 2]
    assert place("one person", ["human", "one person", "gpt"]) == 2


def test_a_judge_has_one_colour_in_all_figures_whoever_else_is_shown() -> None:
    place = Names({("judges", name): name for name in ("gpt", "gemini", "claude", "human")}).place
    for shown in (["claude"], ["claude", "gpt"], ["human", "gemini", "claude"]):
        assert place("claude", shown) == 3
    assert place("new", ["new", "gpt"]) == 4


def test_a_judge_has_one_name_in_every_column() -> None:
    names = Names({("judges", "m"): "Model M"})
    assert {names.of(column, "m") for column in ("judge", "group", "judges")} == {"Model M"}
    assert names.of("judge", "human") == "People"
    assert Names({("judges", "human"): "Readers"}).of("group", "human") == "Readers"


def test_the_map_holds_people_below_and_the_model_above_the_diagonal(results: dict[str, Result]) -> None:
    result = results["dimension_correlations"]
    figure = dimension_maps.draw(result, above=["gemini"])
    image = np.ma.filled(figure.axes[0].images[0].get_array(), np.nan)  # type: ignore[union-attr]
    frame = result.frame.set_index(["group", "dimension", "other"])["estimate"]
    assert image[1, 0] == pytest.approx(frame["human", "novelty", "empathy"])
    assert image[0, 1] == pytest.approx(frame["gemini", "novelty", "empathy"])
    assert np.isnan(image.diagonal()).all()


def test_points_of_forests_stand_at_their_estimates(results: dict[str, Result]) -> None:
    result = results["correlations"]
    figure = figure_of(result, dimensions=["empathy"], coefficient="pearson")
    frame = result.frame[
        (result.frame["dimension"] == "empathy") & (result.frame["coefficient"] == "pearson")
    ]
    drawn = {
        line.get_color(): line.get_xdata() for line in figure.axes[0].lines if line.get_linestyle() == "None"
    }
    gemini = frame[frame["judge"] == "gemini"]["estimate"].to_numpy(float)
    assert np.asarray(
        drawn[LIGHT.color(Names(None).place("gemini", ["gpt", "gemini", "claude"]))], float
    ) == pytest.approx(gemini)


def test_radars_need_three_dimensions_and_one_column(
    results: dict[str, Result], simulate: Callable[..., Tables]
) -> None:
    assert len(radar.draw(results["means"], strata=["high", "low"]).axes) == 2
    assert len(radar.draw(results["means"], lines="stratum").axes) == 4
    tables = simulate(3)
    with pytest.raises(InputError, match="not by 2"):
        radar.draw(means(*tables, by=("modality", "response_type"), draws=3))
    with pytest.raises(InputError, match="three dimensions"):
        radar.draw(means(*tables, by="response_type", dimensions=["novelty"], draws=3))


@pytest.mark.slow
def test_radars_with_long_labels_are_whole(results: dict[str, Result]) -> None:
    for lines in ("group", "stratum"):
        assert is_whole(radar.draw(results["means"], labels=LABELS, lines=lines))  # type: ignore[arg-type]


def test_what_is_not_there_cannot_be_chosen(results: dict[str, Result]) -> None:
    with pytest.raises(InputError, match=r"no dimension 'funnines' \(did you mean 'funniness'"):
        figure_of(results["tier_accuracy"], dimension="funnines")
    with pytest.raises(InputError, match="no quantity 'owner'"):
        figure_of(results["biases"], quantities=["owner"])


def test_a_correlation_that_is_not_defined_leaves_a_gap(simulate: Callable[..., Tables]) -> None:
    judgments, items = simulate(6, dimensions=["wit"])
    value = judgments["value"].mask(judgments["judge_id"] == "gpt", 4.0)
    figure = figure_of(correlations(judgments.assign(value=value), items, by=(), draws=5))
    figure.draw_without_rendering()
    assert len(figure.axes) == 1
