"""The design: its levels, random draws of designs like it, and independent answers per contrast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd
from scipy.stats import chi2

from conjury.inference.design.profiles import level_probabilities
from conjury.inference.errors import counted
from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import count_cells, drawn_shares

from ...conjoint import amce
from ...numerics.intervals import inference
from ..judged import Judged, attempt, designs, tidy
from ..registry import (
    Check,
    Question,
    Verdict,
    adjusted_by_feature,
    check,
    highest,
    lowest,
    said_p,
    who,
    worst,
)

DESIGN_CARD = Question(
    "CJ101",
    "design_card",
    "Design card",
    "What was varied, how often was it shown, and how many independent answers is each contrast worth?",
    "Contrasts with few effective rows have wide intervals.",
    "Collect more answers, merge rare levels before looking at effects, or leave contrasts with few answers "
    "out of the report; a level that never occurs has no effect to report.",
    "rule",
)
FEW = 200


@check(DESIGN_CARD)
def design_card(study: Study, judged: Sequence[Judged]) -> Check:
    """Lay out the design and count rows and effective rows of each contrast with the reference."""
    done, notes = attempt(judged, lambda group: _card_rows(study, group))
    table = tidy(done)
    sizes = " x ".join(str(len(a.levels)) for a in study.attributes)
    implied = "".join(f"; {part.label.lower()} follows from {part.source}" for part in study.derived)
    left, total = count_cells(study)
    excluded = "no combination is excluded" if left == total else f"restrictions exclude {total - left:,}"
    stimuli = "".join(f", {s.count} of {s.id} for each {s.attribute}" for s in study.stimuli)
    contrasts = table[~table["reference"]]
    never = table[table["rows"] == 0]
    small = lowest(contrasts, contrasts["estimate"].fillna(0))
    finding = (
        f"{sizes} = {total:,} combinations of levels{stimuli}{implied}; {excluded}. "
        f"The contrast on the fewest effective rows is {small['feature']} = "
        f"{small['level']} ({0 if np.isnan(small['estimate']) else small['estimate']:,.0f} of "
        f"{small['contrast_rows']:,}, {who(small)})."
    )
    if len(never):
        first = never.iloc[0]
        finding += f" {first['feature']} = {first['level']} never occurs ({who(first)})."
    few = bool((contrasts["estimate"].fillna(0) < FEW).any())
    verdict: Verdict = "error" if len(never) else "warning" if few else "pass"
    return DESIGN_CARD.answer(table, verdict, finding, notes)


def effective_rows(rows: np.ndarray, clustered: np.ndarray, independent: np.ndarray) -> np.ndarray:
    """Rows, shape (m,), times the variance if they were independent over the clustered one, each (m,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(rows * independent / clustered)


def _card_rows(study: Study, group: Judged) -> pd.DataFrame:
    drawn = how_drawn(study, group.shown).population is not None
    frames = []
    for name, shares in probabilities(study).items():
        levels = list(shares)
        answered = (
            group.answered[name].astype("string").value_counts().reindex(levels, fill_value=0).to_numpy()
        )
        shown = group.rows[name].astype("string").value_counts().reindex(levels, fill_value=0).to_numpy()
        frames.append(
            pd.DataFrame(
                {
                    "feature": name,
                    "level": levels,
                    "reference": np.arange(len(levels)) == 0,
                    "probability": list(shares.values()),
                    "rows": shown,
                    "answered": answered,
                    "share": shown / max(shown.sum(), 1),
                    "contrast_rows": answered + answered[0],
                    "without_replacement": drawn,
                }
            )
        )
    table = pd.concat(frames, ignore_index=True)
    keys = pd.MultiIndex.from_frame(table[["feature", "level"]])
    plain = amce(group.answered, group.formula)
    clustered, independent = (
        pd.Series(
            result.frame["std_error"].to_numpy() ** 2,
            index=pd.MultiIndex.from_arrays([result.frame[k].astype(str) for k in ("feature", "level")]),
        )
        .reindex(keys)
        .to_numpy()
        for result in (group.effects, plain)
    )
    effective = effective_rows(table["contrast_rows"].to_numpy(dtype=float), clustered, independent)
    return table.assign(design_effect=clustered / independent, estimate=effective)


DESIGN_PROBABILITIES = Question(
    "CJ104",
    "design_probabilities",
    "Agreement with the design's probabilities",
    "Does every level occur as often as the study file says?",
    "Effects are averaged over another distribution of profiles than the stated one.",
    "Compare the probabilities in the study file with the program that drew the profiles, and look for "
    "lost answers; where levels fit more closely than chance, name the quota or block design in the study. "
    "Marginal means and population effects depend on the probabilities, differences within the design less.",
    "test",
)


def fit_of_levels(
    counts: np.ndarray, probability: np.ndarray, draw: Draw, rng: np.random.Generator
) -> Against:
    """Test counts of levels, shape (levels,), against their probabilities, shape (levels,).

    Random designs are drawn independently (multinomial) or without replacement (multivariate
    hypergeometric), which leaves less variation.
    """
    drawn = misfit(draw_counts(probability, draw, DRAWS, rng), probability)
    statistic = float(misfit(counts, probability))
    return against(statistic, drawn, len(counts) - 1, draw.variance_factor)


@check(DESIGN_PROBABILITIES)
def design_probabilities(study: Study, judged: Sequence[Judged], alpha: float, seed: int) -> Check:
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
    finding = (
        f"{counted(len(tests), 'attribute')} tested, profiles drawn {' or '.join(dict.fromkeys(how))}; the "
        f"smallest adjusted {said_p(p)} ({furthest['feature']}, {who(furthest)}). The largest deviation is "
        f"{100 * off['estimate']:+.2f} percentage points ({off['feature']} = {off['level']})."
    )
    if p < alpha and furthest["p_closer"] < furthest["p_worse"]:
        finding += " Levels fit more closely than expected from random draws."
    return DESIGN_PROBABILITIES.answer(
        table, worst(map(_verdict, tests.itertuples(), [alpha] * len(tests))), finding
    )


def _verdict(test: object, alpha: float) -> Verdict:
    level, worse, closer = (getattr(test, name) for name in ("p_adjusted", "p_worse", "p_closer"))
    if not level < alpha:
        return "pass"
    return "error" if worse < closer and level < min(0.001, alpha) else "warning"


def _level_rows(study: Study, group: Judged, rng: np.random.Generator, alpha: float) -> pd.DataFrame:
    draw = how_drawn(study, group.shown)
    frames = []
    for name, shares in probabilities(study).items():
        occurrences = group.shown[name].astype("string").value_counts()
        counts = occurrences.reindex(list(shares), fill_value=0).to_numpy(dtype=np.int64)
        n = int(counts.sum())
        probability = np.array(list(shares.values()))
        found = fit_of_levels(counts, probability, Draw(n, draw.population), rng)
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
                    "statistic": found.statistic,
                    "p_worse": found.p_worse,
                    "p_closer": found.p_closer,
                    "p": found.p,
                    "without_replacement": draw.population is not None,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


DRAWS = 4_999
RESOLVED = 10  # fewer draws than this beyond the statistic leave p to the chi-square distribution


@dataclass(frozen=True)
class Draw:
    """How n profiles were drawn: independently, or without replacement from ``population`` profiles."""

    n: int
    population: int | None

    @property
    def variance_factor(self) -> float:
        """Variance of a count relative to independent draws."""
        if self.population is None:
            return 1.0
        rest = self.n % self.population
        return max(rest * (self.population - rest) / (self.population - 1) / self.n, 1e-12)


@dataclass(frozen=True)
class Against:
    """A statistic against designs drawn at random.

    ``expected``, ``lower`` and ``upper`` are mean and 2.5% and 97.5% points of the draws; ``p`` is
    two-sided, ``p_worse`` and ``p_closer`` one-sided.
    """

    statistic: float
    expected: float
    lower: float
    upper: float
    p: float
    p_worse: float
    p_closer: float


def probabilities(study: Study) -> dict[str, dict[str, float]]:
    """Probability of each level of each randomised attribute, in the study's order."""
    table = level_probabilities(study)
    return {
        a.id: {
            str(level): float(share)
            for level, share in table.loc[table["feature"] == a.id, ["level", "probability"]].to_numpy()
        }
        for a in study.attributes
    }


def how_drawn(study: Study, shown: pd.DataFrame) -> Draw:
    """Whether the profiles shown were drawn without replacement.

    They were where no profile came a second time before all had come once, and all are equally
    likely. Profiles are distinguished by attributes and stimuli, not by ``profile_id``, which may number
    presentations.
    """
    n = len(shown)
    names = [*(a.id for a in study.attributes), *(s.id for s in study.stimuli)]
    uniform = all(np.ptp(shares) < 1e-9 for shares in drawn_shares(study).values())
    if not uniform or any(name not in shown or shown[name].isna().any() for name in names):
        return Draw(n, None)
    population = count_cells(study)[0] * prod(s.count for s in study.stimuli)
    came = shown.groupby(names, observed=True, sort=False).size()
    fewest = int(came.min()) if len(came) == population else 0
    in_rounds = fewest >= n // population and came.max() <= -(-n // population)
    return Draw(n, population if in_rounds else None)


def draw_counts(probability: np.ndarray, draw: Draw, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Counts of c cells in random designs, shape (draws, c), from probabilities of shape (c,)."""
    if draw.population is None:
        return rng.multinomial(draw.n, probability, size=draws)
    profiles = np.rint(probability * draw.population).astype(np.int64)
    rounds, rest = divmod(draw.n, int(profiles.sum()))
    drawn = rng.multivariate_hypergeometric(profiles, rest, size=draws, method="marginals")
    return np.asarray(rounds * profiles + drawn)


def misfit(counts: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Chi-square distance of counts (..., c) from probabilities (c,), shape (...)."""
    expected = counts.sum(axis=-1, keepdims=True) * probability
    return np.asarray(((counts - expected) ** 2 / expected).sum(axis=-1))


def dependence(tables: np.ndarray) -> np.ndarray:
    """Chi-square statistics of independence of tables (..., a, b), shape (...)."""
    total = tables.sum(axis=(-2, -1), keepdims=True)
    expected = tables.sum(axis=-1, keepdims=True) * tables.sum(axis=-2, keepdims=True) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(expected > 0, (tables - expected) ** 2 / expected, 0.0)
    return np.asarray(parts.sum(axis=(-2, -1)))


def against(statistic: float, drawn: np.ndarray, df: int, factor: float) -> Against:
    """Compare a statistic with those of random designs, shape (draws,).

    The p value is exact up to simulation, (b + 1) / (draws + 1), both sides counted. In a tail that
    the draws do not resolve it is that of the chi-square distribution with ``df`` degrees of freedom,
    scaled by the variance ``factor``.
    """
    tolerance = 1e-9 * max(abs(statistic), 1.0)
    sides = {}
    for side, beyond in (
        ("worse", int((drawn >= statistic - tolerance).sum())),
        ("closer", int((drawn <= statistic + tolerance).sum())),
    ):
        exact = (beyond + 1) / (len(drawn) + 1)
        tail = chi2.sf if side == "worse" else chi2.cdf
        sides[side] = exact if beyond >= RESOLVED else min(exact, float(tail(statistic / factor, df)))
    lower, upper = np.quantile(drawn, [0.025, 0.975])
    p = min(2 * min(sides.values()), 1.0)
    mean = float(drawn.mean())
    return Against(statistic, mean, float(lower), float(upper), p, sides["worse"], sides["closer"])
