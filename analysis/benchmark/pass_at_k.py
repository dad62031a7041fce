"""Several answers of a judge to the same unit: at least one right, all right, the most frequent one right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, listed, unknown_name
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.schema import require_columns

from ..frames.notes import Note, name_keys
from ..frames.passport import coverage_notes, situation_of
from ..frames.vocabulary import BASELINE, MAJORITY, RANDOM
from ..numerics.bootstrap import ItemWeightings
from ..numerics.types import Codes, Floats
from ..results import AnalysisStep, Result, analysis
from .data.scoring import Scored, TaskCell
from .intervals import (
    IntervalPlan,
    StatisticInterval,
    bounds_of,
    cluster_codes,
    counts_of,
    interval_notes,
    mean_bounds,
    metric_row,
    pooled_notes,
)
from .parse_status import NO_ANSWER, WRONG, check_policies, outcome

if TYPE_CHECKING:
    from .data.label_answers import LabelAnswers

MOST = 10  # so many k are shown one by one; beyond, powers of two
PASS_AT, PASS_ALL, MAJORITY_OF, BEST_OF = "pass_at_k", "pass_all_k", "majority_of_k", "best_of_k"
STRATA = ("language", "modality")
LEFT_OUT = -2  # answer of a sample that was not drawn, or that a policy leaves out


@dataclass(frozen=True)
class SampledLabels:
    """Answers of S samples to n units."""

    gold: Codes  # shape (n,)
    # shape (n, S): codes in the order of the samples; -1 for no answer, `LEFT_OUT` for none to count
    predicted: Codes

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each answer is right, shape (n, S)."""
        return np.asarray(self.predicted == self.gold[:, None])

    @property
    def there(self) -> NDArray[np.bool_]:
        """Whether each answer counts, shape (n, S)."""
        return np.asarray(self.predicted != LEFT_OUT)


def pass_at_k(answers: SampledLabels, k: int) -> Floats:
    """Probability that at least one of k samples, drawn without replacement, is right, shape (n,)."""
    n, wrong = answers.there.sum(axis=1), (answers.there & ~answers.right).sum(axis=1)
    return np.where(n >= k, 1 - _probability_of_all(wrong, n, k), np.nan)


def pass_all_k(answers: SampledLabels, k: int) -> Floats:
    """Probability that k samples, drawn without replacement, are all right, shape (n,): pass^k."""
    n = answers.there.sum(axis=1)
    return np.where(n >= k, _probability_of_all(answers.right.sum(axis=1), n, k), np.nan)


def majority_of_k(answers: SampledLabels, k: int) -> Floats:
    """Whether the most frequent of the first k answers is right, shape (n,)."""
    first = answers.predicted[:, :k]
    n_labels = int(first.max(initial=0)) + 1
    votes = np.stack([(first == label).sum(axis=1) for label in range(n_labels)], axis=1)
    most = votes.max(axis=1, initial=0)
    leading = (votes == most[:, None]) & (most[:, None] > 0)
    gold = np.minimum(answers.gold, n_labels - 1)
    won = leading[np.arange(len(first)), gold] & (answers.gold < n_labels)
    share = won / np.maximum(leading.sum(axis=1), 1)
    return np.where(answers.there[:, :k].any(axis=1), share, np.nan)


def best_of_k(answers: SampledLabels, k: int) -> Floats:
    """Whether any of the first k answers is right, shape (n,): what is often printed as pass@k."""
    return np.where(answers.there[:, :k].any(axis=1), answers.right[:, :k].any(axis=1), np.nan)


RULES: dict[str, Callable[[SampledLabels, int], Floats]] = {
    PASS_AT: pass_at_k,
    PASS_ALL: pass_all_k,
    MAJORITY_OF: majority_of_k,
    BEST_OF: best_of_k,
}


