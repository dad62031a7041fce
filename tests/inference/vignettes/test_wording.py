from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conjury.inference.vignettes.wording import count, parse_template


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("@{handle}", "@ann"),
        ("{posted:time} · {posted:date}", "9:41 PM · Mar 5, 2025"),
        ("{likes:count} {likes:noun(Like,Likes)}", "1 Like"),
        ("{{{handle}}}", "{ann}"),
        ("no places", "no places"),
    ],
)
def test_places_are_filled(text: str, written: str) -> None:
    record = {"handle": "ann", "posted": "2025-03-05T21:41", "likes": 1}
    assert parse_template(text).fill(record) == written


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        ("2025-01-01T00:00", "12:00 AM Jan 1, 2025"),
        ("2025-12-31T12:05", "12:05 PM Dec 31, 2025"),
        ("2025-06-09 11:59:59", "11:59 AM Jun 9, 2025"),
    ],
)
def test_times_are_written_by_the_twelve_hour_clock(moment: str, written: str) -> None:
    assert parse_template("{at:time} {at:date}").fill({"at": moment}) == written


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1,000"),
        (9999, "9,999"),
        (10_000, "10K"),
        (10_999, "10.9K"),
        (999_999, "999.9K"),
        (1_000_000, "1M"),
        (2_540_000_000, "2.5B"),
        (12.0, "12"),
        ("42", "42"),
    ],
)
def test_counts_are_shortened_and_never_rounded_up(number: object, written: str) -> None:
    assert count(number) == written


@given(number=st.integers(0, 10**12))
def test_shortened_counts_never_say_more_than_there_is(number: int) -> None:
    written = count(number).replace(",", "")
    scale = {"K": 10**3, "M": 10**6, "B": 10**9}.get(written[-1], 1)
    said = float(written.rstrip("KMB")) * scale
    assert said <= number * (1 + 1e-12)
    assert number - said <= max(scale / 10, 0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{handle", "has a brace that is no place"),
        ("handle}", "has a brace that is no place"),
        ("{}", "has a brace that is no place"),
        ("{likes:counted}", "did you mean 'count'?"),
        ("{likes:noun(Like)}", "noun takes 2 arguments, as in noun(one,many)"),
        ("{likes:count(3)}", "count takes no arguments"),
    ],
)
def test_a_faulty_place_is_refused_with_its_remedy(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^'") as refusal:
        parse_template(text)
    assert problem in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "value", "problem"),
    [
        (
            "{x:time}",
            "noon",
            "x is 'noon', which is no date and time; write it as 2025-03-05T21:41.",
        ),
        ("{x:count}", "many", "x is 'many', which is no whole number; write digits only."),
        ("{x:noun(a,b)}", 1.5, "x is '1.5', which is no whole number; write digits only."),
    ],
)
def test_a_value_that_a_filter_cannot_write_is_named(text: str, value: object, problem: str) -> None:
    with pytest.raises(ValueError, match="which is no") as refusal:
        parse_template(text).fill({"x": value})
    assert str(refusal.value) == problem


@pytest.mark.parametrize("record", [{}, {"x": None}])
def test_a_missing_value_is_not_written_as_a_word(record: dict[str, object]) -> None:
    with pytest.raises(KeyError, match="x"):
        parse_template("{x}").fill(record)
