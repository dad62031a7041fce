"""Rows that are drawn to be labelled: probabilities, limits that hold at every batch, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.numerics.intervals.betting_limits import DrawnValues, lower_limits
from conjury.analysis.raters.labelling import LabelQueue, label
from conjury.analysis.raters.labelling.batch_draws import draw_shares, label_weights
from conjury.analysis.raters.labelling.label_opening import journal_of
from conjury.analysis.raters.labelling.stopping_rules import read_rules
from conjury.analysis.raters.systems import compare_systems
from conjury.analysis.raters.validation import judge
from conjury.inference.errors import InputError


def verdicts(
    seed: int, n: int = 300, rate: float = 0.7, right: float = 0.87
) -> tuple[pd.DataFrame, np.ndarray]:
    """Verdicts of a judge and the labels that people would give."""
    rng = np.random.default_rng(seed)
    good = rng.random(n) < rate
    verdict = np.where(rng.random(n) < right, good, ~good)
    return pd.DataFrame({"text": range(n), "verdict": np.where(verdict, "yes", "no")}), np.where(
        good, "yes", "no"
    )


def graded(seed: int, n: int = 150, shift: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    """Scores of two systems by a judge that favours the second, and ratings by people from 0 to 10."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(5, 1.5, n)
    rated = np.concatenate([quality + rng.normal(0, 0.7, n), quality + shift + rng.normal(0, 0.7, n)])
    rated = np.clip(rated, 0, 10).round(2)
    score = rated + rng.normal(0, 0.8, 2 * n) + np.repeat([0.0, 0.6], n)
    prompt = np.tile(np.arange(n), 2)
    return pd.DataFrame({"prompt": prompt, "system": np.repeat(["old", "new"], n), "score": score}), rated


def labelled(queue: LabelQueue, truth: np.ndarray, most: int) -> LabelQueue:
    queue.run(lambda row: str(truth[row.name]), "ann", most)
    return queue


def misses(queue: LabelQueue, truth: dict[str, float]) -> bool:
    """Whether any interval of any batch excludes the truth."""
    frame = queue.frame.assign(truth=queue.frame["quantity"].map(truth)).dropna(subset="truth")
    return bool(((frame["lower"] > frame["truth"] + 1e-9) | (frame["upper"] < frame["truth"] - 1e-9)).any())


def test_the_lower_limit_is_where_the_capital_of_the_gambler_reaches_one_over_alpha() -> None:
    rng = np.random.default_rng(1)
    value = rng.random(60)
    drawn = DrawnValues(value, np.zeros(60), np.ones(60), np.full(60, 0.3))
    limit = float(lower_limits(drawn, [60], 0.05)[0])

    def capital(mean: float) -> float:
        stakes = np.sqrt(2 * np.log(20) / 100) / 0.3 * np.array([0.5, 1.0, 2.0])
        return float(
            np.mean([np.prod(1 + np.minimum(stake, 0.9 / mean) * (value - mean)) for stake in stakes])
        )

    assert capital(limit) == pytest.approx(20, rel=1e-4)
    assert 0.3 < limit < value.mean()
    assert (np.diff(lower_limits(drawn, range(1, 61), 0.05)) >= 0).all()


def test_equal_probabilities_give_the_weights_of_a_simple_random_sample() -> None:
    chances = 1 / (50 - np.arange(20))
    assert label_weights(chances.tolist(), 50) == pytest.approx(50 / 20)
    assert draw_shares(20, 50).sum() == pytest.approx(1)
    assert label_weights([0.5, 1.0], 2).tolist() == [1, 1]


def test_all_labels_give_the_share_itself() -> None:
    table, truth = verdicts(3, n=45)
    queue = labelled(label(table, "verdict", batch=20), truth, 100)
    last = queue.frame.iloc[-1]
    share = (truth == "yes").mean()
    assert [last["estimate"], last["lower"], last["upper"]] == pytest.approx([share] * 3)
    assert queue.stop == "all rows have a label"
    assert (queue.table()["sampling_probability"] == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "right"), [(0.7, 0.87), (0.03, 0.95), (0.5, 0.5)])
def test_peeking_after_every_batch_misses_in_five_percent_at_most(rate: float, right: float) -> None:
    count = 0
    for seed in range(100):
        table, truth = verdicts(seed, n=200, rate=rate, right=right)
        queue = labelled(label(table, "verdict", positive="yes", batch=20, seed=seed), truth, 100)
        count += misses(queue, {"level": float((truth == "yes").mean())})
    assert count <= 9  # of 100, with a probability of 97% where it is 5 on average