@any_frame
def passes(
    scored: Scored,
    *,
    by: Sequence[str] = (),
    k: Sequence[int] | None = None,
    metrics: Sequence[str] = tuple(RULES),
    missing: Sequence[str] = (WRONG,),
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
    strata: Sequence[str] | None = None,
    interval: Literal["bootstrap"] | None = None,
) -> Result:
    """Score k answers of a judge to each unit.

    Parameters
    ----------
    scored : Scored
        With several samples.
    by
        As in `scores`.
    k : sequence of int, optional
        By default 1 to the number of samples; beyond ten samples powers of two and the number.
    metrics : sequence of str
        ``pass_at_k`` (unbiased: the mean over all subsets of k samples), ``pass_all_k`` (pass^k, likewise),
        ``majority_of_k`` (of the first k), ``best_of_k`` (any of the first k).
    missing, draws, seed, alpha, cluster
        As in `scores`.
    strata : sequence of str, optional
        Columns in whose values copies of samples are looked for too; by default language and modality where
        they are there.
    interval : {"bootstrap"}, optional
        As in `scores`.

    Returns
    -------
    Result
        Kind "passes": ``judge, judge_kind, prompt, task, [by], missing, metric, k, estimate, std_error,
        lower, upper, interval, n_answers, n_units, n_items, n_clusters``. ``extra["samples"]`` gives for each
        cell, and of each ``stratum`` of it ("" for the cell), how many samples there are, and which of them
        are the same answer by answer: see `samples_alike`.

    Raises
    ------
    InputError
        For unknown metrics, or where no judge has as many samples as are asked for.

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j1", "j2", "j2"],
    ...     "sample": [1, 2, 1, 2], "dimension": "harm", "value": ["safe", "harmful", "safe", "safe"]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2"], "label_set": "harm", "label": ["harmful", "safe"]})
    >>> table = passes(score(judged, gold), metrics=["pass_at_k"], draws=0).frame
    >>> table.loc[table["judge"] == "gpt", ["k", "estimate"]].to_numpy().tolist()
    [[1.0, 0.75], [2.0, 1.0]]
    """
    plan, policies = IntervalPlan(draws, seed, alpha, cluster, interval), check_policies(missing)
    for name in metrics:
        if name not in RULES:
            raise unknown_name("metric", name, RULES)
    looked = [name for name in STRATA if name in scored.frame] if strata is None else strata
    require_columns(scored.frame, list(looked), "scored judgments")
    within = [name for name in looked if name not in by]
    rows: list[dict[str, Any]] = []
    copies: list[dict[str, Any]] = []
    covered: list[str] = []
    for cell in scored.cells(by):
        alike = list(_sample_copies(cell, within, scored.policy))
        copies += alike
        for policy in policies:
            units, answers = unit_answers(cell, policy, scored.policy)
            k_values = _k_values(k, alike[0]["n_samples"])
            rows += _rows(cell.keys, policy, units, answers, k_values, metrics, plan)
            covered += _coverage(units, answers, [(name, k) for name in metrics for k in k_values], plan)
    most = max(copy["n_samples"] for copy in copies)
    if not rows:
        raise InputError(f"There are up to {most} samples; name metrics, and a k of at most {most}.")
    for cell in scored.cells(by, judges=False):
        rows += _baselines(cell, policies, _k_values(k, most), metrics, plan)
    frame, samples = pd.DataFrame(rows), pd.DataFrame(copies)
    return Result(
        frame,
        "passes",
        (
            *scored.notes,
            *_notes(samples, by),
            *pooled_notes(scored, by),
            *interval_notes(frame, plan, scored),
            *dict.fromkeys(covered),
        ),
        {"by": list(by), "missing": list(policies), **vars(plan)},
        {"samples": samples},
    )


def unit_answers(cell: TaskCell, policy: str, study: Mapping[str, str]) -> tuple[pd.DataFrame, SampledLabels]:
    """Units of a cell, one row each, and their answers by sample under a policy for missing ones."""
    frame = cell.frame
    predicted, mask = outcome(frame, cell.classes, policy, study)
    samples = np.sort(frame["sample"].unique())
    unit, _ = pd.factorize(frame["unit"])
    units = frame[~frame["unit"].duplicated().to_numpy()]
    table = np.full((len(units), len(samples)), LEFT_OUT, dtype=np.int64)
    table[unit, np.searchsorted(samples, frame["sample"].to_numpy())] = np.where(mask, predicted, LEFT_OUT)
    return units, SampledLabels(units["gold"].to_numpy(dtype=np.int64), table)


