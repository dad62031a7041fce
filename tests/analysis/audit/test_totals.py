"""Shares, counts, totals and subgroups: verdicts against enumeration, real tables and degenerate cases."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product

import pandas as pd
import pytest
from cases import cases
from published_numbers import findings as run

from conjury.analysis.audit.arithmetic import Finding, Interval, Printed
from conjury.analysis.audit.arithmetic.rating_arithmetic import RatingGrid, printed
from conjury.analysis.audit.arithmetic.totals import chance, shares_fit, sum_to_one
from conjury.analysis.audit.arithmetic.weights import is_weighted_mean, mean_range, shares
from conjury.inference.errors import InputError
from conjury.inference.tables.files import PUBLISHED

# ---- shares ----


@pytest.mark.parametrize("n", [1, 2, 3, 7, 9])
def test_shares_fit_a_sample_size_if_and_only_if_counts_do(n: int) -> None:
    counts = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    half = Fraction(1, 20)

    def possible(values: tuple[Fraction, ...]) -> bool:
        return any(
            all(abs(Fraction(count, n) - value) <= half for count, value in zip(row, values, strict=True))
            for row in counts
        )

    for digits in product(range(11), repeat=3):
        values = tuple(Fraction(digit, 10) for digit in digits)
        intervals = [Interval(value - half, value + half) for value in values]
        assert shares_fit(intervals, n) == possible(values), digits


@pytest.mark.parametrize(
    "rounding", ["nearest", "truncated", pytest.param("rounded up", marks=pytest.mark.long)]
)
def test_shares_sum_to_one_if_and_only_if_some_sample_size_fits(rounding: str) -> None:
    for digits in product(range(13), range(13), (0, 1, 4)):
        intervals = [printed(digit, 1).interval(rounding) for digit in digits]
        assert sum_to_one(intervals) == any(shares_fit(intervals, n) for n in range(1, 61)), digits


# ---- weighted means ----


@pytest.mark.long
def test_weighted_means_of_ratings_equal_enumeration_of_sums() -> None:
    scale, half = RatingGrid.of([0, 2]), Fraction(1, 20)
    sums = [(Fraction(a, 3), Fraction(b, 4), Fraction(a + b, 7)) for a in range(7) for b in range(9)]
    for digits in product(range(0, 21, 4), range(21), range(21)):
        values = [Fraction(digit, 10) for digit in digits]
        possible = any(all(abs(x - v) <= half for x, v in zip(row, values, strict=True)) for row in sums)
        first, second, total = (printed(digit, 1).interval() for digit in digits)
        assert is_weighted_mean(total, [first, second], (3, 4), scale) == possible, digits


def test_open_ends_of_truncated_parts_are_no_weighted_means() -> None:
    parts = [Printed.read(text).interval("truncated") for text in ("1.0", "2.0")]
    assert mean_range(parts, [1, 1]) == Interval(Fraction(3, 2), Fraction(8, 5), True, False)
    assert not mean_range(parts, [1, 1]).meets(Printed.read("1.6").interval("truncated"))
    assert mean_range(parts, [1, 1]).meets(Printed.read("1.5").interval("truncated"))


@pytest.mark.long
def test_weights_that_fit_two_parts_are_those_of_a_search() -> None:
    draws = random.Random(3)
    outcomes = set()
    for _ in range(300):
        ends = [sorted(draws.choices(range(40), k=2)) for _ in range(3)]
        total, first, second = (Interval(Fraction(low, 10), Fraction(high, 10)) for low, high in ends)
        fitting = [k for k in range(1, 40) if mean_range([first, second], [k, 40 - k]).meets(total)]
        found = shares(total, first, second)
        assert fitting == [k for k in range(1, 40) if found and found[0] <= Fraction(k, 40) <= found[1]]
        outcomes.add((len(fitting) > 0) + (len(fitting) == 39))
    assert outcomes == {0, 1, 2}


def test_chance_of_a_total_is_the_share_of_numbers_between_its_parts_that_fit() -> None:
    numbers = {"total": "2.5", "text": "2.0", "image": "3.0"}
    (known,) = run("weighted_mean", numbers, weights={"text": 1, "image": 1})
    assert known.chance == 3 / 11  # 2.4, 2.5 and 2.6 of 2.0 to 3.0: the parts are rounded, too


def test_published_totals_of_all_topics_are_those_of_200_text_and_199_image_topics() -> None:
    table = pd.read_csv(PUBLISHED / "oogiri_means.csv", dtype=str)
    wide = table.pivot(index=["rater", "response_type", "dimension"], columns="modality", values="mean")
    least, largest = Fraction(0), Fraction(1)
    for total, text, image in wide[["all", "text", "image"]].itertuples(index=False):
        numbers = {"total": total, "text": text, "image": image}
        (known,) = run("weighted_mean", numbers, weights={"text": 200, "image": 199}, scale=[0, 4], step=0.25)
        assert known.verdict == "consistent"
        ends = shares(*(Printed.read(numbers[role]).interval() for role in ("total", "text", "image")))
        assert ends is not None
        least, largest = max(least, ends[0]), min(largest, ends[1])
    assert [n for n in range(400) if least <= Fraction(n, 399) <= largest] == [200]


# ---- subgroups ----


@pytest.mark.parametrize(("check", "settings", "sentence"), cases(__file__, "bad settings"))
def test_bad_settings_are_refused_with_one_sentence(
    check: str, settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        run(check, {"whole" if check == "subgroups" else "total": "1", "a": "1", "b": "1"}, **settings)
    assert sentence in str(caught.value)
    with pytest.raises(InputError, match="row 1: a: give whole counts"):
        run("counts", {"total": "10", "a": "2.5", "b": "7"})


# ---- tables of real counts ----


def real_shares(draws: random.Random) -> Finding:
    n, k = draws.randint(1, 400), draws.randint(2, 6)
    counts = [draws.randrange(n + 1) for _ in range(k - 1)]
    cuts = [0, *sorted(counts), n]
    texts = [f"{100 * (high - low) / n:.{draws.randint(0, 2)}f}" for low, high in pairwise(cuts)]
    (finding,) = run("percentages", {f"s{i}": t for i, t in enumerate(texts)}, percent=True, n=[n])
    return finding


def real_parts(draws: random.Random) -> Finding:
    sizes = {f"part {i}": draws.randint(1, 300) for i in range(draws.randint(2, 4))}
    totals = {role: draws.randint(0, 4 * n) for role, n in sizes.items()}
    numbers = {role: f"{totals[role] / n:.2f}" for role, n in sizes.items()}
    numbers["whole"] = f"{sum(totals.values()) / sum(sizes.values()):.3f}"
    return run("subgroups", numbers, sizes=sizes, scale=[0, 4])[0]


@pytest.mark.slow
@pytest.mark.parametrize("make", [real_shares, real_parts])
@pytest.mark.parametrize("n_tables", [500, pytest.param(10_000, marks=pytest.mark.long)])
def test_tables_of_real_counts_are_consistent_as_published(
    make: Callable[[random.Random], Finding], n_tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conjury.analysis.audit.arithmetic.totals.chance", lambda *_: None)
    draws = random.Random(7)
    for _ in range(n_tables):
        finding = make(draws)
        assert finding.verdict == "consistent", finding


def test_random_shares_include_the_whole_and_nothing() -> None:
    assert chance((1,), 2, 0, Fraction(1)) == 1.0  # 0 and 1, or 1 and 0
    assert chance((10,), 2, 1, Fraction(1)) == 1.0
    assert chance((7,), 1, 1, Fraction(1)) is None
