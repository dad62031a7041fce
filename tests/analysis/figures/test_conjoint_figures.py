"""Figures of conjoints: what stands where, and which figure a result gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up_figures import EFFECTS, HUMAN, JUDGES, design, equivalence, powers
from made_up_results import ATTRIBUTES, amce_frame, difference_frame, engines_summary, frequencies_frame
from matplotlib.figure import Figure

from conjury.analysis import figures
from conjury.analysis.audit import compare_moderation
from conjury.analysis.conjoint import (
    adjust,
    amce,
    amce_by_reference,
    amce_diffs,
    bootstrap,
    cj,
    cj_anova,
    cj_freqs,
    cj_props,
    cj_table,
    contrast,
    interaction,
    mm,
    mm_diffs,
    pamce,
    pmm,
    wald,
)
from conjury.analysis.conjoint import equivalence as test_equivalence_of
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

FORMULA = "chosen ~ tone + topic"
TARGET = {"topic": {"work": 0.8, "sport": 0.2}}
test_equivalence_of.__test__ = False  # type: ignore[attr-defined]


def draw(frame: pd.DataFrame, kind: str = "amce", extra: dict[str, pd.DataFrame] | None = None,
         **options: Any) -> Figure:  # fmt: skip
    return figures.draw(Result(frame, kind, extra=extra or {}), **options)


def alt(frame: pd.DataFrame, kind: str = "amce", extra: dict[str, pd.DataFrame] | None = None,
        **options: Any) -> str:  # fmt: skip
    return figures.alt(Result(frame, kind, extra=extra or {}), **options)


def points_drawn(figure: Figure) -> list[float]:
    return sorted(
        round(float(x), 9)
        for axes in figure.axes
        for line in axes.lines
        if line.get_linestyle() == "None"
        for x in np.atleast_1d(line.get_xdata())
    )


def tick_labels(figure: Figure) -> list[str]:
    return [label.get_text() for axes in figure.axes for label in axes.get_yticklabels()]


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def lines_at(figure: Figure) -> set[float]:
    """Where vertical lines stand."""
    pairs = [line.get_xdata() for axes in figure.axes for line in axes.lines if len(line.get_xdata()) == 2]
    return {round(float(x[0]), 6) for x in pairs if x[0] == x[1]}


@pytest.fixture(scope="module")
def choices() -> pd.DataFrame:
    random = np.random.default_rng(5)
    n, levels = 600, {"tone": ["rude", "kind", "plain"], "topic": ["sport", "work"],
                      "who": ["black_male", "anonymous"]}  # fmt: skip
    drawn = {
        name: pd.Categorical.from_codes(random.integers(0, len(found), n), found)
        for name, found in levels.items()
    }
    chosen = np.ravel([random.permutation(2) for _ in range(n // 2)])
    return pd.DataFrame({**drawn, "chosen": chosen, "pair_id": np.repeat(np.arange(n // 2), 2)})


def test_every_estimate_and_one_mark_per_reference_level_are_drawn() -> None:
    frame = amce_frame({"human": [""], "model_x": ["baseline"]})
    estimates = frame.loc[frame["std_error"].notna(), "estimate"]
    expected = sorted([round(value, 9) for value in estimates] + [0.0] * len(ATTRIBUTES))
    assert points_drawn(draw(frame)) == pytest.approx(expected)


def test_attributes_stand_in_panels_by_size_and_reference_levels_are_named() -> None:
    figure = draw(HUMAN, labels={"slur": "Insult", ("slur", "none"): "Nothing"})
    assert titles(figure) == ["Insult", "Identity", "Curse"]
    assert {"Generic (reference)", "Nothing", "Black male"} <= set(tick_labels(figure))
    figure.draw_without_rendering()
    heights = [axes.get_position().height for axes in figure.axes]
    assert heights[0] > heights[1] > heights[2]


def test_bootstrap_intervals_are_drawn_when_asked_for() -> None:
    figure = draw(HUMAN, interval="bootstrap")
    lines = [lines for axes in figure.axes for lines in axes.collections]
    drawn = sorted(float(segment[0][0]) for line in lines for segment in line.get_segments())
    assert drawn == pytest.approx(sorted(HUMAN["boot_lower"].dropna()))


def test_series_differ_in_colour_and_marker_and_are_named_in_words() -> None:
    figure = draw(JUDGES)
    assert legend(figure) == ["People", "Model x, Baseline", "Model x, Context"]
    handles = figure.legends[0].legend_handles
    assert len({(h.get_color(), h.get_marker()) for h in handles}) == 3  # type: ignore[union-attr]


def test_a_judge_keeps_the_colour_that_it_has_among_all_judges() -> None:
    labels = {("judges", name): name for name in ("first", "second", "model_x")}
    one = amce_frame({"model_x": ["baseline"]})
    two = amce_frame({"human": [""], "model_x": ["baseline"]})

    def color(frame: pd.DataFrame) -> Any:
        return draw(frame, labels=labels).axes[0].lines[len(frame["judge"].unique()) - 1].get_color()

    assert color(one) == color(two)


def test_a_level_that_never_occurred_is_marked() -> None:
    frame = HUMAN.copy()
    frame.loc[frame["level"] == "sexism", ["estimate", "std_error", "lower", "upper"]] = np.nan
    assert texts(draw(frame)) == ["no estimate"]


def test_alternative_texts_of_many_estimates_name_the_extremes() -> None:
    many = amce_frame({name: [""] for name in "abcdefg"})
    found = many.loc[many["std_error"].notna(), "estimate"]
    text = alt(many)
    assert f"{len(found)} estimates, from " in text
    assert f" {found.min():.3f} [" in text
    assert f" {found.max():.3f} [" in text


@pytest.mark.parametrize(
    ("kind", "frame", "message"),
    [
        ("amce", pd.concat([HUMAN] * 2), "more than once; name the column"),
        ("amce", HUMAN.drop(columns="lower"), "column 'lower'"),
        ("amce", HUMAN.head(0), "no rows"),
        ("cj_freqs", pd.concat([frequencies_frame()] * 2), "more than once; name the column"),
        ("contrast", HUMAN, "'reference'"),
        ("significance", HUMAN, "'p_adjusted'"),
        ("equivalence", HUMAN.assign(verdict=""), "'equivalence_lower'"),
        ("truth", HUMAN, "column 'true'"),
        ("design_shares", design().iloc[:0], "no levels"),
        ("detectable", EFFECTS.iloc[:0], "no rows"),
    ],
)
def test_a_table_that_cannot_be_drawn_says_why(kind: str, frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw(frame, kind)
    with pytest.raises(InputError, match="no column 'country'"):
        draw(HUMAN, group="country")


def test_effects_stand_around_zero_and_name_their_interval(choices: pd.DataFrame) -> None:
    figure = amce(choices, FORMULA, "pair_id", alpha=0.1).plot()
    assert titles(figure) == ["Tone", "Topic"]
    assert figure.get_supxlabel() == "Average marginal component effect (lines: 90% normal intervals)"
    booted = bootstrap(amce, choices, FORMULA, draws=20, seed=1).plot()
    assert booted.get_supxlabel().endswith("(lines: 95% percentile bootstrap intervals)")


@pytest.mark.parametrize(("h0", "line"), [(0.5, {0.5}), (0.0, {0.5}), (0.3, {0.3})])
def test_marginal_means_stand_around_their_null_value(choices, h0: float, line: set[float]) -> None:
    assert lines_at(mm(choices, FORMULA, "pair_id", h0=h0).plot()) == line


def test_marginal_means_of_ratings_have_no_line_at_one_half(choices: pd.DataFrame) -> None:
    assert lines_at(mm(choices.assign(chosen=choices["chosen"] * 4 + 1), FORMULA).plot()) == set()


def test_groups_stand_side_by_side_in_words(choices: pd.DataFrame) -> None:
    words = {("who", "anonymous"): "Nobody"}
    for estimate in ("amce", "mm", "frequencies"):
        figure = cj(choices, FORMULA, estimate=estimate, by="who").plot(labels=words)
        assert legend(figure) == ["Black male", "Nobody"]
    assert len(legend(cj(choices, "chosen ~ tone", by=["who", "topic"]).plot())) == 4


@pytest.mark.parametrize("verb", [amce_diffs, mm_diffs])
def test_differences_name_both_groups_and_stand_around_zero(choices: pd.DataFrame, verb) -> None:
    figure = verb(choices.assign(who=choices["tone"]), "chosen ~ topic", "who", "pair_id").plot()
    assert legend(figure) == ["Kind minus rude", "Plain minus rude"]
    assert lines_at(figure) == {0.0}


def test_each_reference_has_a_panel_of_its_feature_only(choices: pd.DataFrame) -> None:
    figure = amce_by_reference(choices, FORMULA, "tone", "pair_id").plot()
    assert titles(figure) == ["Reference: Rude", "Reference: Kind", "Reference: Plain"]
    labels = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert labels == ["Rude", "Kind (reference)", "Plain"]


def test_counts_are_drawn_with_intervals_where_they_were_bootstrapped(choices: pd.DataFrame) -> None:
    assert titles(cj_freqs(choices, FORMULA).plot()) == ["Tone", "Topic"]
    figure = bootstrap(cj_freqs, choices, FORMULA, draws=20, seed=1).plot()
    assert all(axes.collections for axes in figure.axes)


def test_joint_proportions_of_two_features_become_a_heat_map(choices: pd.DataFrame) -> None:
    for made in (
        cj_props(choices, "~ tone + topic"),
        bootstrap(cj_props, choices, "~ tone + topic", draws=20, seed=1),
    ):
        figure = made.plot()
        assert len(figure.axes[0].texts) == 6
        assert "all profiles" in figure.get_supxlabel()
    assert "each level of tone" in cj_props(choices, "~ tone + topic", margin=1).plot().get_supxlabel()
    for features in ("tone", "tone + topic + who"):
        with pytest.raises(InputError, match="heat map shows the joint proportions of two features"):
            cj_props(choices, f"~ {features}").plot()


def test_combinations_that_never_occur_are_hatched() -> None:
    frame = pd.DataFrame({"a": [*"xyxy"], "b": [*"uuvv"], "proportion": [0.5, 0.2, 0.3, 0]})
    figure = draw(frame, "cj_props")
    assert [patch.get_xy() for patch in figure.axes[0].patches if patch.get_hatch()] == [(1, 1)]
    assert texts(figure) == ["50", "30", "20", "0"]


def test_tests_and_lists_of_levels_say_that_they_have_no_figure(choices: pd.DataFrame) -> None:
    fit = amce(choices, FORMULA)
    for made in (cj_anova(choices, FORMULA, "who"), cj_table(choices, FORMULA), wald(fit)):
        with pytest.raises(InputError, match=r"no figure; print their table with \.frame"):
            made.plot()


def test_frequencies_are_shares_of_a_judge_around_the_equal_share() -> None:
    one = frequencies_frame().query("judge == 'human'")
    figure = draw(one, "cj_freqs")
    expected = [
        100 * count / counts.sum()
        for _, counts in one.groupby("feature", observed=True)["estimate"]
        for count in counts
    ]
    assert points_drawn(figure) == pytest.approx(sorted(expected))
    assert lines_at(figure) == {25.0, round(100 / 3, 6), 50.0}
    assert "Generic (n = 100)" in tick_labels(figure)
    assert all(axes.get_xlim()[0] <= 0 for axes in figure.axes)
    assert "Generic (" not in " ".join(tick_labels(draw(frequencies_frame(), "cj_freqs")))
    never = pd.DataFrame({"feature": "tone", "level": ["rude", "kind"], "estimate": [5.0, 0.0]})
    assert points_drawn(draw(never, "cj_freqs")) == [0.0, 100.0]


def test_interactions_have_a_panel_per_level_of_either_attribute() -> None:
    both = {"feature": "slur", "by": "identity"}
    frame = difference_frame()
    assert titles(draw(frame, **both)) == ["Sexism", "Racism", "None"]
    assert titles(draw(frame, **both, panels="by")) == ["Black male", "White female"]
    assert alt(frame, **both).startswith("Differences in the effect of slur by identity.")
    means = draw(frame.assign(statistic="mm_difference"), **both)
    assert means.get_supxlabel() == "Difference in the marginal mean of slur"


def test_interactions_without_baseline_are_called_so(choices: pd.DataFrame) -> None:
    for kind, label in (
        ("amie", "Interaction of tone and topic, beyond both effects"),
        ("acie", "Difference in the effect of tone"),
    ):
        found = interaction(choices, FORMULA, "tone", "topic", id="pair_id", kind=kind)
        figure = found.plot(feature="tone", by="topic")
        assert str(figure.get_supxlabel()).startswith(label)


def test_ours_minus_published_is_the_difference_in_both_joins() -> None:
    ours = amce_frame({"model_x": ["baseline"]})
    printed = ours[ours["std_error"].notna()].assign(estimate=lambda frame: frame["estimate"] - 0.01)
    other = ours.assign(variant="as_published", estimate=ours["estimate"] - 0.01)
    both = compare_moderation(printed, pd.concat([ours, other], ignore_index=True))
    gaps = both.groupby("source")["difference"].agg(lambda values: np.abs(values).max())
    assert gaps.to_dict() == pytest.approx({"": 0.01, "as_published": 0.0, "printed": 0.0})
    right = draw(compare_moderation(printed, ours), "published").axes[1]
    drawn = np.concatenate([line.get_xdata() for line in right.lines if line.get_linestyle() == "None"])
    assert drawn == pytest.approx(np.ones(len(printed)))
    text = alt(compare_moderation(printed.query("level == 'curse'"), ours), "published")
    assert text.endswith("1.00 percentage points from the published estimate, at Curse.")
    with pytest.raises(InputError, match="share no judge and level"):
        compare_moderation(ours.assign(judge="someone_else"), ours)
    with pytest.raises(InputError, match="more than once; keep one row"):
        compare_moderation(printed, pd.concat([ours, ours]))


def test_engines_stand_at_their_disagreement_and_missing_ones_are_named() -> None:
    axes = draw(engines_summary(), "engines").axes[0]
    drawn = [float(x) for line in axes.lines if line.get_linestyle() == "None" for x in line.get_xdata()]
    assert drawn == [3e-15, 4e-13]
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["native", "cregg"]
    assert axes.get_xlabel() == "Largest difference from the survey engine"
    assert "not available" in [text.get_text() for text in axes.texts]
    named = draw(engines_summary(), "engines", yardstick="native")
    assert tick_labels(named) == ["survey", "cregg"]


def test_errors_of_simulated_estimates_are_drawn_around_zero() -> None:
    frame = EFFECTS.assign(true=EFFECTS["estimate"] - 0.01)
    assert points_drawn(draw(frame, "truth")) == pytest.approx([0.01] * len(frame))
    assert f"{len(frame)} of {len(frame)} intervals" in alt(frame, "truth")


def test_a_matrix_shows_every_contrast_once_and_fills_what_the_last_test_rejects(
    choices: pd.DataFrame,
) -> None:
    found = contrast(amce(choices, FORMULA, "pair_id"), "tone").frame.assign(p=[0.01, 0.01, 0.5])
    figure = draw(found, "contrast")
    assert len(texts(figure)) == 3
    assert tick_labels(figure) == ["Kind", "Plain"]
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["Rude", "Kind"]
    assert filled(figure) == 2
    half = found.assign(p_adjusted=[0.01, 0.2, 0.9])
    assert filled(draw(half, "contrast")) == 2  # one full, one with a core
    with pytest.raises(InputError, match="one feature"):
        draw(pd.concat([found, found.assign(feature="topic")]), "contrast")


def filled(figure: Figure) -> int:
    """Dots whose face is not the background."""
    faces = [dot.get_facecolor() for axes in figure.axes for dot in axes.collections if dot.get_sizes().size]
    return sum(not np.allclose(face[0][:3], 1) for face in faces if len(face))


def test_each_group_has_a_matrix_and_adjusted_effects_a_column(choices: pd.DataFrame) -> None:
    groups = cj(choices, FORMULA, id="pair_id", by="who")
    assert len(contrast(groups, "tone").plot().axes) == 2
    adjusted = adjust(groups, "holm").frame
    figure = draw(adjusted, "significance")
    assert tick_labels(figure) == ["Kind", "Plain", "Work"]
    assert len(texts(figure)) == 6
    after = int((adjusted["p_adjusted"] < 0.05).sum())
    assert f"{after} of them after adjustment" in alt(adjusted, "significance")


def test_the_bounds_and_every_interval_of_an_equivalence_test_are_drawn(choices: pd.DataFrame) -> None:
    found = test_equivalence_of(amce(choices, FORMULA, "pair_id"), 0.2)
    figure = found.plot()
    tested = found.frame.dropna(subset="p")
    lines = [line for axes in figure.axes for lines in axes.collections for line in lines.get_segments()]
    drawn = sorted(float(line[0][0]) for line in lines)
    np.testing.assert_allclose(drawn, np.sort(tested["equivalence_lower"]))
    for axes in figure.axes:
        (band,) = axes.patches
        assert band.get_x() == pytest.approx(-0.2)  # type: ignore[attr-defined]
        assert band.get_width() == pytest.approx(0.4)  # type: ignore[attr-defined]
    assert "6 different" in alt(equivalence(), "equivalence")


def test_both_distributions_stand_side_by_side(choices: pd.DataFrame) -> None:
    options = {"id": "pair_id", "opponent": False}
    effects = pamce(choices, FORMULA, TARGET, **options)
    figure = draw(effects.frame, "target", {"design": amce(choices, FORMULA, "pair_id").frame})
    assert legend(figure) == ["Target", "Design"]
    assert len(effects.plot().axes) == 2
    means = pmm(choices, FORMULA, TARGET, **options)
    drawn = draw(means.frame, "target", {"design": mm(choices, FORMULA, "pair_id").frame})
    assert str(drawn.get_supxlabel()) == "Marginal mean"


def bars(figure: Figure) -> list[float]:
    return [round(float(bar.get_width()), 6) for axes in figure.axes for bar in axes.patches]


def test_bars_are_the_shares_of_the_design_and_points_those_drawn() -> None:
    table = design().query("feature == 'curse'").assign(shown=[40, 60])
    figure = draw(table, "design_shares")
    assert bars(figure) == [0.5, 0.5]
    points = [float(x) for line in figure.axes[0].lines for x in np.atleast_1d(line.get_xdata())]
    assert points == pytest.approx([0.4, 0.6])
    assert tick_labels(figure) == ["No curse (reference)", "Curse"]
    assert legend(figure) == ["Share in the design", "In the pairs drawn"]
    restricted = draw(table.assign(probability=[0.2, 0.8]), "design_shares")
    assert bars(restricted) == [0.2, 0.8, 0.5, 0.5]
    assert "Before restrictions" in legend(restricted)
    assert bars(draw(table.assign(shown=0), "design_shares")) == [0.5, 0.5]


def test_levels_of_a_design_that_follow_from_others_are_not_drawn() -> None:
    table = design().assign(derived=lambda frame: frame["feature"] == "curse")
    figure = draw(table, "design_shares")
    assert titles(figure) == ["Slur", "Identity"]
    assert len({axes.get_xlim() for axes in figure.axes}) == 1


@pytest.mark.parametrize("plan", [5.0, 3000.0, 2e6])
def test_the_plan_is_marked_in_both_panels(plan: float) -> None:
    figure = figures.draw(powers().at(pairs=plan, power=0.8), part="plan", effect=0.02, plan=plan)
    for axes in figure.axes:
        low, high = axes.get_xlim()
        assert low < plan < high
        marks = [line for line in axes.lines if list(line.get_xdata()) == [plan, plan]]
        assert len(marks) == 1
        assert f"{plan:,.0f}\npairs planned" in [text.get_text() for text in axes.texts]


def test_lines_pass_through_the_numbers_of_the_plan() -> None:
    planned = powers().at(pairs=3000, power=0.8)
    left, right = figures.draw(planned, part="plan", effect=0.02, plan=3000).axes
    at_plan = float(planned.at(effect=0.02, pairs=3000).frame["power"].min())
    for axes, value in ((left, float(planned.frame["effect"].max())), (right, at_plan)):
        line = axes.lines[0]
        x, y = (np.asarray(part, dtype=float) for part in (line.get_xdata(), line.get_ydata()))
        assert np.interp(np.log(3000), np.log(x), y) == pytest.approx(value, rel=0.01)
    few = powers().at(pairs=3, power=0.8)
    assert figures.alt(few, part="plan", effect=0.02, plan=3).endswith("detect no effect with power 0.8.")
