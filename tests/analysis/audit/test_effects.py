"""Published effects: regressions that were printed are never called inconsistent, and errors are found."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from published_numbers import findings, verdict

from conjury.analysis.conjoint import amce, mm
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study


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
    ("digits", "fits"), [(2, 2), *(pytest.param(*some, marks=pytest.mark.long) for some in ((3, 10), (4, 2)))]
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


def test_an_estimate_at_its_p_value_with_thirteen_digits_is_consistent():
    numbers = {"estimate": "1.9599639845401", "std_error": "1.0000000000000", "p": "0.0500000000000"}
    assert verdict("effect", numbers) == "consistent"
    assert verdict("effect", numbers | {"estimate": "1.9599639800000"}) != "consistent"


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
    assert verdict("marginal_means", wrong, **stated) == "conditional"