@pytest.mark.slow
def test_differences_of_systems_are_missed_in_five_percent_at_most() -> None:
    count = 0
    for seed in range(60):
        table, rated = graded(seed, n=80)
        options = {"system": "system", "id": "prompt", "limits": (0, 10), "seed": seed}
        queue = labelled(label(table, "score", **options), rated, 80)
        mean = {name: rated[(table["system"] == name).to_numpy()].mean() for name in ("old", "new")}
        count += misses(queue, {"difference": mean["new"] - mean["old"], "level[old]": mean["old"]})
    assert count <= 6


@pytest.mark.long
def test_the_answers_to_a_prompt_are_drawn_together_and_compared() -> None:
    table, rated = graded(4, n=60, shift=2.0)
    queue = label(table, "score", system="system", id="prompt", limits=(0, 10), until="lower > 0")
    labelled(queue, rated, 200)
    assert queue.stop == "the rule is met (difference: its lower limit above 0)"
    drawn = queue.table().dropna(subset="label")
    assert (drawn.groupby("prompt")["system"].nunique() == 2).all()
    assert list(dict.fromkeys(queue.frame["quantity"])) == ["difference", "level[old]", "level[new]"]
    result = compare_systems(queue.table(), "score", "label", id="prompt")
    assert any("weighted by 'sampling_probability'" in note for note in result.notes)
    row = result.frame.set_index("name").loc["difference"]
    truth = rated[60:].mean() - rated[:60].mean()
    assert row["lower"] < truth < row["upper"]


@pytest.mark.parametrize(("limits", "digits"), [((0, 1), 3), ((1, 2), 3), ((-1, 1), 2), ((0, 10), 2)])
def test_numbers_have_three_digits_where_a_scale_is_no_longer_than_one(limits, digits: int) -> None:
    table, rated = graded(3, n=12)
    least, greatest = limits
    values = least + (greatest - least) * rated / 10
    options = {"id": "prompt", "system": "system", "limits": limits, "batch": 4}
    queue = labelled(label(table, "score", **options), values.round(3), 8)
    assert {len(text) for text in re.findall(r"\d\.(\d+)", queue.result.settings["verdict"][0])} == {digits}


def test_rows_that_nobody_can_label_widen_the_interval() -> None:
    table, truth = verdicts(5)
    sure, unsure = (label(table, "verdict", seed=1) for _ in range(2))
    labelled(sure, truth, 60)
    for number in range(60):
        row = unsure.row
        unsure.add(None if number % 4 == 0 else str(truth[row]), "ann")
    assert unsure.frame["lower"].iloc[-1] < sure.frame["lower"].iloc[-1]
    assert unsure.frame["upper"].iloc[-1] > sure.frame["upper"].iloc[-1]
    assert "15 rows that nobody could label" in unsure.result.settings["claim"]
    every = label(table[:40], "verdict", seed=1)
    for number in range(40):
        row = every.row
        every.add(None if number % 4 == 0 else str(truth[row]), "ann")
    labels = every.table()["label"]
    least = (labels == "yes").sum() / 40  # if all ten others were no, and 0.25 more if all were yes
    assert every.frame[["lower", "upper"]].iloc[-1].tolist() == pytest.approx([least, least + 0.25])


def test_labels_that_somebody_chose_are_refused_unless_declared_and_count_for_their_rows() -> None:
    table, truth = verdicts(6)
    table["label"] = np.where(np.arange(300) < 30, truth, None)
    with pytest.raises(InputError, match="30 rows have a label in 'label' that was not drawn here"):
        label(table, "verdict")
    queue = labelled(label(table, "verdict", hand_picked=True), truth, 40)
    assert "30 labels were hand-picked: they count for their own rows alone" in queue.result.settings["claim"]
    frame = queue.table()
    assert (frame.loc[frame["label_sampled"] == "hand-picked", "sampling_probability"] == 1).all()
    assert frame["label"].notna().sum() == 70
    share = (truth == "yes").mean()
    assert queue.frame["lower"].iloc[-1] < share < queue.frame["upper"].iloc[-1]


