"""Figures of conjoints and of design checks: what is drawn where, and which figure a result has."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from drawn import alt, draw, interval_starts, legend, points, row_labels, texts, titles
from made_up.figures import CHECKS, EFFECTS, HUMAN, design, example, powers
from made_up.results import ATTRIBUTES, amce_frame, corrected, engines_summary, frequencies_frame
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from conjury.analysis import conjoint, figures
from conjury.analysis.audit import compare_moderation
from conjury.analysis.conjoint import amce, bootstrap, cj, cj_freqs, cj_props, mm
from conjury.analysis.figures.figure_layout import split_into_columns
from conjury.analysis.figures.labels import ColumnNames
from conjury.analysis.figures.theme import LIGHT, sized
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

FORMULA = "chosen ~ tone + topic"
ONE = amce_frame({"model_x": ["baseline"]})


def lines_at(figure: Figure) -> set[float]:
    """Positions of vertical lines."""
    pairs = [line.get_xdata() for axes in figure.axes for line in axes.lines if len(line.get_xdata()) == 2]
    return {round(float(x[0]), 6) for x in pairs if x[0] == x[1]}


@pytest.fixture(scope="module")
def choices() -> pd.DataFrame:
    random, n = np.random.default_rng(5), 600
    levels = {"tone": ["rude", "kind", "plain"], "topic": ["sport", "work"]}
    levels["who"] = ["black_male", "anonymous"]
    drawn = {
        name: pd.Categorical.from_codes(random.integers(0, len(found), n), found)
        for name, found in levels.items()
    }
    chosen = np.ravel([random.permutation(2) for _ in range(n // 2)])
    return pd.DataFrame({**drawn, "chosen": chosen, "pair_id": np.repeat(np.arange(n // 2), 2)})


@pytest.mark.parametrize(("real", "mark"), [((), "Simulated data"), (("gpt",), "Simulated, but for gpt")])
def test_figures_of_simulated_rows_say_so_unless_they_are_not_to(
    choices, real: tuple[str, ...], mark: str, tmp_path: Path
):
    is_real = np.arange(len(choices)) < 300 * len(real)
    table = choices.assign(judge_id=np.where(is_real, "gpt", "human"))
    table["origin"] = pd.array(np.where(is_real, None, "simulated"), dtype="string")
    fit = amce(table, FORMULA, id="pair_id")
    assert conjoint.importance(fit).real_judges == real
    assert mark in [text.get_text() for text in fit.plot().texts]
    assert not [text for text in fit.plot(mark=False).texts if "imulated" in text.get_text()]
    assert amce(choices, FORMULA, id="pair_id").real_judges is None
    table.to_csv(tmp_path / "rows.csv", index=False)
    table.to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        assert amce(tmp_path / name, "chosen ~ tone", id="pair_id").real_judges == real


def texts_below(figure: Figure) -> list[str]:
    """What is written below the panels."""
    below = [figure.get_supxlabel(), *(axes.get_xlabel() for axes in figure.axes)]
    return [text.replace("\n", " ") for text in below if text]


def test_pairs_of_attributes_have_one_axis_of_dependence() -> None:
    table = example("attribute_independence").result.frame.assign(estimate=[0.5, 1.0, 3.0])
    figure = draw(table.assign(lower=0.9, upper=1.1), "attribute_independence")
    assert titles(figure) == ["Slur", "Identity"]
    first, second = (axes.get_xlim() for axes in figure.axes)
    assert first == second
    assert first[0] <= 0.0 < 3.0 < first[1]


def test_judges_with_the_same_pairs_are_one_series_that_counts_the_others() -> None:
    table = example("attribute_independence").result.frame
    same = [table.assign(judge=f"model_{name}") for name in "xyz"]
    every = pd.concat([*same, table.assign(judge="human", estimate=1.05)], ignore_index=True)
    assert legend(draw(every, "attribute_independence")) == ["Model x and 2 more", "People"]


def test_rates_of_substitution_without_limits_are_named_where_there_are_any() -> None:
    made = example("substitution").result
    rates = made.frame.assign(lower=made.frame["estimate"] - 1, upper=made.frame["estimate"] + 1)
    free = rates.assign(upper=[np.inf, *rates["upper"][1:]])
    for frame, is_said in ((rates, False), (free, True)):
        (axis,) = (text for text in texts_below(draw(frame, "substitution", settings=made.settings)))
        assert ("not drawn where they have no limits" in axis) is is_said


def test_a_high_figure_has_two_columns_unless_it_is_one_column_wide() -> None:
    assert split_into_columns([2.0, 2.0, 2.0, 2.0]) == [[0, 1], [2, 3]]
    assert split_into_columns([3.0, 2.0, 2.0]) == [[0, 1, 2]]
    with sized("single"):
        assert split_into_columns([2.0, 2.0, 2.0, 2.0]) == [[0, 1, 2, 3]]


@pytest.mark.long
def test_effects_have_panels_by_size_with_named_references_and_the_limits_asked_for() -> None:
    figure = draw(HUMAN, labels={"slur": "Insult", ("slur", "none"): "Nothing"}, interval="bootstrap")
    assert interval_starts(figure) == pytest.approx(sorted(100 * HUMAN["boot_lower"].dropna()))
    assert titles(figure) == ["Insult", "Identity", "Curse"]
    assert {"Nothing", "Black male"} <= set(row_labels(*figure.axes))
    assert texts(figure) == ["vs Generic", "vs Anonymous", "vs No curse"]
    assert [axes.xaxis.get_tick_params()["labelbottom"] for axes in figure.axes] == [False, False, True]
    figure.draw_without_rendering()
    heights = [axes.get_position().height for axes in figure.axes]
    assert heights[0] > heights[1] > heights[2]
    assert len({axes.get_xlim() for axes in draw(HUMAN, share_x=False).axes}) == len(ATTRIBUTES)
    never = HUMAN.copy()
    never.loc[never["level"] == "sexism", ["estimate", "std_error", "lower", "upper"]] = np.nan
    assert "no estimate" in texts(draw(never))


def test_alternative_texts_list_24_estimates_and_of_more_name_the_least_and_the_largest() -> None:
    for n in (24, 25):
        estimate = np.arange(n) / 100 - 0.2
        frame = pd.DataFrame({"feature": "tone", "level": [f"v{k}" for k in range(n)], "estimate": estimate})
        text = alt(frame.assign(lower=estimate - 0.05, upper=estimate + 0.05).iloc[::-1])
        first, last = "V0 \N{MINUS SIGN}0.200 [\N{MINUS SIGN}0.250, \N{MINUS SIGN}0.150]", "V24 0.040 ["
        assert text.count("[") == {24: 24, 25: 2}[n]
        assert (f"25 estimates, from Tone, {first} to Tone, {last}" in text) == (n == 25)
        assert first in text


@pytest.mark.parametrize(
    ("kind", "frame", "options", "message"),
    [
        ("amce", pd.concat([HUMAN] * 2), {}, "more than once; name the column"),
        ("amce", HUMAN.drop(columns="lower"), {}, "column 'lower'"),
        ("amce", HUMAN.head(0), {}, "no rows"),
        ("amce", HUMAN, {"group": "country"}, "no column 'country'"),
        ("cj_freqs", pd.concat([frequencies_frame()] * 2), {}, "more than once; name the column"),
        ("contrast", HUMAN, {}, "'reference'"),
        ("significance", HUMAN, {}, "'p_adjusted'"),
        ("equivalence", HUMAN.assign(verdict=""), {}, "'equivalence_lower'"),
        ("truth", HUMAN, {}, "column 'true'"),
        ("design_shares", design().iloc[:0], {}, "no levels"),
        ("detectable", EFFECTS.iloc[:0], {}, "no rows"),
        *((name, example(name).result.frame.iloc[:0], {}, "no numbers to draw") for name in CHECKS),
    ],
)
def test_a_table_that_cannot_be_drawn_is_refused(kind, frame, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw(frame, kind, **options)


@pytest.mark.long
def test_effects_and_means_are_drawn_around_their_null_value_and_name_their_interval(choices) -> None:
    figure = amce(choices, FORMULA, "pair_id", alpha=0.1).plot()
    assert titles(figure) == ["Tone", "Topic"]
    assert (
        figure.get_supxlabel()
        == "Average marginal component effect, percentage points (lines: 90% normal intervals)"
    )
    booted = bootstrap(amce, choices, FORMULA, draws=20, seed=1).plot()
    assert booted.get_supxlabel().endswith("(lines: 95% percentile bootstrap intervals)")
    for h0, line in ((0.5, {50.0}), (0.0, {50.0}), (0.3, {30.0})):
        assert lines_at(mm(choices, FORMULA, "pair_id", h0=h0).plot()) == line
    ratings = choices.assign(chosen=choices["chosen"] * 4 + 1)
    assert lines_at(mm(ratings, FORMULA).plot()) == set()


def test_each_reference_has_a_panel_of_its_feature_only(choices: pd.DataFrame) -> None:
    figure = conjoint.amce_by_reference(choices, FORMULA, "tone", "pair_id").plot()
    assert titles(figure) == ["Reference: Rude", "Reference: Kind", "Reference: Plain"]
    assert row_labels(figure.axes[1]) == ["Rude", "Plain"]
    assert texts(figure) == ["vs Rude", "vs Kind", "vs Plain"]


def test_joint_proportions_of_two_features_become_a_heat_map(choices: pd.DataFrame) -> None:
    both = "~ tone + topic"
    for made in (cj_props(choices, both), bootstrap(cj_props, choices, both, draws=20, seed=1)):
        figure = made.plot()
        assert len(figure.axes[0].texts) == 6
        assert "all profiles" in figure.get_supxlabel()
    assert "each level of tone" in cj_props(choices, both, margin=1).plot().get_supxlabel()
    for features in ("tone", "tone + topic + who"):
        with pytest.raises(InputError, match="heat map shows the joint proportions of two features"):
            cj_props(choices, f"~ {features}").plot()
    frame = pd.DataFrame({"a": [*"xyxy"], "b": [*"uuvv"], "proportion": [0.5, 0.2, 0.3, 0]})
    figure = draw(frame, "cj_props")
    assert [patch.get_xy() for patch in figure.axes[0].patches if patch.get_hatch()] == [(1, 1)]
    assert texts(figure) == ["50", "30", "20", "0"]


@pytest.mark.long
def test_frequencies_are_counted_of_one_judge_and_drawn_of_zero_and_of_draws(choices: pd.DataFrame) -> None:
    assert "Generic (" not in " ".join(row_labels(*draw(frequencies_frame(), "cj_freqs").axes))
    never = pd.DataFrame({"feature": "tone", "level": ["rude", "kind"], "estimate": [5.0, 0.0]})
    assert points(*draw(never, "cj_freqs").axes) == [0.0, 100.0]
    assert titles(cj_freqs(choices, FORMULA).plot()) == ["Tone", "Topic"]
    two = pd.concat([ONE.assign(judge=judge, prompt="", estimate=9.0) for judge in ("gpt4o", "human")])
    assert legend(draw(two, "cj_freqs")) == ["People", "gpt4o"]
    booted = bootstrap(cj_freqs, choices, FORMULA, draws=20, seed=1).plot()
    assert all(axes.collections for axes in booted.axes)


def test_ours_minus_published_is_the_difference_in_both_joins() -> None:
    printed = ONE[ONE["std_error"].notna()].assign(estimate=lambda frame: frame["estimate"] - 0.01)
    other = ONE.assign(variant="as_published", estimate=ONE["estimate"] - 0.01)
    both = compare_moderation(printed, pd.concat([ONE, other], ignore_index=True))
    gaps = both.groupby("source")["difference"].agg(lambda values: np.abs(values).max())
    assert gaps.to_dict() == pytest.approx({"": 0.01, "as_published": 0.0, "printed": 0.0})
    right = draw(compare_moderation(printed, ONE), "published").axes[1]
    assert points(right) == pytest.approx(np.ones(len(printed)))
    (bars,) = [one for one in right.collections if isinstance(one, LineCollection) and one.get_segments()]
    ends = [[start[0], end[0]] for start, end in bars.get_segments()]
    np.testing.assert_allclose(ends, [[0.0, 1.0]] * len(printed), atol=1e-9)
    text = alt(compare_moderation(printed.query("level == 'curse'"), ONE), "published")
    assert text.endswith("1.00 percentage points from the published estimate, at Curse.")
    with pytest.raises(InputError, match="share no judge and level"):
        compare_moderation(ONE.assign(judge="someone_else"), ONE)
    with pytest.raises(InputError, match="more than once; keep one row"):
        compare_moderation(printed, pd.concat([ONE, ONE]))


def test_differences_from_people_between_groups_say_whose_and_between_which() -> None:
    one = amce_frame({"model_x": ["baseline"]}).assign(
        statistic="amce_difference", people=0.1, model=0.2, race="black", by="black - white"
    )
    parts = (one, one.assign(race="asian", by="asian - white"))
    settings = {"by": ["judge_id", "race"]}
    figure = draw(one, "people_by", settings=settings)
    assert "percentage points: model minus people, Black minus white. " in figure.get_label()
    assert not figure.legends
    figure = draw(pd.concat(parts, ignore_index=True), "people_by", settings=settings)
    assert ": model minus people. " in figure.get_label()
    assert legend(figure) == ["Black minus white", "Asian minus white"]


def test_engines_are_compared_with_the_one_that_is_named() -> None:
    figure = draw(engines_summary(), "engines", reference_engine="native")
    assert row_labels(*figure.axes) == ["survey", "cregg"]


def filled(figure: Figure) -> int:
    """Dots with a face that is not the background."""
    faces = [dot.get_facecolor() for axes in figure.axes for dot in axes.collections if dot.get_sizes().size]
    return sum(not np.allclose(face[0][:3], 1) for face in faces if len(face))


def test_a_matrix_shows_every_contrast_once_and_fills_what_the_last_test_rejects(choices) -> None:
    found = conjoint.contrast(amce(choices, FORMULA, "pair_id"), "tone").frame.assign(p=[0.01, 0.01, 0.5])
    figure = draw(found, "contrast")
    assert len(texts(figure)) == 3
    assert row_labels(*figure.axes) == ["Kind", "Plain"]
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["Rude", "Kind"]
    assert filled(figure) == 2
    half = found.assign(p_adjusted=[0.01, 0.2, 0.9])
    assert filled(draw(half, "contrast")) == 2  # one full, one with a core
    with pytest.raises(InputError, match="one feature"):
        draw(pd.concat([found, found.assign(feature="topic")]), "contrast")
    groups = cj(choices, FORMULA, id="pair_id", by="who")
    assert len(conjoint.contrast(groups, "tone").plot().axes) == 2
    adjusted = conjoint.adjust(groups, "holm").frame
    figure = draw(adjusted, "significance")
    assert row_labels(*figure.axes) == ["Kind", "Plain", "Work"]
    assert len(texts(figure)) == 6
    after = int((adjusted["p_adjusted"] < 0.05).sum())
    assert f"{after} of them after adjustment" in alt(adjusted, "significance")


@pytest.mark.parametrize("panels", ["feature", "by"])
def test_levels_of_two_attributes_with_the_same_ids_have_labels_of_their_own_in_one_order(
    panels: str,
) -> None:
    keys = product(["yes", "no"], repeat=2)
    rows = [(*key, at, 0.0, 0.2) for key, at in zip(keys, [0, 0.3, 0.25, 0.1], strict=True)]
    frame = pd.DataFrame(rows, columns=["level", "insured", "estimate", "lower", "upper"]).assign(
        feature="guilty"
    )
    labels: dict[str | tuple[str, str], str] = {
        ("guilty", "yes"): "Guilty", ("guilty", "no"): "Not guilty",
        ("insured", "yes"): "Insured", ("insured", "no"): "Not insured",
    }  # fmt: skip
    figure = figures.draw(
        Result(frame, "interaction"), labels=labels, feature="guilty", by="insured", panels=panels
    )
    guilt, insurance = ["Guilty", "Not guilty"], ["Insured", "Not insured"]
    over, beside = (
        (guilt, insurance[::-1]) if panels == "feature" else (insurance, guilt[::-1])
    )  # by mean effects
    assert titles(figure) == over
    assert all(row_labels(axes) == beside for axes in figure.axes)


def test_the_bounds_and_every_interval_of_an_equivalence_test_are_drawn(choices: pd.DataFrame) -> None:
    found = conjoint.equivalence(amce(choices, FORMULA, "pair_id"), 0.2)
    figure = found.plot()
    tested = found.frame.dropna(subset="p")
    np.testing.assert_allclose(interval_starts(figure), np.sort(100 * tested["equivalence_lower"]))
    for axes in figure.axes:
        (band,) = axes.patches
        assert (band.get_x(), band.get_width()) == pytest.approx((-20, 40))  # type: ignore[attr-defined]


def bars(figure: Figure) -> list[float]:
    return [round(float(bar.get_width()), 6) for axes in figure.axes for bar in axes.patches]


def test_bars_are_the_shares_of_the_design_and_points_those_drawn() -> None:
    table = design().query("feature == 'curse'").assign(shown=[40, 60])
    figure = draw(table, "design_shares")
    drawn = [float(x) for line in figure.axes[0].lines for x in np.atleast_1d(line.get_xdata())]
    assert (bars(figure), drawn) == ([0.5, 0.5], pytest.approx([0.4, 0.6]))
    assert row_labels(*figure.axes) == ["No curse (reference)", "Curse"]
    assert bars(draw(table.assign(probability=[0.2, 0.8]), "design_shares")) == [0.2, 0.8, 0.5, 0.5]
    assert bars(draw(table.assign(shown=0), "design_shares")) == [0.5, 0.5]
    derived = draw(design().assign(derived=lambda frame: frame["feature"] == "curse"), "design_shares")
    assert titles(derived) == ["Slur", "Identity"]


@pytest.mark.parametrize("plan", [5.0, 3000.0, 2e6])
def test_the_plan_is_marked_in_both_panels(plan: float) -> None:
    figure = figures.draw(powers().at(pairs=plan, power=0.8), part="plan", effect=0.02, plan=plan)
    for axes in figure.axes:
        low, high = axes.get_xlim()
        assert low < plan < high
        assert sum(list(line.get_xdata()) == [plan, plan] for line in axes.lines) == 1
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


def test_checks_have_one_series_per_design() -> None:
    curse = HUMAN.dropna(subset=["std_error"]).query("feature == 'curse'")
    figure = draw(pd.concat([curse, curse.assign(judge="model_x")]), "position_balance")
    assert not figure.legends
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == "None"]
    assert sum(len(line.get_xdata()) > 0 for line in lines) == 1


@pytest.mark.parametrize(("name", "table"), cases(__file__, "tables_of_zeros"))
def test_axes_of_nothing_but_zeros_reach_one(name: str, table: dict[str, list[object]]) -> None:
    low, high = draw(pd.DataFrame({"judge": ["a"], "prompt": [""], **table}), name).axes[0].get_xlim()
    assert -0.1 < low < 1 <= high


def test_the_gain_of_each_estimate_stands_right_of_its_row_and_references_have_none() -> None:
    result = corrected(HUMAN)
    gains = result.extra["gains"]["gain"].dropna()
    figure = figures.draw(result)
    sides = [axes.child_axes[0] for axes in figure.axes]
    written = [label.get_text() for side in sides for label in side.get_yticklabels()]
    assert {text for text in written if text} == {f"\N{MULTIPLICATION SIGN}{gain:.2f}" for gain in gains}
    assert len(written) == len(gains)


def test_models_of_one_label_are_told_apart_by_their_names() -> None:
    labels = {("judges", "model_x"): "Model", ("judges", "gpt_4_1"): "Model"}
    effects = amce_frame({"human": [""]})
    shown = figures.alt(corrected(effects.query("feature == 'curse'"), ("model_x", "gpt_4_1")), labels)
    assert "Model (model_x) only" in shown
    assert "Model (gpt_4_1) only" in shown


def test_no_model_has_the_colour_of_people_however_many_there_are() -> None:
    names = ColumnNames({("judges", f"m{k:02d}"): f"Model {k}" for k in range(30)})
    models = [f"m{k:02d}" for k in range(30)]
    places = [names.place(name, models) for name in models]
    assert len(set(places)) == 30
    assert {LIGHT.color(place) for place in places} == set(LIGHT.palette[1:])
    apart, together = (
        names.places_of([models[0], models[7]]),
        names.places_of(["human", models[0], models[7]]),
    )
    assert together == [0, *apart]
