"""Figures of benchmarks: what stands in panels, rows and lines, at real sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_up_benchmark as made
import numpy as np
import pandas as pd
import pytest

from conjury.analysis.figures import figure_of, save
from conjury.analysis.figures import figure_of as raters_figure
from conjury.analysis.figures.benchmark import DRAWN, alt_of, further_figures, is_drawn
from conjury.analysis.figures.benchmark.differences import beside_the_best
from conjury.analysis.figures.raters.naming import Names
from conjury.analysis.figures.theme import LIGHT
from conjury.analysis.raters import Result
from conjury.analysis.report.exhibits.mistakes import confusion_tables, difference_tables
from conjury.inference.errors import InputError


def titles(figure: object) -> list[str]:
    axes = getattr(figure, "axes")  # noqa: B009
    return [one.get_title(loc="left").replace("\n", " ") for one in axes if one.get_title(loc="left")]


def test_scores_have_a_panel_for_each_metric_task_and_stratum_and_a_row_for_each_judge() -> None:
    figure = figure_of(made.scores(), labels=made.WORDS)
    assert titles(figure)[:2] == ["Accuracy: Kind of joke, English", "Accuracy: Kind of joke, Spanish"]
    assert len(titles(figure)) == 8
    rows = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert rows[0] == "Qwen3-8B"
    assert len(rows) == len(made.FEW)
    assert not any("_" in row for row in rows)


def test_baselines_are_lines_at_their_score_and_no_rows() -> None:
    figure = figure_of(made.scores(by=()), labels=made.WORDS)
    at = {
        round(float(line.get_xdata()[0]), 6)
        for line in figure.axes[0].get_lines()
        if line.get_linestyle() == "--"
    }
    assert 0.4 in at
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["Always the most frequent label", "Random label"]


def test_judges_are_told_apart_by_prompt_only_where_they_have_several_in_a_panel() -> None:
    result = made.scores(by=())
    twice = pd.concat([result.frame, result.frame.assign(prompt="other")], ignore_index=True)
    rows = [t.get_text() for t in figure_of(Result(twice, "scores")).axes[0].get_yticklabels()]
    assert "Qwen3 8b, Joke" in rows
    assert "Qwen3 8b, Other" in rows


def test_missing_answers_are_drawn_under_each_rule_only_where_rules_differ() -> None:
    result = made.scores()
    assert further_figures(result) == ["policies"]
    same = result.frame[result.frame["missing"] == "wrong"]
    both = pd.concat([same, same.assign(missing="missing")], ignore_index=True)
    assert further_figures(Result(both, "scores", settings=result.settings)) == []
    legend = figure_of(made.harm(), part="policies").legends[0].get_texts()
    assert len(legend) == 3


def test_recalls_of_kinds_of_harm_are_a_figure_of_their_own() -> None:
    assert "recalls" in further_figures(made.harm())
    figure = figure_of(made.harm(), part="recalls", labels=made.WORDS)
    assert len(titles(figure)) == 8
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Implicit", "Explicit"]
    assert "implicit" in alt_of(made.harm(), made.WORDS, "recalls").lower()


def test_thirteen_labels_of_seven_judges_fit_on_a_page() -> None:
    figure = figure_of(made.confusion(), labels=made.WORDS)
    assert len(titles(figure)) == len(made.JUDGES)
    assert figure.get_figwidth() <= 7.2
    assert figure.get_figheight() <= 9.6
    last = [axes for axes in figure.axes if axes.get_title(loc="left")][-1]
    assert [text.get_text() for text in last.get_xticklabels()][-1] == "No answer"


def test_cells_of_small_matrices_hold_their_percent() -> None:
    figure = figure_of(made.confusion(labels=["safe", "harmful"], judges=["gpt"]))
    shares = [int(text.get_text()) for text in figure.axes[0].texts]
    assert all(0 < share <= 100 for share in shares)
    assert len(shares) >= 3


def test_answers_that_cover_a_gold_label_are_right() -> None:
    frame = pd.DataFrame(
        {"judge": "gpt", "task": "harm", "gold": ["implicit", "implicit", "safe"],
         "predicted": ["harmful", "safe", "safe"], "n": [6, 4, 10], "share": 0.0}
    )  # fmt: skip
    covers = {"harmful": ["implicit", "explicit"], "safe": ["safe"]}
    result = Result(frame, "confusion", settings={"covers": covers})
    assert "Implicit 60%, Safe 100%; most frequent mistake: Implicit called Safe" in alt_of(result)
    mistakes = confusion_tables(result, Names(None))[0].as_raw_html()
    assert "40%" in mistakes
    assert "60%" not in mistakes


def test_answers_that_nobody_gave_have_no_column() -> None:
    frame = made.confusion(labels=["safe", "harmful"], judges=["gpt"]).frame
    frame = frame.assign(n=frame["n"].where(frame["predicted"] != "no answer", 0))
    figure = figure_of(Result(frame, "confusion"))
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["Safe", "Harmful"]


def test_labels_that_are_never_given_stand_at_the_edge() -> None:
    frame = pd.DataFrame(
        {"judge": "gpt", "task": "harm", "label": ["a", "b"], "n_gold": 10, "n_predicted": [0, 40],
         "ratio": [0.0, 4.0], "ratio_lower": [0.0, 3.0], "ratio_upper": [0.0, 5.0]}
    )  # fmt: skip
    axes = figure_of(Result(frame, "by_label")).axes[0]
    points = [line.get_xdata() for line in axes.get_lines() if line.get_marker() == "o"]
    assert sorted(float(x) for x in np.concatenate(points)) == [-4.0, 2.0]


def test_passes_have_a_row_of_panels_for_each_score_and_draw_baselines_without_markers() -> None:
    result = made.passes(by=())
    random = result.frame[result.frame["judge"] == made.JUDGES[0]].assign(judge="random")
    both = Result(pd.concat([result.frame, random], ignore_index=True), "passes")
    figure = figure_of(both, labels=made.WORDS)
    assert len(figure.axes) == 3 * 2
    bare = [line for line in figure.axes[0].get_lines() if line.get_marker() in ("None", "", None)]
    assert len(bare) == 1
    assert max(line.get_ydata().max() for line in figure.axes[0].get_lines()) < figure.axes[0].get_ylim()[1]


def test_differences_are_marked_where_the_adjusted_p_is_small() -> None:
    result = made.differences()
    half = result.frame.assign(p_adjusted=[0.01, 0.9] * 3)
    legend = figure_of(Result(half, "differences", settings=result.settings)).legends[0]
    assert len(legend.get_texts()) == 2


def test_prompts_get_panels_where_pairs_were_compared_under_several() -> None:
    frame = pd.concat([made.differences(made.JUDGES[:2]).frame.assign(prompt=name, task="harm").iloc[:1]
                       for name in ("text", "image")], ignore_index=True)  # fmt: skip
    assert titles(figure_of(Result(frame, "differences"))) == ["Text", "Image"]


def test_readings_show_shares_that_add_up() -> None:
    figure = figure_of(made.readings(), labels=made.WORDS)
    ends = [bar.get_x() + bar.get_width() for bar in figure.axes[0].patches]
    assert max(ends) == pytest.approx(100)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "Answered", "Refused", "Empty", "Cut off", "Not readable"
    ]  # fmt: skip


def test_printed_numbers_lie_on_the_diagonal_where_ours_are_the_same() -> None:
    frame = pd.DataFrame({"metric": "accuracy", "printed": [0.1, 0.4], "recomputed": [0.1, 0.4]})
    axes = figure_of(Result(frame, "beside_print")).axes[0]
    points = next(line for line in axes.get_lines() if line.get_marker() == "o")
    assert points.get_xdata().tolist() == points.get_ydata().tolist()
    assert axes.get_xlim() == axes.get_ylim()


@pytest.mark.parametrize("name", ["robustness", "by_label"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_are_drawn_in_both_themes_and_described(name: str, theme: str) -> None:
    result = getattr(made, name)()
    assert is_drawn(result)
    assert figure_of(result, labels=made.WORDS, theme=theme, title="A title").axes
    told = alt_of(result, made.WORDS)
    assert "Qwen3-8B" in told
    assert "_" not in told


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    few = made.differences(made.JUDGES[:2])
    files = [save(figure_of(few), tmp_path / name, ("svg",))[0] for name in ("one", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_what_is_not_there_is_refused_with_what_there_is() -> None:
    with pytest.raises(InputError, match="no metric 'auc'"):
        figure_of(made.scores(), metrics=["auc"])
    with pytest.raises(InputError, match="have no figure"):
        figure_of(Result(pd.DataFrame(), "cards"))
    assert "cards" not in DRAWN


def test_a_file_takes_one_drawing_after_the_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = figure_of(made.differences(made.JUDGES[:2]))
    drawings = []
    draw = type(figure).draw
    monkeypatch.setattr(
        type(figure), "draw", lambda self, renderer: drawings.append(1) or draw(self, renderer)
    )
    save(figure, tmp_path / "one", ("png", "svg", "pdf"))
    assert len(drawings) == 4


def test_many_judges_make_a_matrix_with_the_best_first_and_marks_where_differences_hold() -> None:
    names = [f"judge_{k}" for k in range(10)]
    rows = [
        {"left": left, "right": right, "prompt": "joke", "task": "joke_type", "metric": "accuracy", "p": 0.5}
        | {"estimate": 0.1 * (i - j), "lower": -1.0, "upper": 0.5, "p_adjusted": 0.01 if j == 9 else 0.9}
        | {"test": "bootstrap", "n_pairs": 20}
        for i, left in enumerate(names)
        for j, right in enumerate(names)
        if i < j
    ]
    result = Result(pd.DataFrame(rows), "differences")
    figure = figure_of(result, title="Judges")
    matrix = figure.axes[0]
    assert matrix.get_yticklabels()[0].get_text() == "Judge 9 1"
    values = np.asarray(matrix.images[0].get_array().filled(0))
    assert values[0, 9] == pytest.approx(0.9)
    assert np.allclose(values, -values.T)
    assert len(matrix.lines[0].get_xdata()) == 18
    table = difference_tables(result, Names(None))[0].as_raw_html()
    assert table.count("Judge 9 ") == 9
    assert "+0.90" in table
    assert "compared with the judge who is best there" in table
    few = pd.DataFrame([row for row in rows if {row["left"], row["right"]} <= set(names[:8])])
    assert not figure_of(Result(few, "differences")).axes[0].images


@pytest.mark.parametrize("best", ["left", "right"])
def test_pairs_of_the_best_judge_put_it_first_on_whichever_side_it_was(best: str) -> None:
    numbers = {"estimate": [0.3, 0.1], "lower": [0.2, 0.05], "upper": [0.4, 0.3]}
    pairs = pd.DataFrame({"left": ["gpt", "pal"], "right": ["kim", "kim"], "_where": "texts", **numbers})
    won = pairs.iloc[[0]].assign(right="pal")
    if best == "right":
        won = won.assign(left="pal", right="gpt", estimate=-0.3, lower=-0.4, upper=-0.2)
    shown = beside_the_best(pd.concat([won, pairs], ignore_index=True))
    assert shown["left"].tolist() == ["gpt", "gpt"]
    assert shown["right"].tolist() == ["pal", "kim"]
    assert shown["estimate"].tolist() == [0.3, 0.3]
    assert shown["lower"].tolist() == [0.2, 0.2]
    assert shown["upper"].tolist() == [0.4, 0.4]


def test_differences_of_many_judges_are_laid_out_where_the_first_listed_judge_is_the_best() -> None:
    result = made.differences([f"judge{k}" for k in range(10)])
    left = result.frame["left"].str[5:].astype(int)
    ahead = Result(
        result.frame.assign(estimate=0.2 - left / 100, lower=0.01, upper=0.3),
        "differences",
        settings=result.settings,
    )
    [table] = difference_tables(ahead, Names(None))
    assert table.as_raw_html().count("judge0 \N{MINUS SIGN} judge") == 9 * 2


def test_statuses_have_one_colour_whichever_of_them_occur() -> None:
    result = made.readings()
    few = Result(result.frame[result.frame["status"] != "refused"], "readings")
    colors = []
    for one in (result, few):
        legend = figure_of(one).legends[0]
        faces = [handle.get_facecolor() for handle in legend.get_patches()]
        colors.append(dict(zip((text.get_text() for text in legend.get_texts()), faces, strict=True)))
    assert {name: colors[0][name] for name in colors[1]} == colors[1]


def test_a_judge_has_the_colour_of_its_label_in_curves_and_beside_the_truth() -> None:
    words = {("judges", name): name for name in made.JUDGES}
    drawn = figure_of(made.passes(), labels=words)
    last = made.FEW[-1]
    place = Names(words).place(last, [last])
    lines = [line for line in drawn.axes[0].get_lines() if line.get_color() == LIGHT.color(place)]
    assert [line.get_marker() for line in lines] == [LIGHT.marker(place)]
    truth = pd.DataFrame(
        {"quantity": "accuracy", "judge": [last], "truth": 0.5, "estimate": 0.5, "lower": 0.4, "upper": 0.6,
         "inside": True}
    )  # fmt: skip
    axes = raters_figure(Result(truth, "recovery"), labels=words).axes[0]
    assert LIGHT.color(place) in {line.get_color() for line in axes.get_lines()}


def test_heads_of_matrices_break_between_words_and_spare_places_are_at_the_end() -> None:
    judges = [
        "deepseek_reasoner",
        "llama_3_1_8b",
        "qwen2_5_14b",
        "acegpt_v2_32b_chat",
        "gpt_5_2",
        "jais",
        "kim",
    ]
    names = [
        "DeepSeek-Reasoner",
        "Llama-3.1-8B",
        "Qwen2.5-14B",
        "AceGPT-v2-32B-Chat",
        "GPT-5.2",
        "Jais",
        "Kim",
    ]
    labels: dict[Any, str] = {("judges", key): name for key, name in zip(judges, names, strict=True)}
    result = made.confusion(labels=["safe", "harmful"], judges=judges)
    twice = pd.concat([result.frame, result.frame.assign(prompt="image")], ignore_index=True)
    figure = figure_of(Result(twice, "confusion"), labels=labels)
    shown = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert len(shown) == 14
    for axes in shown:
        judge, prompt = axes.get_title(loc="left").replace("-\n", "-").replace(",\n", ", ").split(", ")
        assert judge.replace("\n", " ") in names
        assert prompt in ("Lines", "Image")
    edges = [round(axes.get_position().y0, 3) for axes in shown]
    across = edges.count(edges[0])
    assert edges.count(edges[-1]) < across
    named = [axes.texts[-1].get_text() == "No answer" or axes.get_xticklabels()[-1].get_text() == "No answer"
             for axes in shown if axes.texts]  # fmt: skip
    assert named == [False] * (len(shown) - across) + [True] * across


def test_thirteen_labels_fit_on_a_page_with_spare_places_at_the_end() -> None:
    figure = figure_of(made.confusion(), labels=made.WORDS)
    first, *_, last = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert figure.get_figheight() <= 9.6
    assert first.get_title(loc="left") == "Qwen3-8B"
    assert last.get_position().x0 == pytest.approx(first.get_position().x0, abs=0.01)


def test_panels_of_few_judges_have_rows_of_their_own() -> None:
    result = made.scores(judges=made.JUDGES)
    baseline = result.frame["judge_kind"] == "baseline"
    english, first = result.frame["language"] == "en", result.frame["judge"].isin(made.JUDGES[:3])
    frame = result.frame[baseline | (english & first) | (~english & ~first)]
    figure = figure_of(Result(frame, "scores", settings=result.settings), labels=made.WORDS)
    shown = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert len(shown) == 8
    for axes in shown:
        points = [line for line in axes.get_lines() if line.get_marker() == "o"]
        drawn = sum(len(np.atleast_1d(line.get_ydata())) for line in points)
        low, high = sorted(axes.get_ylim())
        assert high - low == drawn == (3 if "English" in axes.get_title(loc="left") else 4)
    rows = {text.get_text() for axes in shown for text in axes.get_yticklabels()}
    assert len(rows) == len(made.JUDGES)


def test_labels_that_are_hardly_ever_gold_are_not_drawn() -> None:
    frame = pd.DataFrame(
        {"judge": "gpt", "task": "harm", "label": ["common", "irony"], "n_gold": [40, 2],
         "n_predicted": [40, 12], "ratio": [1.0, 5.8], "ratio_lower": [0.8, 1.0], "ratio_upper": [1.2, 9.0]}
    )  # fmt: skip
    axes = figure_of(Result(frame, "by_label")).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["Common"]
    assert "Irony" not in alt_of(Result(frame, "by_label"))


def test_estimates_of_many_judges_are_told_apart_by_kind_on_equal_axes() -> None:
    judges = ["human", *(f"model{k}" for k in range(12))]
    truth = pd.DataFrame(
        {"quantity": "accuracy", "judge": judges, "truth": np.linspace(0.2, 0.6, 13), "estimate": 0.5,
         "lower": 0.1, "upper": 0.9, "inside": True}
    )  # fmt: skip
    figure = raters_figure(Result(truth, "recovery"))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["People", "Models"]
    assert figure.axes[0].get_xlim() == figure.axes[0].get_ylim()
    assert figure.axes[0].get_aspect() == 1
