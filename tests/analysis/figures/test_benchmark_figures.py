"""Figures of benchmarks: what is in panels, rows and lines, at real sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn import alt, draw, legend, row_labels, shaded, titles
from made_up import label_results as made
from matplotlib.axes import Axes

from conjury.analysis import figures
from conjury.analysis.figures import parts
from conjury.analysis.figures.benchmark.difference_figures import pairs_with_best_judge
from conjury.analysis.figures.labels import ColumnNames
from conjury.analysis.figures.theme import LIGHT
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

WORDS = {"labels": made.WORDS}


def labelled(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_xticklabels()]


def one_judge(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"judge": "gpt", "task": "harm", **columns})


def test_scores_of_equal_policies_have_no_part_and_unknown_metrics_are_refused() -> None:
    result = made.scores()
    assert parts(result) == ["policies"]
    same = result.frame[result.frame["missing"] == "wrong"]
    both = pd.concat([same, same.assign(missing="missing")], ignore_index=True)
    assert parts(Result(both, "scores", settings=result.settings)) == []
    with pytest.raises(InputError, match="no metric 'auc'"):
        figures.draw(result, metrics=["auc"])


@pytest.mark.long
def test_pooled_scores_have_dashed_lines_for_baselines_and_rows_by_prompt_where_there_are_several() -> None:
    result = made.scores(by=())
    figure = figures.draw(result, **WORDS)
    dashed = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == "--"]
    assert 0.4 in {round(float(line.get_xdata()[0]), 6) for line in dashed}
    assert legend(figure) == ["Always the most frequent label", "Random label"]
    twice = pd.concat([result.frame, result.frame.assign(prompt="other")], ignore_index=True)
    assert {"Qwen3 8b, Joke", "Qwen3 8b, Other"} <= set(row_labels(draw(twice, "scores").axes[0]))


def test_prompts_with_baselines_of_their_own_have_panels_of_their_own() -> None:
    result = made.scores(by=())
    other = result.frame.assign(prompt="other")
    other.loc[other["judge"] == "majority class", "estimate"] = 0.7
    figure = draw(pd.concat([result.frame, other], ignore_index=True), "scores")
    panels = {
        axes.get_title(loc="left"): {
            round(float(line.get_xdata()[0]), 6) for line in axes.get_lines() if line.get_linestyle() == "--"
        }
        for axes in figure.axes
    }
    apart = {name: lines for name, lines in panels.items() if name.startswith("Accuracy")}
    assert {0.7 in lines for name, lines in apart.items() if "Other" in name} == {True}
    assert {0.7 in lines for name, lines in apart.items() if "Other" not in name} == {False}


def test_cells_of_small_matrices_contain_their_percent_and_unused_answers_have_no_column() -> None:
    frame = made.confusion(labels=["safe", "harmful"], judges=["gpt"]).frame
    shares = [int(text.get_text()) for text in draw(frame, "confusion").axes[0].texts]
    assert all(0 < share <= 100 for share in shares)
    assert len(shares) >= 3
    answered = frame.assign(n=frame["n"].where(frame["predicted"] != "no answer", 0))
    assert labelled(draw(answered, "confusion").axes[0]) == ["Safe", "Harmful"]


def test_answers_that_cover_a_gold_label_are_right() -> None:
    predicted = ["harmful", "safe", "safe"]
    frame = one_judge(gold=["implicit", "implicit", "safe"], predicted=predicted, n=[6, 4, 10], share=0.0)
    covers = {"harmful": ["implicit", "explicit"], "safe": ["safe"]}
    text = figures.alt(Result(frame, "confusion", settings={"covers": covers}))
    assert "Implicit 60%, Safe 100%; most frequent mistake: Implicit called Safe" in text


def test_labels_that_are_never_given_are_at_the_edge_and_those_hardly_ever_gold_are_not_drawn() -> None:
    counts = {"n_gold": 10, "n_predicted": [0, 40], "ratio": [0.0, 4.0]}
    frame = one_judge(label=["a", "b"], **counts, ratio_lower=[0.0, 3.0], ratio_upper=[0.0, 5.0])
    lines = [line for line in draw(frame, "by_label").axes[0].get_lines() if line.get_marker() == "D"]
    assert sorted(float(x) for line in lines for x in line.get_xdata()) == [-4.0, 2.0]
    counts = {"n_gold": [40, 2], "n_predicted": [40, 12], "ratio": [1.0, 5.8]}
    frame = one_judge(label=["common", "irony"], **counts, ratio_lower=[0.8, 1.0], ratio_upper=[1.2, 9.0])
    assert row_labels(draw(frame, "by_label").axes[0]) == ["Common"]
    assert "Irony" not in alt(frame, "by_label")


def test_passes_have_a_row_of_panels_for_each_score_and_draw_baselines_without_markers() -> None:
    frame = made.passes(by=()).frame
    random = frame[frame["judge"] == made.JUDGES[0]].assign(judge="random")
    figure = draw(pd.concat([frame, random], ignore_index=True), "passes", **WORDS)
    assert len(figure.axes) == 3 * 2
    axes = figure.axes[0]
    assert sum(line.get_marker() in ("None", "", None) for line in axes.get_lines()) == 1
    assert max(line.get_ydata().max() for line in axes.get_lines()) < axes.get_ylim()[1]


def test_differences_are_marked_where_the_adjusted_p_is_small_and_have_a_panel_per_prompt() -> None:
    half = made.differences().frame.assign(p_adjusted=[0.01, 0.9] * 3)
    assert len(legend(draw(half, "differences", settings=made.differences().settings))) == 2
    pair = made.differences(made.JUDGES[:2]).frame.assign(task="harm").iloc[:1]
    prompts = pd.concat([pair.assign(prompt=name) for name in ("text", "image")], ignore_index=True)
    assert titles(draw(prompts, "differences")) == ["Text", "Image"]


@pytest.mark.long
def test_many_judges_make_a_matrix_with_the_best_first_and_marks_where_p_is_small() -> None:
    names = [f"judge_{k}" for k in range(10)]
    pairs = [(i, j) for i in range(10) for j in range(i + 1, 10)]
    rows = [(names[i], names[j], 0.1 * (i - j), 0.01 if j == 9 else 0.9) for i, j in pairs]
    frame = pd.DataFrame(rows, columns=["left", "right", "estimate", "p_adjusted"]).assign(
        prompt="joke", task="joke_type", metric="accuracy", p=0.5, lower=-1.0, upper=0.5, test="bootstrap",
        n_pairs=20,
    )  # fmt: skip
    matrix = draw(frame, "differences", title="Judges").axes[0]
    assert row_labels(matrix)[0] == "Judge 9 1"
    values = np.nan_to_num(shaded(matrix, 0.9))
    assert values[0, 9] == pytest.approx(0.9)
    assert np.allclose(values, -values.T)
    assert len(matrix.lines[0].get_xdata()) == 18
    few = frame[frame["left"].isin(names[:8]) & frame["right"].isin(names[:8])]
    assert len(row_labels(draw(few, "differences").axes[0])) == 28


@pytest.mark.parametrize("best", ["left", "right"])
def test_pairs_of_the_best_judge_name_it_first_whichever_column_it_was_in(best: str) -> None:
    numbers = {"estimate": [0.3, 0.1], "lower": [0.2, 0.05], "upper": [0.4, 0.3]}
    pairs = pd.DataFrame({"left": ["gpt", "pal"], "right": ["kim", "kim"], "_where": "texts", **numbers})
    won = pairs.iloc[[0]].assign(right="pal")
    if best == "right":
        won = won.assign(left="pal", right="gpt", estimate=-0.3, lower=-0.4, upper=-0.2)
    shown = pairs_with_best_judge(pd.concat([won, pairs], ignore_index=True))
    columns = ["left", "right", "estimate", "lower", "upper"]
    expected = [["gpt", name, 0.3, 0.2, 0.4] for name in ("pal", "kim")]
    assert shown[columns].to_numpy().tolist() == expected


def test_readings_have_one_colour_per_status() -> None:
    result = made.readings()
    figure = figures.draw(result, **WORDS)
    few = draw(result.frame[result.frame["status"] != "refused"], "readings")
    every, some = (
        dict(zip(legend(one), (bar.get_facecolor() for bar in one.legends[0].get_patches()), strict=True))
        for one in (figure, few)
    )
    assert {name: every[name] for name in some} == some


def test_published_numbers_are_on_the_diagonal_where_ours_are_the_same() -> None:
    frame = pd.DataFrame({"metric": "accuracy", "printed": [0.1, 0.4], "recomputed": [0.1, 0.4]})
    axes = draw(frame, "published_scores").axes[0]
    points = next(line for line in axes.get_lines() if line.get_marker() == "o")
    assert points.get_xdata().tolist() == points.get_ydata().tolist()
    assert axes.get_xlim() == axes.get_ylim()


@pytest.mark.long
def test_a_judge_has_the_colour_of_its_label_in_curves_and_in_comparisons_with_the_truth() -> None:
    labels = {("judges", name): name for name in made.JUDGES}
    last = made.FEW[-1]
    place = ColumnNames(labels).place(last, [last])
    curves = figures.draw(made.passes(), labels=labels).axes[0].get_lines()
    markers = [line.get_marker() for line in curves if line.get_color() == LIGHT.color(place)]
    assert markers == [LIGHT.marker(place)]
    truth = pd.DataFrame({"judge": [last], "quantity": "accuracy", "truth": 0.5, "estimate": 0.5}).assign(
        lower=0.4, upper=0.6, inside=True
    )
    lines = draw(truth, "recovery", labels=labels).axes[0].get_lines()
    assert LIGHT.color(place) in {line.get_color() for line in lines}


def test_panels_of_few_judges_have_rows_of_their_own() -> None:
    result = made.scores(judges=made.JUDGES)
    baseline = result.frame["judge_kind"] == "baseline"
    english, first = result.frame["language"] == "en", result.frame["judge"].isin(made.JUDGES[:3])
    frame = result.frame[baseline | (english & first) | (~english & ~first)]
    figure = draw(frame, "scores", settings=result.settings, **WORDS)
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert len(panels) == 8
    for axes in panels:
        lines = [line for line in axes.get_lines() if line.get_marker() == "D"]
        drawn = sum(len(np.atleast_1d(line.get_ydata())) for line in lines)
        low, high = sorted(axes.get_ylim())
        assert high - low == drawn == (3 if "English" in axes.get_title(loc="left") else 4)
    assert len(set(row_labels(*panels))) == len(made.JUDGES)
