"""Published means and standard deviations of ratings: verdicts against enumeration, and degenerate cases."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import isqrt
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cases import cases
from published_numbers import findings as of_check

from conjury.analysis.audit.arithmetic import (
    Finding,
    mean_is_possible,
    mean_sd_is_possible,
    possible_sds,
    sample_sizes,
)
from conjury.analysis.audit.arithmetic.mean_arithmetic import MeanDefinition, chance, nearest_pair, neighbours
from conjury.analysis.audit.arithmetic.numbers import ROUNDINGS
from conjury.analysis.audit.arithmetic.rating_arithmetic import (
    DIVISORS,
    RatingGrid,
    fits,
    printed,
    variance_bounds,
)
from conjury.inference.errors import InputError
from conjury.inference.tables.files import PUBLISHED

SCRUTIPY = Path(__file__).parents[2] / "fixtures" / "audit" / "scrutipy.csv"
SCRUTINY = SCRUTIPY.with_name("scrutiny.csv")
SMALL = [  # scale, step, items, sample sizes
    ([1, 2], 1, 1, (1, 2, 7)),
    ([1, 4], 1, 1, (2, 5)),
    ([1, 5], 1, 1, (6,)),
    ([-2, 1], 1, 1, (3,)),
    ([0, 2], "0.5", 1, (4,)),
    ([1, 3], 1, 3, (3,)),
]


def rounded(square: Fraction, digits: int, rounding: str) -> set[int]:
    """A square root in units of its last digit, by whole-number roots; two where it is on a tie."""
    scaled = square * 100**digits
    floor = isqrt(scaled.numerator // scaled.denominator)
    exact = floor**2 == scaled
    if rounding == "truncated" or exact:
        return {floor}
    if rounding == "rounded up":
        return {floor + 1}
    middle = Fraction(2 * floor + 1, 2) ** 2
    return {floor, floor + 1} if scaled == middle else {floor if scaled < middle else floor + 1}


def brute_force(
    values: list[Fraction], n: int, divisor: str, rounding: str, digits: int
) -> set[tuple[int, int]]:
    """All published pairs of n ratings."""
    pairs = set()
    for ratings in combinations_with_replacement(values, n):
        mean = sum(ratings, Fraction(0)) / n
        variance = sum(((rating - mean) ** 2 for rating in ratings), Fraction(0)) / (n - (divisor == "n-1"))
        sign = -1 if mean < 0 else 1
        means = {sign * index for index in rounded(mean**2, digits, rounding)}
        pairs |= set(product(means, rounded(variance, digits, rounding)))
    return pairs


def values_of(scale: RatingGrid) -> list[Fraction]:
    return [scale.lowest + j * scale.step for j in range(scale.top + 1)]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize(("ends", "step", "items", "sizes"), SMALL)
def test_verdicts_equal_those_of_enumeration_on_the_whole_published_grid(
    ends: list[int], step: int | str, items: int, sizes: tuple[int, ...], divisor: str, rounding: str
) -> None:
    scale = RatingGrid.of(ends, step, items)
    for n in sizes:
        possible = (
            brute_force(values_of(scale), n, divisor, rounding, 1) if n > 1 or divisor == "n" else set()
        )
        for m, s in product(range(10 * ends[0] - 2, 10 * ends[1] + 3), range(5 * (ends[1] - ends[0]) + 25)):
            mean, sd = printed(m, 1), printed(s, 1)
            verdict = fits(mean.interval(rounding), sd.interval(rounding), n, scale, divisor)
            assert verdict == ((m, s) in possible), (n, mean.text, sd.text)


@pytest.mark.parametrize("divisor", DIVISORS)
def test_verdicts_with_two_decimals_equal_those_of_enumeration(divisor: str) -> None:
    scale = RatingGrid.of([0, 4])
    possible = brute_force(values_of(scale), 6, divisor, "nearest", 2)
    for m in range(0, 401):
        mean = printed(m, 2).interval("nearest")
        if not fits(mean, None, 6, scale):
            assert not any(at == m for at, _ in possible)
            continue
        for s in range(0, 225):
            verdict = fits(mean, printed(s, 2).interval("nearest"), 6, scale, divisor)
            assert verdict == ((m, s) in possible), (m, s)


def test_possible_standard_deviations_are_those_of_all_ratings_with_the_mean() -> None:
    possible = brute_force(values_of(RatingGrid.of([1, 5])), 8, "n-1", "nearest", 2)
    for text in ("1.00", "2.12", "2.13", "3.50", "4.88", "5.00", "2.20"):
        expected = sorted(s for m, s in possible if m == int(text.replace(".", "")))
        assert possible_sds(text, 8, [1, 5]) == [printed(s, 2).text for s in expected]


def reference() -> Iterator[dict[str, str]]:
    with SCRUTIPY.open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def test_verdicts_agree_with_closure_and_means_with_grim() -> None:
    for row in reference():
        scale, n = [int(row["low"]), int(row["high"])], int(row["n"])
        assert mean_is_possible(row["mean"], n, scale) == (row["grim"] == "1"), row
        assert mean_sd_is_possible(row["mean"], row["sd"], n, scale) == (row["closure"] == "1"), row


def scrutiny(test: str) -> pd.DataFrame:
    table = pd.read_csv(SCRUTINY, dtype={"mean": str, "sd": str})
    return table[table["test"] == test]


def test_grim_of_scrutiny_gives_the_same_answers():
    table = scrutiny("grim")
    ours = [
        mean_is_possible(row.mean, row.n, [1, 5], items=row.items) for row in table.itertuples(name="Row")
    ]
    assert len(table) == 400
    assert ours == (table["consistent"] == 1).tolist()


@pytest.mark.long
def test_debit_of_scrutiny_refuses_none_that_some_counts_have_and_accepts_some_that_none_have():
    table = scrutiny("debit")
    accepted = 0
    for row in table.itertuples(name="Row"):
        ours = mean_sd_is_possible(row.mean, row.sd, row.n, [0, 1])
        shares = [Fraction(ones, row.n) for ones in range(row.n + 1)]
        squares = [share * (1 - share) * row.n / (row.n - 1) for share in shares]
        exists = any(
            abs(share - Fraction(row.mean)) <= Fraction(1, 200)
            and int(Fraction(row.sd) * 100) in rounded(square, 2, "nearest")
            for share, square in zip(shares, squares, strict=True)
        )
        assert ours == exists
        assert row.consistent >= ours
        accepted += row.consistent - ours
    assert (len(table), accepted) == (280, 24)


def real_table(draws: random.Random) -> tuple[list[int], int, int, str, str, str, str]:
    """Published numbers of real ratings: scale, n, items, divisor, rounding, mean and standard deviation."""
    low, points = draws.randint(-3, 2), draws.randint(2, 11)
    items, n = draws.choice((1, 1, 1, 4)), draws.choice((2, 3, draws.randint(2, 60), draws.randint(2, 3000)))
    weights = [draws.expovariate(1) for _ in range(points)]
    counts = [0] * points
    for value in draws.choices(range(points), weights, k=min(n, 40)):
        counts[value] += 1
    counts[draws.randrange(points)] += n - sum(counts)
    total = sum(value * count for value, count in enumerate(counts))
    squares = sum(value**2 * count for value, count in enumerate(counts))
    divisor, rounding = draws.choice(DIVISORS), draws.choice(ROUNDINGS)
    digits = draws.randint(1, 3)
    high = low + points - 1
    step = Fraction(1)
    if items > 1:  # the same whole numbers as averages on a shorter scale
        step, low, high = Fraction(1, items), 0, -(-(points - 1) // items)
    mean = low + step * Fraction(total, n)
    variance = step**2 * (squares - Fraction(total**2, n)) / (n - (divisor == "n-1"))
    sign = -1 if mean < 0 else 1
    m = sign * draws.choice(sorted(rounded(mean**2, digits, rounding)))
    s = draws.choice(sorted(rounded(variance, digits, rounding)))
    return [low, high], n, items, divisor, rounding, printed(m, digits).text, printed(s, digits).text


@pytest.mark.slow
@pytest.mark.parametrize("n_tables", [4000, pytest.param(40_000, marks=pytest.mark.long)])
def test_tables_of_real_ratings_are_never_called_inconsistent(n_tables: int) -> None:
    draws = random.Random(19)
    for _ in range(n_tables):
        scale, n, items, divisor, rounding, mean, sd = real_table(draws)
        how: Any = {"items": items, "divisor": divisor, "rounding": rounding}
        assert mean_sd_is_possible(mean, sd, n, scale, **how), (scale, n, how, mean, sd)


def findings(mean: str, sd: str | None = None, *, percent: bool = False, **settings: Any) -> list[Finding]:
    return of_check("mean_sd", {"mean": mean} | ({"sd": sd} if sd else {}), percent, **settings)


def test_possible_numbers_are_consistent_and_say_how_likely_that_was() -> None:
    mean, both = findings("3.44", "1.19", scale=[1, 5], n=25)
    assert (mean.verdict, both.verdict) == ("consistent", "consistent")
    assert both.numbers == ("mean", "sd")
    assert mean.chance == 101 / 401  # the means k / 25 from 1 to 5
    assert both.chance is not None
    assert both.chance < mean.chance


def test_chance_is_the_share_of_published_numbers_that_are_possible() -> None:
    (stated,) = [MeanDefinition("as stated", (7,), RatingGrid.of([1, 3]), "n-1", "nearest")]
    passing = []
    for m in range(10, 31):
        mean = printed(m, 1)
        ends = variance_bounds(mean.exact, 7, stated.scale)
        grid = range(round(float(ends.lower) ** 0.5 * 10), round(float(ends.upper) ** 0.5 * 10) + 1)
        passing.append(sum(stated.holds(mean, printed(s, 1)) for s in grid) / len(grid))
    value = chance((stated,), (1, Fraction(1)), (1, Fraction(1)))
    assert value == (pytest.approx(sum(passing) / 21, abs=1e-12), True)


@pytest.mark.parametrize(
    ("n", "reach"), [(1, 2), (2, 2), (40, 2), (41, 3), (60, 3), (61, 4), (200, 10), (201, 10), (4000, 10)]
)
def test_sample_sizes_up_to_a_twentieth_away_are_tried_two_at_least_and_ten_at_most(
    n: int, reach: int
) -> None:
    assert sorted(neighbours(n)) == [m for m in range(n - reach, n + reach + 1) if m > 0 and m != n]
    assert neighbours(n)[-1] == n + reach


def test_a_drawn_chance_is_a_share_of_a_thousand_draws() -> None:
    stated = MeanDefinition("as stated", (31,), RatingGrid.of([1, 7]), "n-1", "nearest")
    share, exact = chance((stated,), (2, Fraction(1)), (2, Fraction(1)))
    assert not exact
    assert 0.1 < share < 0.9
    assert (1000 * share).is_integer()


def test_nearest_possible_pair_is_the_nearest_of_all() -> None:
    stated = MeanDefinition("as stated", (6,), RatingGrid.of([1, 5]), "n-1", "nearest")
    possible = brute_force(values_of(stated.scale), 6, "n-1", "nearest", 2)
    draws = random.Random(5)
    for _ in range(40):
        m, s = draws.randint(100, 500), draws.randint(0, 200)
        least = min(abs(m - a) + abs(s - b) for a, b in possible)
        pair = nearest_pair(stated, printed(m, 2), printed(s, 2))
        assert pair is not None
        a, b = (int(number.value * 100) for number in pair)
        assert abs(m - a) + abs(s - b) == least


def test_more_decimals_than_the_sample_size_allows_leave_few_means() -> None:
    assert mean_is_possible("3.3333", 3, [1, 5])
    assert not mean_is_possible("3.3334", 3, [1, 5])
    assert mean_is_possible("3.3334", 3, [1, 5], rounding="rounded up")


def test_standard_deviation_of_zeros_and_ones_follows_from_mean_and_size() -> None:
    # DEBIT: sd ** 2 = n / (n - 1) * mean * (1 - mean)
    assert possible_sds("0.35", 20, [0, 1]) == ["0.49"]
    assert possible_sds("0.35", 20, [0, 1], digits=4, divisor="n") == ["0.4770"]


def test_negative_and_half_point_scales_shift_and_stretch_the_whole_ones() -> None:
    for sd in possible_sds("3.25", 8, [1, 5]):
        assert mean_sd_is_possible("-0.75", sd, 8, [-3, 1])
    assert possible_sds("3.25", 8, [1, 5]) == possible_sds("0.25", 8, [-2, 2])
    assert mean_sd_is_possible("2.25", "0.35", 2, [1, 5], step="0.5")
    assert not mean_sd_is_possible("2.25", "0.35", 2, [1, 5])
    assert mean_is_possible("2.25", 1, [1, 5], step=0.25)


def test_sizes_that_fit_are_all_that_do() -> None:
    assert sample_sizes([("3.44", "1.19")], [1, 5], largest=40) == [25, 27, 32, 34, 39]
    assert possible_sds("3.00", 1, [1, 5]) == []
    assert [mean_sd_is_possible(mean, "0.00", 25, [1, 5]) for mean in ("1.00", "4.96")] == [True, False]


@pytest.mark.parametrize(
    ("settings", "sentence"), cases(__file__, "bad_settings_are_refused_with_one_sentence")
)
def test_bad_settings_are_refused_with_one_sentence(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        findings("3.0", "1.0", **settings)
    assert sentence in str(caught.value)


def test_floats_are_refused_since_trailing_zeros_count() -> None:
    with pytest.raises(InputError, match="trailing zeros"):
        mean_is_possible(3.5, 4, [1, 5])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sample size"):
        mean_is_possible("3.5", 0, [1, 5])


def test_variance_bounds_are_the_least_and_the_largest_of_all_ratings() -> None:
    scale = RatingGrid.of([1, 5])
    for n in (2, 3, 5):
        spread: dict[Fraction, list[Fraction]] = {}
        for ratings in combinations_with_replacement(range(1, 6), n):
            mean = Fraction(sum(ratings), n)
            spread.setdefault(mean, []).append(sum((r - mean) ** 2 for r in ratings) / Fraction(n - 1))
        for mean, variances in spread.items():
            bounds = variance_bounds(mean, n, scale)
            assert (bounds.lower, bounds.upper) == (min(variances), max(variances))
    with pytest.raises(InputError, match="outside the scale"):
        variance_bounds(Fraction(6), 3, scale)


# ---- the published tables of the oogiri study ----

SIZES = {"all": 399, "text": 200, "image": 199}


@pytest.fixture(scope="module")
def oogiri() -> pd.DataFrame:
    return pd.read_csv(PUBLISHED / "oogiri_means.csv", dtype=str)


def test_ratings_of_models_are_those_of_399_topics_and_of_no_other_number(oogiri: pd.DataFrame) -> None:
    models = oogiri[oogiri["rater"] != "human"]
    assert len(models) == 432
    for (_, modality), rows in models.groupby(["table", "modality"]):
        pairs = list(zip(rows["mean"], rows["sd"], strict=True))
        assert len(pairs) == 48
        assert sample_sizes(pairs, [0, 4], largest=450) == [SIZES[str(modality)]]
        assert sample_sizes(pairs, [0, 4], largest=450, divisor="n") == []


def test_standard_deviations_of_people_are_those_of_averages_of_four_raters(oogiri: pd.DataFrame) -> None:
    people = oogiri[oogiri["rater"] == "human"]
    rows = [(m, sd, SIZES[of]) for m, sd, of in people[["mean", "sd", "modality"]].to_numpy()]
    of_averages = [mean_sd_is_possible(m, sd, n, [0, 4], items=4) for m, sd, n in rows]
    of_ratings = [mean_sd_is_possible(m, sd, 4 * n, [0, 4]) for m, sd, n in rows]
    assert (len(of_averages), sum(of_averages), sum(of_ratings)) == (144, 144, 97)


def test_grimmer_accepts_pairs_that_no_ratings_have_and_refuses_none_that_some_have() -> None:
    wrong = [row for row in reference() if row["grimmer"] != row["closure"]]
    assert wrong
    assert {row["closure"] for row in wrong} == {"0"}
