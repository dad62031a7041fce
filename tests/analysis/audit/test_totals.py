"""Shares, counts, totals and subgroups: verdicts against enumeration, real tables and degenerate cases."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise, product

import pandas as pd
import pytest

from conjury.analysis.audit.arithmetic import Finding, Group, Interval, Printed
from conjury.analysis.audit.arithmetic.findings import REGISTERED
from conjury.analysis.audit.arithmetic.ratings import Scale, printed
from conjury.analysis.audit.arithmetic.totals import shares_fit, sum_to_one
from conjury.analysis.audit.arithmetic.weights import is_weighted_mean, mean_range, shares
from conjury.inference.errors import InputError
from conjury.inference.tables.files import PUBLISHED

PERCENT = Fraction(1, 100)


def run(
    check: str, numbers: dict[str, str], percent: Iterable[str] = (), **settings: object
) -> list[Finding]:
    read = {role: Printed.read(text, role in percent) for role, text in numbers.items()}
    return list(REGISTERED[check].run(Group(read, settings, "row 1")))


def of_shares(texts: list[str], **settings: object) -> Finding:
    numbers = {f"share {i}": text for i, text in enumerate(texts, 1)}
    (finding,) = run("percentages", numbers, numbers, **settings)
    return finding


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


def test_shares_of_the_sample_size_are_consistent() -> None:
    finding = of_shares(["33.3", "33.3", "33.3"], n=3)
    assert finding.verdict == "consistent"
    assert finding.chance is not None
    assert finding.chance < 0.01


def test_shares_that_fit_another_size_or_definition_are_conditional() -> None:
    assert "n = 7" in of_shares(["42.9", "57.1"], n=8).under
    assert of_shares(["14.2", "85.7"], n=7).under == ("truncated",)
    assert of_shares(["25.0", "50.0"], n=4).under == ("a share is not published", "several answers per case")
    assert of_shares(["75.0", "50.0"], n=4).under == ("several answers per case",)


def test_shares_of_no_counts_are_inconsistent_with_the_nearest_counts() -> None:
    finding = of_shares(["41.3", "57.9"], n=8)
    assert finding.verdict == "inconsistent"
    assert finding.nearest == "counts share 1 3, share 2 5"
    assert of_shares(["120.0", "-20.0"], n=5).verdict == "inconsistent"
    assert of_shares(["0.0", "0.0"], n=5).verdict == "conditional"


def test_without_a_size_shares_sum_to_all_within_rounding_and_sizes_are_reported() -> None:
    finding = of_shares(["42.9", "57.1"])
    assert finding.verdict == "consistent"
    assert "fit: 7, 14, 21, 28" in finding.reason
    assert of_shares(["33.3", "33.3", "33.3"]).verdict == "consistent"
    assert of_shares(["40.0", "40.0"]).under == ("a share is not published",)
    assert of_shares(["60.0", "60.0"]).under == ("several answers per case",)
    assert of_shares(["101.0", "-1.0"]).verdict == "inconsistent"
    assert of_shares(["100"]).verdict == "consistent"


@pytest.mark.parametrize(
    "rounding", ["nearest", "truncated", pytest.param("rounded up", marks=pytest.mark.long)]
)
def test_shares_sum_to_one_if_and_only_if_some_sample_size_fits(rounding: str) -> None:
    for digits in product(range(13), range(13), (0, 1, 4)):
        intervals = [printed(digit, 1).interval(rounding) for digit in digits]
        assert sum_to_one(intervals) == any(shares_fit(intervals, n) for n in range(1, 61)), digits


# ---- counts ----


def test_counts_sum_to_their_total() -> None:
    (good,) = run("counts", {"total": "1,596", "a": "800", "b": "796"})
    (off,) = run("counts", {"total": "1,600", "a": "800", "b": "796"})
    assert good.verdict == "consistent"
    assert (off.verdict, off.under, off.nearest) == ("conditional", ("a part is not published",), "1596")
    (overlap,) = run("counts", {"total": "1,590", "a": "800", "b": "796"})
    assert overlap.under == ("parts overlap",)
    (less,) = run("counts", {"total": "700", "a": "800", "b": "796"})
    assert less.verdict == "inconsistent"
    (rounded,) = run("counts", {"total": "1,600", "a": "800", "b": "700"}, rounded_to=100)
    assert rounded.verdict == "consistent"
    with pytest.raises(InputError, match="row 1: a: give whole counts"):
        run("counts", {"total": "10", "a": "2.5", "b": "7"})
    with pytest.raises(InputError, match="list roles"):
        run("counts", {"total": "10", "a": "2"}, parts=["b"])


# ---- weighted means ----


def test_total_of_text_and_image_follows_from_their_sizes() -> None:
    numbers = {"total": "2.630", "text": "2.500", "image": "2.761"}
    (known,) = run("weighted_mean", numbers, weights={"text": 200, "image": 199})
    assert known.verdict == "consistent"
    (unknown,) = run("weighted_mean", numbers, n=399)
    assert "weights of text from 0.4" in unknown.reason
    assert "of n = 399 the sizes 199, 200" in unknown.reason
    (other,) = run("weighted_mean", numbers, weights={"text": 100, "image": 299})
    assert (other.verdict, other.under) == ("conditional", ("equal weights",))
    (outside,) = run("weighted_mean", {**numbers, "total": "2.770"})
    assert (outside.verdict, outside.nearest) == ("inconsistent", "2.761")
    assert "no weights fit" in outside.reason


@pytest.mark.long
def test_weighted_means_of_ratings_equal_enumeration_of_sums() -> None:
    scale, half = Scale.of([0, 2]), Fraction(1, 20)
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


def test_whole_is_between_its_subgroups() -> None:
    parts = {"text": "2.1", "image": "2.5"}
    assert run("subgroups", {"whole": "2.3", **parts})[0].verdict == "consistent"
    off = run("subgroups", {"whole": "2.7", **parts})[0]
    assert (off.verdict, off.nearest) == ("inconsistent", "2.5")
    assert run("subgroups", {"whole": "2.6", **parts})[0].verdict == "consistent"  # as 2.55


def test_percentages_of_subgroups_are_whole_cases_of_the_whole() -> None:
    numbers = {"whole": "40.0", "a": "33.3", "b": "50.0"}
    sizes = {"a": 3, "b": 2, "whole": 5}
    total, shares_found = run("subgroups", numbers, numbers, kind="percentages", sizes=sizes)
    assert (total.verdict, shares_found.verdict) == ("consistent", "consistent")
    off = run("subgroups", {**numbers, "whole": "41.0"}, numbers, kind="percentages", sizes={"a": 3, "b": 2})
    assert [finding.verdict for finding in off] == ["inconsistent"]
    assert run("subgroups", numbers, numbers, sizes={**sizes, "whole": 6})[0].verdict == "inconsistent"


def test_counts_of_subgroups_sum_to_the_whole_unless_they_overlap() -> None:
    assert run("subgroups", {"whole": "9", "a": "4", "b": "5"}, kind="counts")[0].verdict == "consistent"
    assert run("subgroups", {"whole": "8", "a": "4", "b": "5"}, kind="counts")[0].under == (
        "subgroups overlap",
    )
    assert run("subgroups", {"whole": "3", "a": "4", "b": "5"}, kind="counts")[0].verdict == "inconsistent"


@pytest.mark.parametrize(
    ("check", "settings", "sentence"),
    [
        ("weighted_mean", {"weights": {"a": 1}}, "give a whole number for each of a, b"),
        ("weighted_mean", {"weights": {"a": 1, "b": 0}}, "row 1 weights: b is 0"),
        ("weighted_mean", {"parts": ["a"]}, "two parts or more"),
        ("subgroups", {"kind": "medians"}, "use means or percentages or counts"),
        ("percentages", {"n": -1, "parts": ["a"]}, "give whole numbers"),
    ],
)
def test_bad_settings_are_refused_with_one_sentence(
    check: str, settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        run(check, {"whole" if check == "subgroups" else "total": "1", "a": "1", "b": "1"}, **settings)
    assert sentence in str(caught.value)


# ---- tables of real counts ----


def real_shares(draws: random.Random) -> Finding:
    n, k = draws.randint(1, 400), draws.randint(2, 6)
    counts = [draws.randrange(n + 1) for _ in range(k - 1)]
    cuts = [0, *sorted(counts), n]
    texts = [f"{100 * (high - low) / n:.{draws.randint(0, 2)}f}" for low, high in pairwise(cuts)]
    (finding,) = run(
        "percentages", {f"s{i}": t for i, t in enumerate(texts)}, {f"s{i}" for i in range(k)}, n=[n]
    )
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
