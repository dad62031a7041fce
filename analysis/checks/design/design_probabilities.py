"""Levels against the probabilities of the study file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import Study
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note, join_notes
from ...numerics.intervals import inference
from ..judged import JudgedChoices, designs, tidy
from ..registry import (
    Check,
    Question,
    Verdict,
    adjusted_by_feature,
    check,
    highest,
    level_of,
    lowest,
    show_p,
    who,
    worst,
)
from .attribute_independence import absent_combinations, as_restrictions, named_pairs
from .design_draws import (
    DRAWS,
    Draw,
    RandomizationTest,
    compare_with_draws,
    draw_counts,
    infer_draw,
    misfit,
    probabilities,
)

DESIGN_PROBABILITIES = Question(
    code="CJ104",
    name="design_probabilities",
    title="Agreement with the design's probabilities",
    text="Does every level occur as often as stated in the study file?",
    consequence="Effects are averaged over another distribution of profiles than the stated one.",
    remedy="Compare the probabilities in the study file with the program that drew the profiles, and check "
    "for lost answers; where agreement is closer than expected by chance, report the quota or block design. "
    "Marginal means and population effects depend on the probabilities, differences within the design less.",
    alarms="test",
)


def fit_of_levels(
    counts: np.ndarray, probability: np.ndarray, draw: Draw, rng: np.random.Generator
) -> RandomizationTest:
    """Test counts of levels, shape (levels,), against their probabilities, shape (levels,)."""
    # Random designs are drawn independently (multinomial) or without replacement (multivariate
    # hypergeometric), which leaves less variation.
    draws = misfit(draw_counts(probability, draw, DRAWS, rng), probability)
    statistic = float(misfit(counts, probability))
    return compare_with_draws(statistic, draws, len(counts) - 1, draw.variance_factor)


@check(DESIGN_PROBABILITIES)
def design_probabilities(study: Study, judged: Sequence[JudgedChoices], alpha: float, seed: int) -> Check:
    """Test the levels of every attribute in every design."""
    rng = np.random.default_rng(seed)
    groups = designs(judged)
    tables = adjusted_by_feature([_level_rows(study, members[0], rng, alpha) for members in groups])
    tests = pd.concat([table.drop_duplicates("feature") for table in tables], ignore_index=True)
    table = tidy((g, t) for members, t in zip(groups, tables, strict=True) for g in members)
    furthest = lowest(table, table["p_adjusted"])
    p = float(furthest["p_adjusted"])
    off = highest(table, table["estimate"].abs())
    how = ["without replacement" if w else "independently" for w in tests["without_replacement"]]
    finding = Note.of(
        "{attributes} tested, profiles drawn {how}; the smallest adjusted {p} ({feature}, "
        "{who}). The largest deviation is {estimate:+.2f} percentage points ({level}).",
        attributes=counted(len(tests), "attribute"),
        how=" or ".join(dict.fromkeys(how)),
        p=show_p(p),
        feature=furthest["feature"],
        who=who(furthest),
        estimate=100 * off["estimate"],
        level=level_of(off),
    )
    if p < alpha and furthest["p_closer"] < furthest["p_worse"]:
        closely = Note("Shares of levels agree with the design more closely than expected from random draws.")
        finding = join_notes([finding, closely])
    absent = absent_combinations(study, [members[0] for members in groups])
    remedy = None
    if absent:
        finding = join_notes([finding, named_pairs(absent)])
        remedy = as_restrictions(absent)
    verdict = worst(map(_verdict, tests.itertuples(), [alpha] * len(tests)))
    return DESIGN_PROBABILITIES.answer(table, verdict, finding, remedy=remedy, p=p)


def _verdict(test: object, alpha: float) -> Verdict:
    level, worse, closer = (getattr(test, name) for name in ("p_adjusted", "p_worse", "p_closer"))
    if not level < alpha:
        return "pass"
    return "error" if worse < closer and level < min(0.001, alpha) else "warning"


def _level_rows(study: Study, group: JudgedChoices, rng: np.random.Generator, alpha: float) -> pd.DataFrame:
    draw = infer_draw(study, group.shown)
    frames = []
    for name, shares in probabilities(study).items():
        occurrences = as_text(group.shown[name]).value_counts()
        counts = occurrences.reindex(list(shares), fill_value=0).to_numpy(dtype=np.int64)
        n = int(counts.sum())
        probability = np.array(list(shares.values()))
        result = fit_of_levels(counts, probability, Draw(n, draw.population), rng)
        estimate = counts / n - probability
        std_error = np.sqrt(probability * (1 - probability) / n * draw.variance_factor)
        limits = inference(estimate, std_error, alpha)
        frames.append(
            pd.DataFrame(
                {
                    "feature": name,
                    "level": list(shares),
                    "probability": probability,
                    "observed": counts,
                    "expected": n * probability,
                    "estimate": estimate,
                    "std_error": std_error,
                    "lower": limits.lower,
                    "upper": limits.upper,
                    "statistic": result.statistic,
                    "p_worse": result.p_worse,
                    "p_closer": result.p_closer,
                    "p": result.p,
                    "without_replacement": draw.population is not None,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
