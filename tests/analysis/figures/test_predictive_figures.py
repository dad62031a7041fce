"""Figures of predictive checks, and of estimates against true values."""

from __future__ import annotations

import made_up_ratings as made
import numpy as np
import pandas as pd
import pytest

from conjury.analysis.figures import alt as alt_of
from conjury.analysis.figures import draw as figure_of
from conjury.analysis.figures import parts as further_figures
from conjury.analysis.figures.raters.models import predicted_shares
from conjury.analysis.raters.models.checks import fit_in_words
from conjury.analysis.results import Result


def test_shares_of_prior_and_posterior_stand_in_one_row() -> None:
    found = predicted_shares(
        made.rater_model(frequencies=made.shares(), prior_frequencies=made.shares(wide=0.3))
    )
    assert len(found) == 10
    assert found["category"].tolist()[:2] == ["0", "1"]
    assert (
        ((found["prior_upper"] - found["prior_lower"]) / (found["upper"] - found["lower"]))
        .round(6)
        .eq(10)
        .all()
    )
    alone = predicted_shares(made.rater_model(frequencies=made.shares()))
    assert alone["prior_lower"].isna().all()
    assert predicted_shares(made.rater_model()).empty


def test_checks_of_labels_and_dimensions_come_in_the_same_layout() -> None:
    labels = made.shares().rename(columns={"group": "judge", "category": "label"}).assign(label="no")
    found = predicted_shares(Result(labels, "label_model", extra={"check": labels}))
    assert set(found["group"]) == {"human", "gpt_4_1"}
    table = made.shares().rename(columns={"category": "value"}).assign(statistic="share", dimension="fun")
    other = table.head(1).assign(statistic="ratings", value=np.nan)
    check = pd.concat([table, other, table.assign(dimension="wit")])
    result = Result(check, "dimension_model", extra={"check": check})
    found = predicted_shares(result)
    assert found.groupby("dimension", sort=False).size().to_dict() == {"fun": 10, "wit": 10}
    titles = [axes.get_title(loc="left") for axes in figure_of(result, part="check", labels=made.LABELS).axes]
    assert "GPT-4.1, Overall fun" in [text.replace("\n", " ") for text in titles]


def test_checks_of_choices_are_drawn_by_level() -> None:
    check = pd.DataFrame(
        {"statistic": ["share", "share", "SD between raters"], "feature": ["tone", "position", "tone"],
         "level": ["very_loud", "A", "very_loud"], "observed": [0.9, 0.5, 0.1], "expected": 0.5, "lower": 0.4,
         "upper": 0.6}
    )  # fmt: skip
    prior = check.assign(lower=0.1, upper=0.95)
    result = Result(check, "choice_model", extra={"check": check, "prior_check": prior})
    assert further_figures(result) == ["check"]
    (axes,) = figure_of(result, part="check", labels={("tone", "very_loud"): "Very loud!"}).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["Tone: Very loud!", "Position: A"]
    assert predicted_shares(result)["prior_upper"].tolist() == [0.95, 0.95]
    assert "1 of 2 observed shares are outside" in alt_of(result, None, "check")
    assert "(Tone: Very loud: 0.90)" in alt_of(result, None, "check")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_observed_shares_prior_and_posterior_are_drawn(theme: str) -> None:
    result = made.rater_model(frequencies=made.shares(), prior_frequencies=made.shares(wide=0.3))
    assert further_figures(result) == ["check"]
    figure = figure_of(result, part="check", theme=theme, labels=made.LABELS)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["Observed", "Predicted by the fitted model", "Predicted by the priors alone"]
    assert figure.axes[1].get_title(loc="left") == "GPT-4.1"


def test_estimates_are_drawn_against_the_truth_by_kind() -> None:
    result = Result(made.recovered(), "recovery")
    figure = figure_of(result, labels=made.LABELS)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Mean rating", "Higher than people"]
    points = [line for line in figure.axes[0].lines if line.get_marker() != "None"]
    hollow = [line for line in points if line.get_markerfacecolor() != line.get_color()]
    assert sum(len(np.atleast_1d(line.get_xdata())) for line in hollow) == 1
    assert "Mean rating: 1 of 2 intervals contain" in alt_of(result, made.LABELS)
    assert "Higher than people: 0 of 0 intervals contain" in alt_of(result, made.LABELS)


def test_names_without_a_value_do_not_stop_the_words_of_a_check() -> None:
    table = pd.DataFrame({"group": ["a"], "dimension": pd.array([pd.NA], dtype="string"), "observed": [0.9],
                          "lower": [0.1], "upper": [0.3]})  # fmt: skip
    assert fit_in_words(table, "shares").endswith(": a.")


def test_a_radar_goes_with_means_by_one_column_on_three_dimensions() -> None:
    assert further_figures(made.means()) == ["radar"]
    assert further_figures(made.means(types=False)) == []
    figure = made.means().plot(part="radar")
    assert figure.axes[0].name == "polar"
    assert alt_of(made.means(), {}, "radar")


def test_pairs_go_with_agreement_only_where_enough_items_are_shared() -> None:
    pairs = pd.DataFrame(
        {"dimension": "wit", "judge": "ann", "other": ["bob", "gpt"], "judge_kind": "human",
         "other_kind": ["human", "model"], "coefficient": "cohen", "weights": "nominal",
         "estimate": [0.5, 0.2], "n_items": 80}
    )  # fmt: skip

    def result(n_items: int) -> Result:
        return Result(pairs, "agreement", extra={"pairs": pairs.assign(n_items=n_items)})

    assert further_figures(result(80)) == ["pairs"]
    assert further_figures(result(3)) == []
    assert len(result(80).plot(part="pairs").axes) == 2