NO_ROOM = [(5, 5), (5, 1), (0, np.inf), (-np.inf, 5)]


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda table: label(table.assign(score=range(300)), "score"), "state them, such as --range 0,299"),
        *((partial(label, judge=["text"], limits=ends), "has no room") for ends in NO_ROOM),
        (lambda table: label(table, "verdict", until="levle < 0.1"), "'levle' is no quantity"),
        (lambda table: label(table, "verdict", until="level > 0.1"), "write 'level < NUMBER'"),
        (lambda table: label(table, "verdict", until="level"), "is no rule"),
        (lambda table: label(table, "verdict", until="level < 0"), "no interval is that narrow"),
        (lambda table: label(table, "verdict", show="verdict"), "labels are blind"),
        (lambda table: label(table, "verdict", "verdict"), "is to get the labels"),
        (lambda table: label(table, "verdict", certainty="text2"), "there is no column 'text2'"),
        (lambda table: label(table, "verdict").add("maybe", "ann", None), "'maybe' is no label"),
        (lambda table: add_elsewhere(label(table, "verdict")), "was not drawn"),
        (lambda table: label(table, "verdict", batch=0).row, "batch is 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(act: Callable[[pd.DataFrame], object], sentence: str) -> None:
    with pytest.raises(InputError) as error:
        act(verdicts(7)[0])
    assert sentence in str(error.value)


def add_elsewhere(queue: LabelQueue) -> None:
    row = queue.row
    assert row is not None
    order = set(queue.journal.batches[-1].order)
    queue.add("yes", "ann", next(place for place in range(300) if place not in order))


def test_rules_are_read_in_words() -> None:
    names = ["difference", "level[a]", "level[b]"]
    rules = read_rules("lower > 0 or upper<0 or level[b] < 3%", names, "difference")
    assert [(rule.quantity, rule.column, rule.is_below, rule.number) for rule in rules] == [
        ("difference", "lower", False, 0.0),
        ("difference", "upper", True, 0.0),
        ("level[b]", "half_width", True, 0.03),
    ]
    assert read_rules("level[a].upper < .5", names, "difference")[0].column == "upper"


def test_labelling_goes_on_where_it_ended_whatever_ends_it(tmp_path: Path) -> None:
    table, truth = verdicts(8, n=80)
    whole = labelled(label(table, "verdict", out=tmp_path / "whole.csv", batch=10), truth, 30)
    path = tmp_path / "parts.csv"
    for most in (3, 10, 17, 30):
        labelled(label(table, "verdict", out=path, batch=10), truth, most)
        with open(journal_of(path), "ab") as file:
            file.write(b'{"kind": "label", "row"')  # a line that was cut off
    again = label(table, "verdict", out=path, batch=10)
    pd.testing.assert_frame_equal(again.frame, whole.frame)
    pd.testing.assert_frame_equal(pd.read_csv(path), pd.read_csv(tmp_path / "whole.csv"))
    table.loc[0, "verdict"] = "no" if table.loc[0, "verdict"] == "yes" else "yes"
    with pytest.raises(InputError, match="are others than those of the labels"):
        label(table, "verdict", out=path)
    with pytest.raises(InputError, match="were begun with another positive"):
        label(table, "verdict", positive="no", out=path)


@pytest.mark.long
def test_hand_picked_labels_beside_drawn_ones_count_for_their_rows_in_what_judge_says_of_all() -> None:
    table, truth = verdicts(3, 60)
    picked = table.assign(label=np.where((np.arange(60) < 20) & (truth == "yes"), truth, None))
    queue = labelled(label(picked, "verdict", hand_picked=True), truth, 60)  # all rows have a label now
    result = judge(queue.table(), "verdict", "label")
    assert not any("people chose themselves" in note for note in result.notes)
    rates = result.frame.set_index("name")["estimate"]
    assert rates["people_rate[yes]"] == pytest.approx((truth == "yes").mean())
    some = labelled(label(picked, "verdict", hand_picked=True), truth, 20).table().dropna(subset="label")
    some["weight"] = 1 / some["sampling_probability"].astype(float)
    rates = judge(
        table.join(some[["label", "sampling_probability", "label_sampled"]]), "verdict", "label"
    ).frame.set_index("name")["estimate"]
    parts = [  # within each verdict of the judge, of which all rows are known
        (table["verdict"] == name).mean() * np.average(part["label"] == "yes", weights=part["weight"])
        for name, part in some.groupby("verdict")
    ]
    assert rates["people_rate[yes]"] == pytest.approx(sum(parts))


def test_a_weighted_mean_of_ratings_is_that_of_all_rows() -> None:
    rng = np.random.default_rng(3)
    score = rng.normal(5, 1, 1000)
    rated = score + rng.normal(0, 0.5, 1000)
    chance = np.where(rated > 6, 0.3, 0.03)
    drawn = rng.random(1000) < chance
    table = pd.DataFrame({"score": score, "rated": np.where(drawn, rated, np.nan)})
    table["sampling_probability"] = np.where(drawn, chance, np.nan)
    frame = judge(table, "score", "rated").frame.set_index("name")
    assert frame.loc["corrected_mean", "lower"] < rated.mean() < frame.loc["corrected_mean", "upper"]
    ipw = np.average(rated[drawn], weights=1 / chance[drawn])
    assert frame.loc["people_only_mean", "estimate"] == pytest.approx(ipw)
    assert frame.loc["bias", "estimate"] == pytest.approx(
        np.average((score - rated)[drawn], weights=1 / chance[drawn])
    )
