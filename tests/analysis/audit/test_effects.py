"""Published effects: regressions that were printed are never called inconsistent, and errors are found."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from tables_of_cases import cases_of

from conjury.analysis.audit.arithmetic import Group, Printed
from conjury.analysis.audit.arithmetic.findings import REGISTERED
from conjury.analysis.conjoint import amce, mm
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study


def findings(check: str, numbers: dict[str, str], **settings):
    return list(
        REGISTERED[check].run(Group({role: Printed.read(text) for role, text in numbers.items()}, settings))
    )


def printed(
    estimate: float, error: float, lower: float, upper: float, z: float, p: float, digits: int
) -> dict[str, str]:
    stars = sum(p < level for level in (0.05, 0.01, 0.001))
    values = {"estimate": estimate, "std_error": error, "lower": lower, "upper": upper, "statistic": z}
    return {role: f"{value:.{digits}f}" for role, value in values.items()} | {
        "p": f"{p:.3f}",
        "stars": str(stars),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("digits", "fits"),
    [(2, 2), *(pytest.param(*some, marks=pytest.mark.long) for some in ((3, 10), (4, 2)))],
)
def test_printed_regressions_are_never_inconsistent(digits, fits):
    rng = np.random.default_rng(digits)
    for _ in range(fits):
        x = sm.add_constant(rng.normal(size=(60, 3)))
        fit = sm.OLS(x @ rng.normal(0, 0.3, 4) + rng.normal(size=60), x).fit()
        for k, (low, high) in enumerate(fit.conf_int()):
            numbers = printed(fit.params[k], fit.bse[k], low, high, fit.tvalues[k], fit.pvalues[k], digits)
            for roles in (
                tuple(numbers),
                ("estimate", "lower", "upper", "p"),
                ("estimate", "std_error", "stars"),
            ):
                [found] = findings("effect", {role: numbers[role] for role in roles}, df=fit.df_resid)
                assert found.verdict == "consistent", (numbers, found)


@pytest.mark.parametrize(
    ("numbers", "settings", "under"),
    cases_of(__file__, "numbers_of_another_convention_are_conditional_on_it"),
)
def test_numbers_of_another_convention_are_conditional_on_it(numbers, settings, under):
    [found] = findings("effect", numbers, **settings)
    assert found.verdict == "conditional"
    assert under in found.under


def test_an_interval_that_the_standard_error_does_not_give_is_inconsistent_and_the_cause_is_named():
    [found] = findings(
        "effect",
        {"estimate": "0.200", "std_error": "0.050", "lower": "0.102", "upper": "0.500", "p": "0.000"},
    )
    assert found.verdict == "inconsistent"
    assert "Without upper the others are consistent" in found.reason
    assert "0.1020 to 0.2980" in found.nearest
    assert found.n_definitions > 8
    assert found.chance is not None
    assert found.chance < 0.2


def test_estimates_outside_their_interval_are_inconsistent_for_any_method():
    for method in ("analytic", "bootstrap"):
        first = findings("effect", {"estimate": "0.29", "lower": "0.31", "upper": "0.40"}, method=method)[0]
        assert first.verdict == "inconsistent"


def test_bootstrap_intervals_need_not_be_symmetric():
    [found] = findings("effect", {"estimate": "0.30", "lower": "0.29", "upper": "0.40"}, method="bootstrap")
    assert found.verdict == "untested"
    [found] = findings("effect", {"estimate": "0.30", "lower": "0.29", "upper": "0.40"})
    assert found.verdict == "inconsistent"


def test_numbers_read_off_a_figure_have_its_accuracy_in_place_of_rounding():
    numbers = {"estimate": "0.53344", "lower": "0.51776", "upper": "0.54917"}
    assert findings("effect", numbers)[0].verdict == "inconsistent"
    assert findings("effect", numbers, accuracy="5e-5")[0].verdict == "consistent"


@pytest.mark.parametrize("numbers", [{"estimate": "0.1"}, {"estimate": "0.1", "std_error": "0.0"}])
def test_numbers_that_nothing_contradicts_are_untested(numbers):
    assert findings("effect", numbers)[0].verdict == "untested"


def test_zero_estimates_and_p_of_zero_are_answered():
    assert (
        findings("effect", {"estimate": "0.00", "std_error": "0.10", "p": "1.000"})[0].verdict == "consistent"
    )
    assert (
        findings("effect", {"estimate": "-0.90", "std_error": "0.10", "p": ".000", "stars": "3"})[0].verdict
        == "consistent"
    )
    assert (
        findings("effect", {"estimate": "0.00", "std_error": "0.10", "p": "0.001"})[0].verdict
        == "inconsistent"
    )


@pytest.fixture(scope="module")
def choices():
    return simulate(
        load_study("moderation"), seed=1, judges=["gpt4o"], prompts=["baseline"], pairs=400, truth=False
    ).choices


def test_printed_marginal_means_and_amces_of_a_conjoint_fit_together(choices):
    means = mm(choices, "chosen ~ topic", id="pair_id").frame.set_index("level")["estimate"]
    shares = choices["topic"].value_counts(normalize=True)
    effects = amce(choices, "chosen ~ topic", id="pair_id").frame.set_index("level")["estimate"]
    reference = str(effects.index[0])
    numbers = {f"mm:{level}": f"{value:.3f}" for level, value in means.items()}
    numbers |= {
        f"amce:{level}": f"{value:.3f}" for level, value in effects.items() if str(level) != reference
    }
    stated = {"shares": {str(level): float(share) for level, share in shares.items()}, "reference": reference}
    found = findings("marginal_means", numbers, **stated)
    assert {one.verdict for one in found} == {"consistent"}
    assert len(found) == len(effects)
    wrong = numbers | {f"mm:{reference}": f"{means[reference] + 0.2:.3f}"}
    assert findings("marginal_means", wrong, **stated)[0].verdict == "conditional"


def test_marginal_means_on_one_side_of_one_half_are_inconsistent():
    found = findings("marginal_means", {"mm:a": "0.55", "mm:b": "0.60"})[0]
    assert found.verdict == "inconsistent"
    assert findings("marginal_means", {"mm:a": "0.45", "mm:b": "0.60"})[0].verdict == "untested"
    assert findings("marginal_means", {"mm:a": "0.45", "mm:b": "0.60"}, shares="equal")[0].under == (
        "other shares of levels",
    )


def test_differences_follow_from_estimates_and_their_errors():
    same = {"first": "0.31", "second": "0.12", "difference": "0.20"}
    assert findings("difference", same)[0].verdict == "consistent"
    assert findings("difference", same | {"difference": "-0.19"})[0].under == ("second minus first",)
    assert findings("difference", same | {"difference": "0.22"})[0].verdict == "inconsistent"
    errors = {"std_error_first": "0.03", "std_error_second": "0.04"}
    assert findings("difference", same | errors | {"std_error_difference": "0.05"})[1].verdict == "consistent"
    assert findings("difference", same | errors | {"std_error_difference": "0.02"})[1].under == (
        "correlated estimates",
    )
    assert (
        findings("difference", same | errors | {"std_error_difference": "0.09"})[1].verdict == "inconsistent"
    )


def test_standard_errors_below_the_least_possible_are_found():
    fine = findings("least_error", {"estimate": "0.20", "std_error": "0.040"}, n1=100, n0=100)[0]
    small = findings("least_error", {"estimate": "0.20", "std_error": "0.010"}, n1=100, n0=100)[0]
    assert (fine.verdict, small.verdict) == ("consistent", "conditional")
    assert "clustered" in small.under[0]
