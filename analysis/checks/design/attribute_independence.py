"""Independence of attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from conjury.inference.errors import counted, listed
from conjury.inference.readers.conjoints.attribute_levels import EmptyPairs, find_empty_pairs
from conjury.inference.readers.conjoints.study_draft import restrictions_of
from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import joint_shares

from ...frames.notes import Note, join_notes
from ..judged import JudgedChoices, codes, designs, tidy
from ..registry import Check, Question, Verdict, adjusted, check, lowest, show_p, who
from .design_draws import (
    DRAWS,
    Draw,
    RandomizationTest,
    compare_with_draws,
    dependence,
    draw_counts,
    infer_draw,
    misfit,
    probabilities,
)

ATTRIBUTE_INDEPENDENCE = Question(
    code="CJ105",
    name="attribute_independence",
    title="Independence of attributes",
    text="Is the level of one attribute independent of the level of another?",
    consequence="Estimated effects of an attribute contain those of the attribute that depends on it.",
    remedy="Check the program that drew the profiles, and the join of attributes to profiles, for the cause "
    "of this dependence, and interpret marginal means with care: those of one attribute include effects of "
    "the other.",
    alarms="test",
)
CLOSER = "If profiles were drawn by a quota or block design, report it with the results; AMCEs remain valid."


def independence_of(
    table: np.ndarray, probability: np.ndarray, draw: Draw, rng: np.random.Generator
) -> RandomizationTest:
    """Test a table of two attributes, shape (a, b), for independence."""
    tables = draw_counts(probability.ravel(), draw, DRAWS, rng).reshape(-1, *table.shape)
    df = (table.shape[0] - 1) * (table.shape[1] - 1)
    return compare_with_draws(float(dependence(table)), dependence(tables), df, draw.variance_factor)


def agreement_of(
    table: np.ndarray, probability: np.ndarray, draw: Draw, rng: np.random.Generator
) -> RandomizationTest:
    """Test a table of two attributes that restrictions tie, shape (a, b), against its design."""
    # Parameters and result are those of `independence_of`; combinations of probability 0 are excluded.
    possible = probability > 0
    counts, shares = table[possible], probability[possible] / probability.sum()
    tables = draw_counts(shares, Draw(int(counts.sum()), draw.population), DRAWS, rng)
    return compare_with_draws(
        float(misfit(counts, shares)), misfit(tables, shares), len(shares) - 1, draw.variance_factor
    )


@check(ATTRIBUTE_INDEPENDENCE)
def attribute_independence(study: Study, judged: Sequence[JudgedChoices], alpha: float, seed: int) -> Check:
    """Test every pair of attributes in every design."""
    if len(study.attributes) < 2:
        return ATTRIBUTE_INDEPENDENCE.not_applicable("The study varies a single attribute.")
    rng = np.random.default_rng(seed)
    groups = designs(judged)
    tables = [_independence_rows(study, members[0], rng) for members in groups]
    tested = adjusted(np.concatenate([table["p"].to_numpy() for table in tables]))
    ends = np.cumsum([len(table) for table in tables])
    parts = np.split(tested, ends[:-1])
    table = tidy(
        (g, t.assign(p_adjusted=p))
        for members, t, p in zip(groups, tables, parts, strict=True)
        for g in members
    )
    furthest = lowest(table, table["p_adjusted"])
    p = float(furthest["p_adjusted"])
    finding = Note.of(
        "{pairs} of attributes tested; the smallest adjusted {p} ({feature} and {feature2}, "
        "{who}; Cramer's V {cramers_v:.3f}).",
        pairs=counted(len(tested), "pair"),
        p=show_p(p),
        feature=furthest["feature"],
        feature2=furthest["partner"],
        who=who(furthest),
        cramers_v=furthest["cramers_v"],
    )
    tied = len(table.loc[table["restricted"], ["feature", "partner"]].drop_duplicates())
    if tied:
        finding = join_notes(
            [
                finding,
                Note.of(
                    "For pairs that are dependent by restrictions ({tied}), agreement with the design's "
                    "shares was tested.",
                    tied=tied,
                ),
            ]
        )
    closer = furthest["p_closer"] < furthest["p_worse"]
    absent = absent_combinations(study, [members[0] for members in groups])
    if absent:
        finding = join_notes([finding, named_pairs(absent)])
    if p < alpha and closer:
        balanced = Note("Combinations of their levels are more balanced than expected from random draws.")
        finding = join_notes([finding, balanced])
    verdict: Verdict = "pass" if not p < alpha else "warning" if closer or p >= min(0.001, alpha) else "error"
    return ATTRIBUTE_INDEPENDENCE.answer(
        table, verdict, finding, remedy=as_restrictions(absent) if absent else CLOSER if closer else None, p=p
    )


def absent_combinations(study: Study, groups: Iterable[JudgedChoices]) -> tuple[EmptyPairs, ...]:
    """Pairs of levels that no design shows although chance and the study file would."""
    names = [part.id for part in study.attributes]
    profiles = [group.shown[names] for group in groups]
    if not profiles or len(names) < 2:
        return ()
    frame = pd.concat(profiles, ignore_index=True)
    levels = {name: study.levels(name) for name in names}
    frame = frame.astype({name: pd.CategoricalDtype(levels[name]) for name in names})
    pairs = []
    for tie in find_empty_pairs(frame, names):
        shares = np.asarray(joint_shares(study, [tie.first, tie.second]))
        first, second = levels[tie.first], levels[tie.second]
        allowed = tuple(pair for pair in tie.pairs if shares[first.index(pair[0]), second.index(pair[1])] > 0)
        if allowed:
            pairs.append(EmptyPairs(tie.first, tie.second, allowed, tie.expected))
    return tuple(pairs)


def as_restrictions(pairs: Sequence[EmptyPairs]) -> Note:
    """What to do about combinations that never occur: the entries of the study file, and the formula."""
    entries = (
        "{levels: {"
        + ", ".join(f"{name}: [{', '.join(levels)}]" for name, levels in entry["levels"].items())
        + "}, because: never shown}"
        for entry in restrictions_of(pairs)
    )
    formula = listed(f"{tie.first} * {tie.second}" for tie in pairs)
    return Note(
        "Levels that no profile shows together were probably restricted by design: write `restrictions: ["
        f"{', '.join(entries)}]` under `design` in the study file, and {formula} in formulas, so that "
        "effects are averaged over combinations that occur; marginal means of one attribute include effects "
        "of the other."
    )


def named_pairs(pairs: Sequence[EmptyPairs]) -> Note:
    """The pairs of levels that are absent, in words."""
    absent = [
        Note.of("{level} with {level2}", level=(tie.first, first), level2=(tie.second, second))
        for tie in pairs
        for first, second in tie.pairs
    ]
    return Note.of("Never shown together: {absent:20}.", absent=absent)


def _independence_rows(study: Study, group: JudgedChoices, rng: np.random.Generator) -> pd.DataFrame:
    draw = infer_draw(study, group.shown)
    rows = []
    shares = {name: np.array(list(each.values())) for name, each in probabilities(study).items()}
    level = {
        name: codes(group.shown[name].astype(pd.CategoricalDtype(list(each))))
        for name, each in probabilities(study).items()
    }
    for first, second in combinations(shares, 2):
        mask = (level[first] >= 0) & (level[second] >= 0)
        a, b = len(shares[first]), len(shares[second])
        joint = level[first][mask] * b + level[second][mask]
        table = np.bincount(joint, minlength=a * b).reshape(a, b)
        n = int(table.sum())
        free = np.outer(shares[first], shares[second])
        joint = joint_shares(study, [first, second]) if study.design.restrictions else free
        restricted = not np.allclose(joint, free)
        test = agreement_of if restricted else independence_of
        result = test(table, joint if restricted else free, Draw(n, draw.population), rng)
        rows.append(
            {
                "feature": first,
                "partner": second,
                "estimate": result.over_expected(result.statistic),
                "lower": result.over_expected(result.lower),
                "upper": result.over_expected(result.upper),
                "restricted": restricted,
                "cramers_v": float(np.sqrt(dependence(table) / n / (min(a, b) - 1))),
                "empty_cells": int((table == 0).sum()),
                "statistic": result.statistic,
                "p_worse": result.p_worse,
                "p_closer": result.p_closer,
                "p": result.p,
            }
        )
    return pd.DataFrame(rows)
