from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from conjury.analysis.conjoint import (
    amce,
    amce_by_reference,
    amce_diffs,
    bootstrap,
    cj,
    cj_anova,
    cj_freqs,
    cj_props,
    cj_table,
    mm,
    mm_diffs,
)
from conjury.inference.errors import InputError

FORMULA = "chosen ~ tone + topic"


@pytest.fixture(scope="module")
def choices() -> pd.DataFrame:
    random = np.random.default_rng(5)
    n = 600
    levels = {
        "tone": ["rude", "kind", "plain"],
        "topic": ["sport", "work"],
        "who": ["black_male", "anonymous"],
    }
    drawn = {
        name: pd.Categorical.from_codes(random.integers(0, len(found), n), found)
        for name, found in levels.items()
    }
    chosen = np.ravel([random.permutation(2) for _ in range(n // 2)])
    return pd.DataFrame({**drawn, "chosen": chosen, "pair_id": np.repeat(np.arange(n // 2), 2)})


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def lines_at(figure: Figure) -> set[float]:
    return {
        float(line.get_xdata()[0])
        for axes in figure.axes
        for line in axes.lines
        if len(line.get_xdata()) == 2 and line.get_xdata()[0] == line.get_xdata()[1]
    }


def test_effects_stand_around_zero_and_name_their_interval(choices) -> None:
    figure = amce(choices, FORMULA, "pair_id", alpha=0.1).plot()
    assert titles(figure) == ["Tone", "Topic"]
    assert figure.get_supxlabel() == "Average marginal component effect (lines: 90% normal intervals)"
    booted = bootstrap(amce, choices, FORMULA, draws=20, seed=1).plot()
    assert booted.get_supxlabel().endswith("(lines: 95% percentile bootstrap intervals)")


@pytest.mark.parametrize(("h0", "line"), [(0.5, {0.5}), (0.0, {0.5}), (0.3, {0.3})])
def test_marginal_means_stand_around_their_null_value(choices, h0: float, line: set[float]) -> None:
    assert lines_at(mm(choices, FORMULA, "pair_id", h0=h0).plot()) == line


def test_marginal_means_of_ratings_have_no_line_at_one_half(choices) -> None:
    assert lines_at(mm(choices.assign(chosen=choices["chosen"] * 4 + 1), FORMULA).plot()) == set()


def test_groups_stand_side_by_side_in_words(choices) -> None:
    words = {("who", "anonymous"): "Nobody"}
    for estimate in ("amce", "mm", "frequencies"):
        figure = cj(choices, FORMULA, estimate=estimate, by="who").plot(labels=words)
        assert legend(figure) == ["Black male", "Nobody"]
    assert len(legend(cj(choices, "chosen ~ tone", by=["who", "topic"]).plot())) == 4


@pytest.mark.parametrize("verb", [amce_diffs, mm_diffs])
def test_differences_name_both_groups_and_stand_around_zero(choices, verb) -> None:
    three = choices.assign(who=choices["tone"])
    figure = verb(three, "chosen ~ topic", "who", "pair_id").plot()
    assert legend(figure) == ["Kind minus rude", "Plain minus rude"]
    assert lines_at(figure) == {0.0}


def test_each_reference_has_a_panel_of_its_feature_only(choices) -> None:
    figure = amce_by_reference(choices, FORMULA, "tone", "pair_id").plot()
    assert titles(figure) == ["Reference: Rude", "Reference: Kind", "Reference: Plain"]
    labels = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert labels == ["Rude", "Kind (reference)", "Plain"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_counts_and_bootstrapped_counts_are_drawn(choices, theme: str) -> None:
    assert titles(cj_freqs(choices, FORMULA).plot(theme=theme)) == ["Tone", "Topic"]
    figure = bootstrap(cj_freqs, choices, FORMULA, draws=20, seed=1).plot(theme=theme)
    assert all(axes.collections for axes in figure.axes)


def test_joint_proportions_of_two_features_become_a_heat_map(choices) -> None:
    for made in (
        cj_props(choices, "~ tone + topic"),
        bootstrap(cj_props, choices, "~ tone + topic", draws=20, seed=1),
    ):
        figure = made.plot()
        assert len(figure.axes[0].texts) == 6
        assert "all profiles" in figure.get_supxlabel()
    within = cj_props(choices, "~ tone + topic", margin=1).plot()
    assert "each level of tone" in within.get_supxlabel()


@pytest.mark.parametrize("features", ["tone", "tone + topic + who"])
def test_joint_proportions_of_other_than_two_features_are_refused(choices, features: str) -> None:
    with pytest.raises(InputError, match="heat map shows the joint proportions of two features"):
        cj_props(choices, f"~ {features}").plot()


def test_tests_and_lists_of_levels_say_that_they_have_no_figure(choices) -> None:
    with pytest.raises(InputError, match=r"nested models has no figure; print its table with \.frame"):
        cj_anova(choices, FORMULA, "who").plot()
    for asked in (False, True):
        with pytest.raises(InputError, match=r"levels has no figure; print its table with \.frame"):
            cj_table(choices, FORMULA, include_reference=asked).plot()
