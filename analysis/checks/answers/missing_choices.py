"""Missing choices by attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import chi2

from conjury.inference.errors import InputError, counted

from ...frames.notes import Note
from ...frames.rounding import percentage
from ...numerics.intervals import SAME, inference
from ..judged import JudgedChoices, NotApplicableError, attempt, tidy
from ..registry import Check, Question, adjusted, check, groups, highest, level_of, lowest, show_p, who

MISSING_CHOICES = Question(
    code="CJ302",
    name="missing_choices",
    title="Missing choices by attribute",
    text="Is the probability of a missing choice independent of the levels shown?",
    consequence="Effects among answered pairs can differ from those among all pairs.",
    remedy="Estimate AMCEs on whether a pair is answered, and bound the effects by counting missing choices "
    "as not chosen and as chosen; do not treat the answered pairs as representative.",
    alarms="test",
)
FEW = 200  # unanswered pairs up to which p is found by permutation
DRAWS = 999  # with the observed statistic 1,000, so that p has round steps
MORE_DRAWS = 9_000  # further ones where p is small, so that it can survive adjustment over all checks
RESOLVED = 10  # as large draws, after which more would hardly change p
MANY_MISSING = 0.05  # share beyond which a rejected test is an error


@dataclass(frozen=True)
class Missingness:
    """Randomisation test of flags against covariates."""

    excess: np.ndarray  # (k,): sum of covariates over flagged pairs less its expectation
    variance: np.ndarray  # (k,): its variance under random flags
    statistic: float
    df: int
    p: float


@check(MISSING_CHOICES)
def missing_choices(judged: Sequence[JudgedChoices], alpha: float, seed: int) -> Check:
    """Test jointly whether attributes differ between answered and other pairs, for every judge and prompt."""
    lossy = [group for group in judged if np.isnan(group.first_chosen).any()]
    if not lossy:
        return MISSING_CHOICES.answer(_empty_table(judged), "pass", "Every pair has a choice.")
    rng = np.random.default_rng(seed)
    done, notes = attempt(lossy, lambda group: _missing_rows(group, alpha, rng))
    table = tidy(done)
    tests = table.drop_duplicates(["judge", "prompt"])[["judge", "prompt", "p_joint"]].reset_index(drop=True)
    tests["p_joint_adjusted"] = adjusted(tests["p_joint"].to_numpy())
    table = table.merge(tests.drop(columns="p_joint"), on=["judge", "prompt"])
    if tests["p_joint"].isna().all():
        n_missing = sum(int(np.isnan(group.first_chosen).sum()) for group in lossy)
        raise NotApplicableError(
            Note.of(
                "{pairs} without a choice cannot be tested: the people concerned answered nothing, or "
                "the levels shown do not vary among their pairs.",
                pairs=counted(n_missing, "pair"),
            )
        )
    worst = lowest(table, table["p_joint_adjusted"])
    rows = table[(table["judge"] == worst["judge"]) & (table["prompt"] == worst["prompt"])]
    largest = highest(rows, rows["estimate"].abs())
    p = float(worst["p_joint_adjusted"])
    finding = Note.of(
        "The levels shown predict which pairs are unanswered for {n} of "
        "{groups}; smallest adjusted {p} ({who}, {share} missing). There the share deviates "
        "most for {level} ({estimate:+.2f} points).",
        n=int((tests["p_joint_adjusted"] < alpha).sum()),
        groups=groups(len(judged)),
        p=show_p(p),
        who=who(worst),
        share=percentage(worst["share_missing"], 2),
        level=level_of(largest),
        estimate=100 * largest["estimate"],
    )
    rejected = table[table["p_joint_adjusted"] < alpha]
    severe = (rejected["share_missing"] > MANY_MISSING).any()
    return MISSING_CHOICES.answer(
        table, "error" if severe else "warning" if len(rejected) else "pass", finding, notes, p=p
    )


def missing_at_random(
    flag: np.ndarray, covariates: np.ndarray, stratum: np.ndarray, rng: np.random.Generator
) -> Missingness:
    """Test whether flags are placed at random within strata."""
    _, stratum = np.unique(stratum, return_inverse=True)
    size = np.bincount(stratum)
    hits = np.bincount(stratum, flag)
    useful = ((hits > 0) & (hits < size))[stratum]
    flag, covariates, stratum = flag[useful], covariates[useful], stratum[useful]
    k = covariates.shape[1]
    if not len(flag):
        return Missingness(np.zeros(k), np.zeros(k), np.nan, 0, np.nan)
    means = np.stack([np.bincount(stratum, column, len(size)) for column in covariates.T], axis=1)
    centred = covariates - (means / np.maximum(size, 1)[:, None])[stratum]
    scale = hits * (size - hits) / np.maximum(size * (size - 1.0), 1.0)
    vcov = centred.T @ (centred * scale[stratum][:, None])
    excess = centred[flag].sum(axis=0)
    inverse, df = (
        np.linalg.pinv(vcov, rtol=1e-9, hermitian=True),
        int(np.linalg.matrix_rank(vcov, rtol=1e-9, hermitian=True)),
    )
    statistic = float(excess @ inverse @ excess)
    if not df or int(flag.sum()) >= FEW:
        return Missingness(
            excess, np.diag(vcov), statistic, df, float(chi2.sf(statistic, df)) if df else np.nan
        )
    beyond = draws = 0
    for more in (DRAWS, MORE_DRAWS):
        sums = np.array([centred[chosen].sum(axis=0) for chosen in _flags(stratum, hits, more, rng)])
        beyond += int((np.einsum("ij,jk,ik->i", sums, inverse, sums) >= statistic * (1 - 1e-9)).sum())
        draws += more
        if beyond >= RESOLVED:
            break
    return Missingness(excess, np.diag(vcov), statistic, df, (beyond + 1) / (draws + 1))


def _flags(stratum: np.ndarray, hits: np.ndarray, draws: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Rows flagged in random placements with the same number in each stratum."""
    if stratum[0] == stratum[-1] and (stratum == stratum[0]).all():
        m = int(hits[stratum[0]])
        return [rng.choice(len(stratum), m, replace=False, shuffle=False) for _ in range(draws)]
    by_stratum = np.argsort(stratum, kind="stable")
    ordered = stratum[by_stratum]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    mask = rank < hits[ordered]
    return [np.lexsort((rng.random(len(stratum)), stratum))[mask] for _ in range(draws)]


