from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce, errors_under_choices, wild
from conjury.analysis.figures import alt, draw
from conjury.analysis.figures.conjoint.error_choices import ratio_ranges
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

DATA = Path(__file__).parents[3] / "fixtures" / "data"
FORMULA = "chosen ~ tone + author + reply"
WORDS = [
    "rows (HC0)", "respondent (survey)", "text (CR1)", "text (CR2)", "user (CR2)", "text (wild bootstrap)",
    "text + user (CR1)", "respondent + text + user (CR1)", "text + user (pigeonhole)",
    "text + user (mixed model)",
]  # fmt: skip


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    frame = pd.read_csv(DATA / "stimuli.csv").rename(columns={"respondent": "judge_id"})
    levels = pd.read_csv(DATA / "stimuli.levels.csv").groupby("column", sort=False)["level"].agg(list)
    return frame.assign(**{name: pd.Categorical(frame[name], levels[name]) for name in levels.index})


@pytest.fixture(scope="module")
def found(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return errors_under_choices(data, FORMULA, pair="judge_id", slopes="reply", draws=99, seed=3)


def rows(found, choice: str) -> pd.DataFrame:
    return found.frame[found.frame["choice"] == choice].reset_index(drop=True)


def test_choices_come_in_words_from_independent_rows_to_all_random(found) -> None:
    assert list(found.frame["choice"].cat.categories) == WORDS
    assert found.frame["choice"].cat.ordered
    assert set(found.frame.groupby("choice", observed=True).size()) == {5}


@pytest.mark.parametrize(
    ("choice", "options"),
    [
        ("rows (HC0)", {"vcov": "HC0"}),
        ("respondent (survey)", {"id": "judge_id"}),
        ("text (CR2)", {"id": "text", "vcov": "CR2"}),
        ("text + user (CR1)", {"id": ["text", "user"], "vcov": "CR1"}),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_each_choice_holds_the_errors_and_limits_of_its_own_fit(found, data, choice, options) -> None:
    own = amce(data, FORMULA, **options).frame.dropna(subset="std_error")
    for name in ("estimate", "std_error", "lower", "upper"):
        np.testing.assert_allclose(rows(found, choice)[name], own[name], rtol=1e-12)


def test_ratios_are_to_the_errors_of_independent_rows(found) -> None:
    base = rows(found, "rows (HC0)")
    assert (base["ratio"] == 1).all()
    text = rows(found, "text (CR1)")
    np.testing.assert_allclose(text["ratio"], text["std_error"] / base["std_error"])
    assert text["ratio"].max() > 1.4


@pytest.mark.filterwarnings("ignore")
def test_the_wild_bootstrap_has_limits_and_no_error_of_its_own(found, data) -> None:
    own = rows(found, "text (wild bootstrap)")
    assert own[["std_error", "df", "ratio"]].isna().all(axis=None)
    made = wild(amce(data, FORMULA, id="text", vcov="CR1"), draws=99, seed=3).frame.dropna(subset="lower")
    np.testing.assert_allclose(own["lower"], made["lower"])


def test_the_mixed_model_names_its_slopes_and_its_fewest_units(found) -> None:
    mixed = rows(found, "text + user (mixed model)")
    assert set(mixed["clusters"]) == {"text, user, text:reply"}
    assert set(mixed["n_clusters"]) == {12}


def test_missing_stimuli_are_noted_and_leave_out_what_needs_them(data) -> None:
    found = errors_under_choices(data.drop(columns="user"), FORMULA, pair="judge_id", draws=19, seed=1)
    assert list(found.frame["choice"].cat.categories) == [
        "rows (HC0)", "respondent (survey)", "text (CR1)", "text (CR2)", "text (wild bootstrap)",
        "respondent + text (CR1)", "text (mixed model)",
    ]  # fmt: skip
    assert "There is no column 'user', so no errors by it." in found.notes
    bare = errors_under_choices(data.drop(columns=["user", "text"]), FORMULA, pair="judge_id")
    assert list(bare.frame["choice"].cat.categories) == WORDS[:2]


def test_a_choice_that_cannot_be_computed_is_left_out_with_its_reason(data) -> None:
    found = errors_under_choices(data.assign(user="only one"), FORMULA, pair="judge_id", draws=19, seed=1)
    assert "text (CR2)" in set(found.frame["choice"])
    assert "user (CR2)" not in set(found.frame["choice"])
    assert any(note.startswith("user (CR2) was excluded: ") for note in found.notes)


def test_what_no_choice_can_estimate_is_an_error(data) -> None:
    with pytest.raises(InputError, match="loudness"):
        errors_under_choices(data, "chosen ~ loudness", pair="judge_id")


def test_the_figure_has_a_panel_an_attribute_and_a_grid_of_ratios(found) -> None:
    figure = found.plot(labels={"tone": "How it is said"})
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["How it is said", "Author", "Reply", "Standard errors over those of independent rows"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "rows (HC0)", "respondent (survey)", "text + user (CR1)", "text + user (mixed model)",
    ]  # fmt: skip
    drawn = [line for line in figure.axes[0].get_lines() if line.get_marker() not in ("None", "")]
    looks = {(line.get_color(), line.get_marker()) for line in drawn}
    assert len(looks) == len({color for color, _ in looks}) == len({mark for _, mark in looks}) == 4
    assert min(line.get_markersize() for line in drawn) >= 3.5
    grid = [label.get_text() for label in figure.axes[-1].get_yticklabels()]
    assert grid == [word for word in WORDS if "wild" not in word]


def test_intervals_are_drawn_around_the_estimate_and_zero_is_marked_where_it_is_near() -> None:
    frame = pd.DataFrame(
        {
            "feature": "reply", "level": ["near", "far"], "choice": "rows (HC0)", "clusters": "",
            "method": "HC0", "estimate": [0.05, -0.5],
            "lower": [-0.05, -0.6], "upper": [0.15, -0.4], "ratio": 1.0,
        }
    )  # fmt: skip
    axes = draw(Result(frame, "standard_errors")).axes[0]
    segments = [segment.tolist() for part in axes.collections for segment in part.get_segments()]
    np.testing.assert_allclose([ends[0][0] for ends in segments], [-0.1, -0.1, -0.05])
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "Near\n0.050", "Far\n\N{MINUS SIGN}0.500",
    ]  # fmt: skip


def test_the_description_names_the_widest_errors_of_each_attribute(found) -> None:
    told = alt(Result(found.frame, "standard_errors"))
    assert "5 effects under 4 of 10 choices" in told
    ratios = ratio_ranges(found.frame)
    for name, feature in (("Tone", "tone"), ("Author", "author"), ("Reply", "reply")):
        largest = ratios[(feature, "max")]
        assert f"{name} {largest.max():.1f}, {largest.idxmax()}" in told
    assert all(f"{name} " in told for name in ("Tone", "Author", "Reply"))


def test_several_judges_in_one_figure_are_refused(found) -> None:
    with pytest.raises(InputError, match="one judge and prompt at a time"):
        draw(Result(pd.concat([found.frame, found.frame]), "standard_errors"))
    with pytest.raises(InputError, match="no rows"):
        draw(Result(found.frame[:0], "standard_errors"))
