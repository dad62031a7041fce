"""Formulas are read as cregg reads them, and what cannot be read is refused in one sentence."""

from __future__ import annotations

import pytest

from conjury.analysis.frames.variables import Formula, parse
from conjury.inference.errors import InputError


def test_features_keep_their_order_of_appearance() -> None:
    assert parse("y ~ c + a + b") == Formula("y", ("c", "a", "b"))


def test_a_feature_named_twice_counts_once() -> None:
    assert parse("y ~ a + b + a").features == ("a", "b")


@pytest.mark.parametrize("formula", ["y ~ a * b + c", "y ~ a + b + c + a:b", "y ~ c + a:b + a + b"])
def test_star_and_colon_say_that_two_features_restrict_each_other(formula: str) -> None:
    found = parse(formula)
    assert set(found.features) == {"a", "b", "c"}
    assert found.restrictions == (("a", "b"),)


def test_several_restrictions_stand_side_by_side() -> None:
    assert parse("y ~ a * b + c * d").restrictions == (("a", "b"), ("c", "d"))


def test_a_one_sided_formula_has_no_outcome() -> None:
    assert parse("~ a + b") == Formula("", ("a", "b"))


def test_intercept_marks_are_no_features() -> None:
    assert parse("y ~ 1 + a").features == parse("y ~ 0 + a").features == ("a",)


def test_names_of_any_kind_stand_in_backticks() -> None:
    found = parse("`was chosen?` ~ `author's name` + étudiante + `2nd`")
    assert found == Formula("was chosen?", ("author's name", "étudiante", "2nd"))


@pytest.mark.parametrize(
    "formula",
    ["y ~ a", "~ a + b", "y ~ a * b + c", "`y 1` ~ `a b` * `_c` + d", "y ~ a * b + c * d", "y ~ é + `a+b`"],
)
def test_a_formula_reads_back_as_it_is_written(formula: str) -> None:
    assert parse(str(parse(formula))) == parse(formula)


def test_names_that_r_does_not_know_are_quoted() -> None:
    assert str(Formula("y", ("_a", "b c", "d"))) == "y ~ `_a` + `b c` + d"


def test_leaving_a_feature_out_takes_its_restrictions_along() -> None:
    assert parse("y ~ a * b + c").without(["b"]) == Formula("y", ("a", "c"))


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("", "no ~"),
        ("a + b", "no ~"),
        ("y ~", "cannot be read"),
        ("y ~ (a", "cannot be read"),
        ("y ~ a ~ b", "cannot be read"),
        ("y ~ 2 * a", "cannot be read"),
        ("y ~ 1", "no feature"),
        ("~ 1", "no feature"),
        ("y ~ a - a", "no feature"),
        ("y ~ .", "dot"),
        ("y ~ a | b", "several parts"),
        ("~ a | b", "several parts"),
        ("y + z ~ a", "exactly one outcome"),
        ("log(y) ~ a", "transforms"),
        ("y ~ C(a)", "transforms"),
        ("y ~ y", "both sides"),
        ("y ~ a * y", "both sides"),
        ("y ~ a * b * c", "three features"),
        ("y ~ a * b + a * c", "twice"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(formula: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse(formula)
    assert "\n" not in str(caught.value)