def _missing_rows(group: JudgedChoices, alpha: float, rng: np.random.Generator) -> pd.DataFrame:
    flag = np.isnan(group.first_chosen)
    if flag.all():
        raise InputError("no pair has a choice.")
    keys, columns, rates, n_shown = [], [], [], []
    for name in group.attributes:
        code = group.by_pair(name)
        for number, level in enumerate(group.rows[name].astype("category").cat.categories):
            here = (code == number).sum(axis=1).astype(float)
            keys.append((name, str(level)))
            columns.append(here)
            n_shown.append(here.sum())
            rates.append(here[flag].sum() / max(here.sum(), 1))
    stratum = group.respondents() if group.kind == "human" else np.zeros(len(flag), dtype=np.int64)
    result = missing_at_random(flag, np.column_stack(columns), stratum, rng)
    count = np.maximum(n_shown, 1)
    estimate, error = result.excess / count, np.sqrt(result.variance) / count
    limits = inference(estimate, np.where(error > SAME, error, np.nan), alpha)
    return pd.DataFrame(keys, columns=["feature", "level"]).assign(
        pairs=len(flag),
        missing=int(flag.sum()),
        share_missing=float(flag.mean()),
        rate=rates,
        estimate=estimate,
        std_error=error,
        **vars(limits),
        chi2_joint=result.statistic,
        df_joint=result.df,
        p_joint=result.p,
    )


def _empty_table(judged: Sequence[JudgedChoices]) -> pd.DataFrame:
    counts = [(g.judge, g.prompt, len(g.first_chosen), 0, 0.0) for g in judged]
    return pd.DataFrame(counts, columns=["judge", "prompt", "pairs", "missing", "share_missing"])
