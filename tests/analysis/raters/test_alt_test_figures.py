"""Figures of the alternative annotator test show its numbers and keep their labels inside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.figures import alt as alt_of
from conjury.analysis.figures.labels import words
from conjury.analysis.raters import AltTest, alt_test, alt_test_power, epsilon_curve
from conjury.inference.errors import InputError

LONG = "a_model_with_a_name_that_goes_on_and_on_and_on_instruct_preview"


def judgments() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    parts = []
    for dimension in ("wit", "tact"):
        truth = rng.normal(size=60)
        for judge, noise in (
            ("ann", 0.4),
            ("bob", 0.9),
            ("cy", 0.7),
            ("dee", 0.7),
            ("gpt_4", 0.5),
            (LONG, 3.0),
        ):
            value = np.clip(np.round(2 + truth + rng.normal(size=60) * noise), 0, 4)
            shown = slice(0, 10) if judge == "dee" else slice(0, 60)
            kind = "human" if len(judge) < 4 else "model"
            parts.append(pd.DataFrame({"judge_id": judge, "judge_kind": kind, "dimension": dimension,
                                       "item_id": np.arange(60).astype(str)[shown],
                                       "value": value[shown]}))  # fmt: skip
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def tested() -> AltTest:
    return alt_test(judgments(), scoring=["neg_rmse", "accuracy"], draws=60)


def test_winning_rates_are_drawn_where_they_are_and_equal_ones_in_different_dashes(tested: AltTest) -> None:
    curve = epsilon_curve(tested)
    for axes in curve.plot().axes:
        steps = [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post"]
        drawn = {float(y) for line in steps for y in line.get_ydata()}
        assert drawn <= set(curve.frame["winning_rate"])
        assert len({(line.get_linestyle(), line.get_linewidth()) for line in steps}) == len(steps) == 2
    same = curve.frame.assign(winning_rate=1.0)
    for axes in replace(curve, frame=same).plot().axes:
        for line in axes.get_lines():
            assert np.max(np.asarray(line.get_ydata(), dtype=float)) <= 1


def test_both_rates_are_drawn_for_each_dimension_and_scoring(tested: AltTest) -> None:
    figure = tested.plot(labels={("judges", "gpt_4"): "GPT-4", ("dimension", "wit"): "Wittiness"})
    assert len(figure.axes) == 4
    left = figure.axes[0]
    assert left.get_title(loc="left") == "Wittiness"
    names = [tick.get_text() for tick in left.get_yticklabels()]
    assert names[0] == "GPT-4"
    assert "_" not in names[1]
    drawn = np.concatenate([line.get_xdata() for line in left.lines if line.get_linestyle() == "None"])
    wanted = tested.frame.loc[tested.frame["dimension"] == "wit", "winning_rate"]
    assert sorted(drawn) == sorted(wanted)


def test_annotators_of_one_model_are_drawn_with_those_left_out(tested: AltTest) -> None:
    figure = tested.plot(show="annotators", model="gpt_4")
    assert len(figure.axes) == 4
    told = [text.get_text() for text in figure.axes[0].texts]
    assert "left out: 10 items, fewer than 30" in told
    assert told.count("60 items") == 3
    with pytest.raises(InputError, match="The result holds 2 models"):
        tested.plot(show="annotators")
    with pytest.raises(InputError, match="no model 'gpt'"):
        tested.plot(show="annotators", model="gpt")
    with pytest.raises(InputError, match="show is 'people'"):
        tested.plot(show="people")


def test_curves_mark_where_a_model_begins_to_pass(tested: AltTest) -> None:
    figure = epsilon_curve(tested).plot()
    assert len(figure.axes) == 4
    marks = [float(line.get_xdata()[0]) for line in figure.axes[0].lines if len(line.get_xdata()) == 1]
    first = tested.frame[(tested.frame["dimension"] == "wit") & (tested.frame["scoring"] == "neg_rmse")]
    smallest = first["smallest_epsilon"]
    assert marks == smallest[smallest.between(0, 0.3)].tolist()


@pytest.mark.filterwarnings("error")
def test_panels_find_room_beside_long_names(tested: AltTest) -> None:
    one = alt_test(judgments(), "gpt_4", dimension="wit")
    power = alt_test_power(annotators=[3, 5], instances=[30, 60], epsilon=[0.1, 0.2], simulations=20)
    for figure in (
        tested.plot(title="A title"), one.plot(theme="dark"), power.plot(theme="dark"),
        tested.plot(show="annotators", model=LONG), epsilon_curve(one).plot(),
    ):  # fmt: skip
        figure.draw_without_rendering()
        assert all(axes.get_position().width > 0.2 for axes in figure.axes)


def test_words_tell_what_passes(tested: AltTest) -> None:
    told = alt_of(alt_test(judgments(), "gpt_4", dimension="wit", draws=60))
    assert told.startswith("Alternative annotator test with epsilon 0.1. Gpt 4 passes: winning rate 0.67 [")
    assert "Gpt 4 (Wit, root mean squared error) passes" in alt_of(tested)
    assert "begins" not in alt_of(epsilon_curve(tested))
    assert f"{words(LONG)} (Tact, exact agreement)" in alt_of(epsilon_curve(tested))
    power = alt_test_power(instances=[30, 300], epsilon=[0.02, 0.2], simulations=60)
    assert "epsilon 0.2, model agreement 0.50: 300 items for 80%." in alt_of(power)
    assert "none of the numbers of items reaches 80%" in alt_of(power)
    assert "behind by epsilon passes in at most" in alt_of(power)