def samples_alike(answers: SampledLabels) -> dict[str, Any]:
    """How many samples there are, how many answered nothing, and which of the others are copies."""
    predicted = np.maximum(answers.predicted, NO_ANSWER)
    spoke = (predicted != NO_ANSWER).any(axis=0)
    each = [column.tobytes() for column in predicted.T]
    heard = dict.fromkeys(column for column, any_answer in zip(each, spoke, strict=True) if any_answer)
    names = {column: _letters(at) for at, column in enumerate(heard)}
    letters = [names[column] if any_answer else "-" for column, any_answer in zip(each, spoke, strict=True)]
    return {
        "n_samples": len(each),
        "n_silent": int((~spoke).sum()),
        "n_distinct": len(names),
        "n_answered": int((predicted != NO_ANSWER).any(axis=1).sum()),
        "groups": ("" if len(names) <= len(ascii_uppercase) else " ").join(letters),
    }


def with_copies(samples: pd.DataFrame) -> NDArray[np.bool_]:
    """Where at least two samples are copies of each other, by row of `samples_alike`, shape (n,)."""
    return np.asarray(samples["n_distinct"] < samples["n_samples"] - samples["n_silent"], dtype=bool)


def _letters(at: int) -> str:
    """Letters of a number from 0: A to Z, then AA, AB and so on."""
    last = ascii_uppercase[at % len(ascii_uppercase)]
    return (_letters(at // len(ascii_uppercase) - 1) if at >= len(ascii_uppercase) else "") + last


def _sample_copies(
    cell: TaskCell, strata: Sequence[str], study: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Which samples of a cell are copies, and which are in each stratum of it."""
    yield {**cell.keys, "stratum": "", **samples_alike(unit_answers(cell, WRONG, study)[1])}
    for name in strata:
        for level, rows in cell.frame.groupby(name, sort=False, observed=True):
            counts = samples_alike(unit_answers(replace(cell, frame=rows), WRONG, study)[1])
            yield {**cell.keys, "stratum": f"{name} {level}", **counts}


def _probability_of_all(good: Codes, n: Codes, k: int) -> Floats:
    """Probability that k of n samples, drawn without replacement, are all among ``good``, shape (n,)."""
    chance = np.ones(len(good))
    for draw in range(k):
        chance *= np.maximum(good - draw, 0) / np.maximum(n - draw, 1)
    return chance


def _k_values(k: Sequence[int] | None, n_samples: int) -> list[int]:
    if k is None:
        if n_samples <= MOST:
            return list(range(1, n_samples + 1))
        return sorted(
            {2**power for power in range(n_samples.bit_length()) if 2**power <= n_samples} | {n_samples}
        )
    if any(size < 1 for size in k):
        raise InputError(f"k is {listed(k)}; give whole numbers of 1 and more.")
    return [size for size in k if size <= n_samples]


def _rows(
    keys: Mapping[str, str],
    policy: str,
    units: pd.DataFrame,
    answers: SampledLabels,
    k_values: Sequence[int],
    metrics: Sequence[str],
    plan: IntervalPlan,
) -> Iterator[dict[str, Any]]:
    names = [(name, k) for name in metrics for k in k_values]
    if not names:
        return
    values = np.stack([RULES[name](answers, k) for name, k in names], axis=1)
    codes, n_clusters = cluster_codes(units, plan.cluster)
    is_analytic = plan.draws and not plan.resamples
    replicates = None if is_analytic else ItemWeightings(plan.weights(n_clusters), codes).mean(values)
    for column, (name, k) in enumerate(names):
        mask = np.isfinite(values[:, column])
        counts = counts_of(units, mask, codes) | {"n_answers": int(answers.there[mask].sum())}
        if replicates is None:
            bounds = mean_bounds(values[:, column], codes, plan.alpha)
        else:
            bounds = bounds_of(
                replicates[:, column], plan.alpha, is_share=True, n_clusters=counts["n_clusters"]
            )
        yield metric_row(keys, policy, name, bounds, counts, k=k)


def _coverage(
    units: pd.DataFrame, answers: SampledLabels, names: Sequence[tuple[str, int]], plan: IntervalPlan
) -> list[str]:
    """State which intervals were measured to cover too rarely with units like these."""
    if not plan.draws:
        return []
    n_answers = answers.there.sum(axis=1)
    easy = int((answers.right.sum(axis=1) * 2 > n_answers).sum())  # units mostly answered rightly
    counts = np.array([easy, len(units) - easy], dtype=float)
    situation = situation_of(cluster_codes(units, plan.cluster)[0], counts)
    queries = [(f"{name} {k}", f"{name} of {k}", situation) for name, k in names]
    return coverage_notes("passes", queries, plan.alpha)


def _baselines(
    cell: TaskCell,
    policies: Sequence[str],
    k_values: Sequence[int],
    metrics: Sequence[str],
    plan: IntervalPlan,
) -> Iterator[dict[str, Any]]:
    """Both baselines on the units of a cell: a constant answer, and independent draws of a class."""
    units = cell.frame.drop_duplicates("unit")
    gold = units["gold"].to_numpy(dtype=np.int64)
    always = int(np.bincount(gold, minlength=len(cell.classes)).argmax())  # the first of several
    answers = SampledLabels(gold, np.full((len(gold), max(k_values, default=1)), always))
    miss = 1 - 1 / len(cell.classes)
    counts = counts_of(units, np.ones(len(units), dtype=bool), cluster_codes(units, plan.cluster)[0])
    for policy in policies:
        yield from _rows(_baseline(cell, MAJORITY), policy, units, answers, k_values, metrics, plan)
        for name in metrics:
            for k in k_values:
                any_right = 1 - miss**k
                expected = {PASS_ALL: (1 - miss) ** k, MAJORITY_OF: 1 - miss}.get(name, any_right)
                yield metric_row(
                    _baseline(cell, RANDOM), policy, name, StatisticInterval.none(expected), counts, k=k
                )


def _baseline(cell: TaskCell, judge: str) -> dict[str, str]:
    return {**cell.keys, "judge": judge, "judge_kind": BASELINE}


def _notes(alike: pd.DataFrame, by: Sequence[str]) -> list[str]:
    of_cell = alike["groups"].where(alike["stratum"] == "").ffill()
    is_redundant = (alike["stratum"] != "") & (alike["groups"] == of_cell)
    copied = alike[with_copies(alike) & ~is_redundant]
    if copied.empty:
        return []
    places = [
        Note.of(
            "{place} ({groups}; {n:,} answered units)",
            place=_name_place(row, by),
            groups=row["groups"],
            n=row["n_answered"],
        )
        for row in copied.to_dict("records")
    ]
    return [
        Note.of(
            "Identical samples do not contribute to k (the same letters for the same answers): {places:30}.",
            places=places,
        )
    ]


def _name_place(row: Mapping[Any, Any], by: Sequence[str]) -> Note:
    """Judge, task and strata of a row that states which samples are alike."""
    strata = {f"stratum{n}": f"{name} {row[name]}" for n, name in enumerate(by)}
    return name_keys({"judge": row["judge"], "task": row["task"], **strata, "stratum": row["stratum"]})


@analysis("benchmark", order=70, when=lambda answered: answered.is_scored)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    scored, strata, title = answered.plain_scores, answered.strata, "Several answers to the same item"
    if scored.frame["sample"].nunique() == 1:
        return
    yield AnalysisStep("passes", title, lambda: passes(scored, strata=strata, **options))
    for name, split, by in islice(answered.further_splits(), 1):
        call = partial(passes, scored, by=by, strata=strata, **options)
        yield AnalysisStep(f"passes_{name}", f"{title}, by {split}", call)
