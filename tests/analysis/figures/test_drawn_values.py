"""Cells, curves and bars: colours and texts are values, lines pass through estimates, heights are counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn import shaded, titles, vertical_lines
from made_up.figures import JUDGES, example, sequence
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from conjury.analysis import figures
from conjury.analysis.results import Result

MINUS = "\N{MINUS SIGN}"


def plain(text: str) -> str:
    """An identifier, or its words, in one spelling."""
    return re.sub(r"[\s_]+", " ", str(text)).casefold()


def levels_of_judges() -> Result:
    """Estimates of one level by three judges at four looks."""
    one = JUDGES[(JUDGES["feature"] == "curse") & JUDGES["std_error"].notna()]
    return sequence(one, verb="amce", unit="pair_id")()


def draw(name: str, **changes: Any) -> tuple[Any, Any]:
    """A made-up result, perhaps with other tables, and its figure."""
    shown = example(name)
    result = replace(shown.result, **changes)
    return result, figures.draw(result, **shown.options)


def panels(figure: Any) -> dict[str, Any]:
    """Panels by their heading."""
    return {plain(axes.get_title(loc="left")): axes for axes in figure.axes if axes.get_title(loc="left")}


def ticks(axes: Any) -> tuple[list[str], list[str]]:
    """Labels of rows and columns."""
    rows, columns = axes.get_yticklabels(), axes.get_xticklabels()
    return [plain(one.get_text()) for one in rows], [plain(one.get_text()) for one in columns]


def written(axes: Any) -> dict[tuple[int, int], list[str]]:
    """Texts of cells, by row and column, from above."""
    found: dict[tuple[int, int], list[str]] = {}
    for text in sorted(axes.texts, key=lambda one: one.get_position()[1]):
        x, y = text.get_position()
        if text.get_transform() == axes.transData:
            found.setdefault((round(float(y)), round(float(x))), []).append(text.get_text())
    return found


def outlined(axes: Any) -> set[tuple[int, int]]:
    """Cells with a frame, by row and column."""
    frames = [one for one in axes.patches if isinstance(one, Rectangle) and not one.get_fill()]
    return {(round(one.get_y() + 0.49), round(one.get_x() + 0.49)) for one in frames}


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "row", "column"), [("confusion", "gold", "predicted"), ("judging, confusion", "people", "judge")]
)
def test_cells_of_confusions_are_shares_of_the_label_of_their_row(name: str, row: str, column: str) -> None:
    result, figure = draw(name)
    own = row == "people"
    table = (
        result.extra["confusion"].assign(who="Judge")
        if own
        else result.frame.assign(who=lambda t: t["judge"])
    )
    answers = table[column].replace("no answer", "no label").map(plain)
    counts = table.assign(row=table[row].map(plain), column=answers, who=table["who"].map(plain))
    drawn = panels(figure)
    rows, columns = ticks(next(iter(drawn.values())))[0], ticks(list(drawn.values())[-1])[1]
    assert set(drawn) == set(counts["who"])
    share = counts["n"] / counts.groupby(["who", "row"])["n"].transform("sum")
    most = np.ceil(10 * share.max()) / 10
    for who, axes in drawn.items():
        cells = (
            counts[counts["who"] == who].pivot(index="row", columns="column", values="n").loc[rows, columns]
        )
        shares = cells.div(cells.sum(axis=1), axis=0).to_numpy()
        np.testing.assert_allclose(shaded(axes, most), shares, atol=1e-9)
        percent = {at: [f"{100 * value:.0f}"] for at, value in np.ndenumerate(shares) if value >= 0.005}
        assert written(axes) == percent
        assert outlined(axes) == {(rows.index(one), columns.index(one)) for one in rows}


def test_cells_of_estimated_labels_are_probabilities_with_their_limits() -> None:
    cells = example("label_model").result.extra["confusion"]
    estimate = np.linspace(0.05, 0.95, len(cells))
    cells = cells.assign(estimate=estimate, lower=estimate - 0.04, upper=estimate + 0.03)
    result, figure = draw("label_model", extra={"confusion": cells[cells["group"] == "gpt_4_1"]})
    ((who, axes),) = panels(figure).items()
    assert who == "gpt 4 1"
    assert ticks(axes) == (["yes", "no"], ["yes", "no"])
    own = result.extra["confusion"].set_index(["truth", "label"])
    expected, texts = own["estimate"].unstack().loc[["yes", "no"], ["yes", "no"]].to_numpy(), written(axes)
    np.testing.assert_allclose(shaded(axes, 1.0), expected)
    for (i, truth), (j, label) in [
        (a, b) for a in enumerate(["yes", "no"]) for b in enumerate(["yes", "no"])
    ]:
        numbers = [f"{own.loc[(truth, label), end]:.2f}"[1:] for end in ("estimate", "lower", "upper")]
        assert texts[i, j] == [numbers[0], f"{numbers[1]}\N{EN DASH}{numbers[2]}"]


def test_cells_of_pairs_are_their_agreement_on_both_sides_of_the_diagonal() -> None:
    result, figure = draw("agreement, pairs")
    ((_, axes),) = panels(figure).items()
    pairs, raters = result.extra["pairs"], ["person 000", "person 001", "gpt 4 1", "gemini"]
    assert ticks(axes) == (raters, raters)
    values = np.full((4, 4), np.nan)
    for row in pairs.to_dict("records"):
        i, j = raters.index(plain(row["judge"])), raters.index(plain(row["other"]))
        values[i, j] = values[j, i] = row["estimate"]
    np.testing.assert_allclose(shaded(axes, 1.0), values)
    known = {
        at: [f"{value:.2f}".replace("-", MINUS)] for at, value in np.ndenumerate(values) if value == value
    }
    assert written(axes) == known
    lines = {float(line.get_ydata()[0]) for line in axes.lines if len(set(line.get_ydata())) == 1}
    assert (lines, vertical_lines(figure)) == ({1.5}, {1.5})


def test_maps_frame_the_strongest_correlate_of_the_main_dimension_whatever_its_sign() -> None:
    table = example("dimension_correlations").result.frame
    values = {("novelty", "empathy"): 0.9, ("novelty", "overall_fun"): -0.7, ("empathy", "overall_fun"): 0.4}
    people = table["group"] == "human"
    estimate = [
        values[a, b] * (1 if human else 0.5 if b != "overall_fun" or a == "novelty" else 2)
        for a, b, human in zip(table["dimension"], table["other"], people, strict=True)
    ]
    result, figure = draw("dimension_correlations", frame=table.assign(estimate=estimate))
    axes = next(iter(panels(figure).values()))
    names = ["novelty", "empathy", "overall fun"]
    assert ticks(axes)[0] == names
    assert outlined(axes) == {(2, 0), (1, 2)}  # of people novelty, at -0.7; of the model empathy, at 0.8
    np.testing.assert_allclose(shaded(axes, 1.0)[[2, 1], [0, 2]], [-0.7, 0.8])
    assert f"novelty ({'-0.70'})" in plain(figures.alt(result)).replace(MINUS, "-")


def grid_of(figure: Any) -> Iterator[tuple[int, int, Any]]:
    """Panels with their row and column."""
    for axes in figure.axes:
        place = axes.get_subplotspec()
        if place is not None:
            yield place.rowspan.start, place.colspan.start, axes


def entries(figure: Any) -> dict[tuple[str, Any], str]:
    """Entries of the legend by colour and marker."""
    (shown,) = figure.legends
    handles = zip(shown.legend_handles, shown.get_texts(), strict=True)
    return {(to_hex(one.get_color()), one.get_marker()): plain(text.get_text()) for one, text in handles}


def curves(axes: Any) -> dict[tuple[str, Any], np.ndarray]:
    """Points of lines by colour and marker, (n, 2) each."""
    return {
        (to_hex(line.get_color()), line.get_marker()): np.column_stack([line.get_xdata(), line.get_ydata()])
        for line in axes.lines
        if len(line.get_xdata()) > 1
    }


def band(area: Any) -> pd.DataFrame:
    """Lower and upper ends of a band by x."""
    corners = pd.DataFrame(area.get_paths()[0].vertices, columns=["x", "y"])
    return corners.groupby("x")["y"].agg(["min", "max"])


@pytest.mark.parametrize(
    ("name", "x", "metrics"),
    [
        pytest.param("passes", "k", ["pass_at_k", "majority_of_k", "pass_all_k"], marks=pytest.mark.long),
        ("errors", "length", ["accuracy", "missing_rate"]),
    ],
)
def test_curves_pass_through_the_estimates_of_their_judge_and_bands_end_at_limits(
    name: str, x: str, metrics: list[str]
) -> None:
    result, figure = draw(name)
    by = [column for column in ("task", "language") if column in result.frame]
    places = result.frame[by].drop_duplicates().itertuples(index=False, name=None)
    places = [own if len(by) > 1 else own[0] for own in places]
    last, seen = figure.axes[-1], 0
    ends = {text.get_text(): to_hex(text.get_color()) for text in last.texts if text.get_text()}
    named = {color: plain(name) for name, color in ends.items()}
    for row, column, axes in grid_of(figure):
        own = (
            result.frame[result.frame["metric"] == metrics[row]]
            .set_index(by)
            .sort_index()
            .loc[places[column]]
        )
        areas = {to_hex(one.get_facecolor()[0], keep_alpha=False): band(one) for one in axes.collections}
        for key, points in curves(axes).items():
            judge = own[own["judge"].map(plain) == named[key[0]]].sort_values(x)
            np.testing.assert_allclose(points, judge[[x, "estimate"]].to_numpy(float))
            np.testing.assert_allclose(areas[key[0]], judge[["lower", "upper"]].to_numpy(float))
            seen += len(points)
    assert seen == len(result.frame)


def test_reliability_curves_bins_and_bands_are_those_of_the_judge_above_them() -> None:
    result, figure = draw("calibration")
    for who, axes in panels(figure).items():
        curve, bins = (
            result.extra[name][[plain(one) in who for one in result.extra[name]["judge"]]]
            for name in ("curve", "bins")
        )
        assert curve["judge"].nunique() == 1
        lines = [np.column_stack([line.get_xdata(), line.get_ydata()]) for line in axes.lines]
        for table, drawn in zip((None, curve, bins), lines, strict=True):
            expected = [[0, 0], [1, 1]] if table is None else table[["probability", "estimate"]].to_numpy()
            np.testing.assert_allclose(drawn, expected)
        (area,) = (one for one in axes.collections if isinstance(one, PolyCollection))
        (limits,) = (one for one in axes.collections if isinstance(one, LineCollection))
        np.testing.assert_allclose(band(area), curve.sort_values("probability")[["lower", "upper"]])
        ends = [[bottom[1], top[1]] for bottom, top in limits.get_segments()]
        np.testing.assert_allclose(ends, bins[["lower", "upper"]].to_numpy())
    assert len(panels(figure)) == result.frame["judge"].nunique()


def test_power_of_replacement_tests_passes_through_pass_rates_by_panel_and_scenario() -> None:
    result, figure = draw("alt_power")
    frame, seen = result.frame, 0
    for axes, (_, own) in zip(figure.axes, frame.groupby("epsilon"), strict=True):
        assert f"epsilon {own['epsilon'].iloc[0]:g} " in plain(axes.get_title(loc="left")) + " "
        sizes = sorted(own["annotators"].unique())
        marks = list(dict.fromkeys(line.get_marker() for line in axes.lines if line.get_marker() != "None"))
        for line in axes.lines[: 2 * len(sizes)]:
            scenario = "as stated" if line.get_linestyle() == "-" else "at the margin"
            size = sizes[marks.index(line.get_marker())]
            rows = own[(own["annotators"] == size) & (own["scenario"] == scenario)].sort_values("instances")
            points = np.column_stack([line.get_xdata(), line.get_ydata()])
            np.testing.assert_allclose(points, rows[["instances", "pass_rate"]].to_numpy(float))
            seen += len(points)
        for size, area in zip(sizes, axes.collections, strict=True):
            rows = own[(own["annotators"] == size) & (own["scenario"] == "as stated")]
            limits = rows.sort_values("instances")[["lower", "upper"]]
            np.testing.assert_allclose(band(area), limits.to_numpy(float))
        assert axes.lines[-1].get_ydata()[0] == result.settings["target"]
    assert seen == len(frame)


def test_bars_of_distributions_are_shares_of_ratings_with_a_line_at_the_mean() -> None:
    result, figure = draw("distributions")
    dimensions, groups = (list(dict.fromkeys(result.frame[name])) for name in ("dimension", "group"))
    assert [plain(one) for one in titles(figure)] == [plain(one) for one in dimensions]
    for row, column, axes in grid_of(figure):
        own = result.frame.query("dimension == @dimensions[@column] and group == @groups[@row]")
        bars = {round(one.get_x() + one.get_width() / 2, 6): one.get_height() for one in axes.patches}
        assert bars == pytest.approx(
            dict(zip(own["value"].astype(float), 100 * own["estimate"], strict=True))
        )
        assert [line.get_xdata()[0] for line in axes.lines] == pytest.approx(
            [(own["value"] * own["estimate"]).sum()]
        )
        if column == 0:
            assert plain(axes.get_ylabel()) == {"human": "people"}.get(groups[row], plain(groups[row]))


def test_histograms_count_respondents_by_run_and_by_seconds() -> None:
    result, figure = draw("straight_lining")
    (axes,) = figure.axes
    floor = 0.5  # of the logarithmic axis
    for line, column, beside in zip(axes.lines, ("respondents", "expected"), (0, 0.1), strict=True):
        rows = result.frame[result.frame[column] >= floor]
        np.testing.assert_allclose(line.get_xdata(), rows["run"] + beside)
        np.testing.assert_allclose(line.get_ydata(), rows[column])
    result, figure = draw("response_times")
    (axes,) = figure.axes
    fast, slow = result.frame["fast"], result.frame["slow"]
    assert fast.sum() != slow.sum()
    for bars, these in zip(axes.containers, (~fast & ~slow, fast, slow), strict=True):
        seconds = result.frame.loc[these, "seconds"]
        for bar in bars:
            start, end = bar.get_x(), bar.get_x() + bar.get_width()
            assert bar.get_height() == ((seconds >= start) & (seconds < end)).sum()
        assert sum(bar.get_height() for bar in bars) == these.sum()
    assert [line.get_xdata()[0] for line in axes.lines] == [pytest.approx(result.frame["seconds"].median())]


def test_bars_of_certainty_count_items_by_class_and_probability() -> None:
    result, figure = draw("label_model, certainty")
    (axes,) = figure.axes
    items = result.extra["items"]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    stacked: dict[float, float] = {}
    for bars, name in zip(axes.containers, names, strict=True):
        own = items.loc[items["label"].map(plain) == plain(name), "probability"]
        for bar in bars:
            start, end = bar.get_x(), bar.get_x() + bar.get_width()
            inside = (own >= start - 1e-12) & (own < end - 1e-12 if end < 1 - 1e-9 else own <= 1)
            assert bar.get_height() == inside.sum()
            assert bar.get_y() == stacked.get(round(start, 9), 0)
            stacked[round(start, 9)] = bar.get_y() + bar.get_height()
    assert sum(stacked.values()) == len(items)


def test_panels_of_trials_are_as_high_whatever_the_lines_of_their_headings() -> None:
    made = example("trial, zip").result
    long = made.extra["zip"].assign(method=lambda table: table["method"] + " with errors by cluster" * 3)
    short, high = (
        figures.draw(replace(made, extra={"zip": table}), part="zip") for table in (made.extra["zip"], long)
    )
    more = max(axes.get_title(loc="left").count("\n") for axes in high.axes)
    assert more > 0
    assert high.get_figheight() - short.get_figheight() == pytest.approx(0.14 * more)


def test_panels_of_a_sequence_are_named_by_level_and_judge_in_that_order() -> None:
    assert titles(figures.draw(levels_of_judges())) == [
        f"Curse, {who}" for who in ("People", "Model x, Baseline", "Model x, Context")
    ]


def test_intervals_under_choices_of_errors_are_distances_and_ratios_are_in_the_grid_below() -> None:
    table = example("error_choices").result.frame
    moved = np.where(table["choice"] == "text 1", 0.003, 0.0)
    wider = np.where(table["choice"] == "text 1", 0.01, 0.0)
    table = table.assign(
        estimate=table["estimate"] + moved,
        lower=table["lower"] - wider,
        upper=table["upper"] + wider,
        ratio=table["ratio"] + np.arange(len(table)) / 10,
    )
    _, figure = draw("error_choices", frame=table)
    named, (*drawn, grid) = entries(figure), figure.axes
    centre = table[table["choice"] == "text 0"].set_index(["feature", "level"])["estimate"]
    for axes in drawn:
        feature = plain(axes.get_title(loc="left"))
        own = table[table["feature"].astype(str).map(plain) == feature]
        levels = [plain(text.get_text().split("\n")[0]) for text in axes.get_yticklabels()]
        for line in axes.lines:
            choice = named[to_hex(line.get_color()), line.get_marker()]
            rows = own[own["choice"].map(plain) == choice]
            assert [plain(one) for one in rows["level"]] == levels
            around = [centre[key] for key in zip(rows["feature"], rows["level"], strict=True)]
            np.testing.assert_allclose(line.get_xdata(), 100 * (rows["estimate"] - around), atol=1e-9)
            (limits,) = (
                one
                for one in axes.collections
                if isinstance(one, LineCollection) and to_hex(one.get_color()[0]) == to_hex(line.get_color())
            )
            ends = [[start[0], end[0]] for start, end in limits.get_segments()]
            expected = 100 * rows[["lower", "upper"]].sub(around, axis=0).to_numpy()
            np.testing.assert_allclose(ends, expected, atol=1e-9)
            np.testing.assert_allclose([start[1] for start, _ in limits.get_segments()], line.get_ydata())
    rows, columns = ticks(grid)
    spread = table.groupby([table["choice"].map(plain), table["feature"].astype(str).map(plain)])["ratio"]
    least, largest = spread.min(), spread.max()
    cells = {
        (text.get_position()[1] - 0.5, text.get_position()[0] - 0.5): text.get_text() for text in grid.texts
    }
    for i, choice in enumerate(rows):
        for j, feature in enumerate(columns):
            low, high = f"{least[choice, feature]:.1f}", f"{largest[choice, feature]:.1f}"
            assert cells[i, j] == (low if low == high else f"{low} to {high}")
    assert len(cells) == len(least)
