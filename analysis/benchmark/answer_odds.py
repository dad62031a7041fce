"""Log-odds of a right answer by judge or condition, with a random intercept for each item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.schema import require_columns

from ..frames.notes import Note, note_under
from ..numerics.intervals import check_alpha, inference
from ..numerics.mixed import QUADRATURE, MixedLogit, fit_mixed_logit
from ..numerics.significance import check_adjust, insert_adjusted_p_values
from ..numerics.types import Floats
from ..results import AnalysisStep, Result, analysis
from .data.pairing import JUDGE, LOG_ODDS, MatchedAnswers, check_against, comparable, groups, sides_of
from .data.scoring import Scored, TaskCell
from .intervals import Multiplicity
from .parse_status import WRONG, check_policies, outcome

if TYPE_CHECKING:
    from .data.label_answers import LabelAnswers

ROBUST, MODEL = "robust", "model"
ODDS = {"": "estimate", "_lower": "lower", "_upper": "upper"}  # columns of odds ratios


@dataclass(frozen=True)
class SuccessCounts:
    """Answers to I items by K sides."""

    right: Floats  # shape (I, K)
    asked: Floats  # shape (I, K)
    sides: tuple[str, ...]


@any_frame
def mixed_logit(
    scored: Scored,
    *,
    between: str = JUDGE,
    reference: str | None = None,
    by: Sequence[str] = (),
    missing: str = WRONG,
    adjust: Multiplicity = "holm",
    alpha: float = 0.05,
    errors: str = ROBUST,
    quadrature: int = QUADRATURE,
    group: str = "item_id",
) -> Result:
    """Fit log-odds of a right answer, each item with an intercept of its own, drawn from a normal.

    Answers of all sides to an item share its intercept, whether or not every side answered it, so that
    unbalanced comparisons are of the same items. The integral over intercepts is taken by adaptive
    Gauss-Hermite quadrature (25 nodes, as ``nAGQ = 25`` of R's lme4).

    Parameters
    ----------
    scored : Scored
        Answers and gold labels, from `score`.
    between : str
        What is compared: "judge", "prompt", "condition" and the like, see `differences`.
    reference : str, optional
        Side that others are compared with; by default the first. Where it has no answer, nothing is fitted.
    by : sequence of str
        Columns to fit within.
    missing : {"wrong", "missing", "study"}
        How answers without a label count, as in `scores`.
    adjust : "holm", "bh" or "none"
        Over all p values of the table.
    alpha : float
        One minus the confidence level.
    errors : "robust" or "model"
        Errors from the scores of the items, which hold whatever else the answers to an item share (several
        samples, lines, a judge who fails on a whole item); or the model's own, as in lme4.
    quadrature : int
        Nodes.
    group : str
        Column that has the intercepts: ``item_id``, or ``unit`` for one each line.

    Returns
    -------
    Result
        Kind "mixed": ``judge, prompt, task, [by]`` without what is compared, ``left, right`` (the
        reference), ``metric`` ("log_odds"), ``estimate, std_error, std_error_model, z, p, p_adjusted, lower,
        upper, odds_ratio, odds_ratio_lower, odds_ratio_upper, sd_items, n_answers, n_items``. Sides that
        are always or never right have no finite log-odds: their numbers are missing, and a note states so.
        ``extra["sides"]`` contains the log-odds of each side for an item with intercept zero.

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> items = [f"j{i}" for i in range(30)]
    >>> judged = pd.DataFrame({"judge_id": ["a"] * 30 + ["b"] * 30, "judge_kind": "model",
    ...     "item_id": items * 2, "dimension": "harm",
    ...     "value": ["yes", "yes", "no"] * 10 + ["yes", "no"] * 15})
    >>> gold = pd.DataFrame({"item_id": items, "label_set": "harm", "label": "yes"})
    >>> row = mixed_logit(score(judged, gold)).frame.iloc[0]
    >>> row["left"], row["right"], float(row["odds_ratio"].round(2))
    ('b', 'a', 0.5)
    """
    check_alpha(alpha)
    policy = check_policies(missing)[0]
    if errors not in (ROBUST, MODEL):
        raise InputError(f"errors is '{errors}'; use {ROBUST} or {MODEL}.")
    check_adjust(adjust)
    strata = [name for name in by if name != between]
    require_columns(scored.frame, [group], "scored judgments")
    prepared, left_out = comparable(scored, between, strata)
    check_against(prepared.frame, between, reference)
    notes: list[str] = []
    rows: list[dict[str, Any]] = []
    sides: list[dict[str, Any]] = []
    for keys, cell in groups(prepared, between, strata):
        counted = count(prepared, cell, between, group, policy, reference)
        if reference is not None and reference not in counted.sides:
            why: str = Note.of("no answer of {side}, so comparisons are not possible.", side=reference)
            notes.append(_note(keys, why))
            continue
        if len(counted.sides) < 2:
            why = f"fewer than two of column '{between}', so comparisons are not possible."
            notes.append(_note(keys, why))
            continue
        fitted = fit_counted(counted, quadrature, notes, keys)
        rows += _rows(keys, counted, fitted, alpha, errors)
        sides += _sides(keys, counted, fitted, errors)
    if not rows:
        raise InputError(f"scored judgments: no two values of column '{between}' share a task and prompt.")
    return Result(
        insert_adjusted_p_values(pd.DataFrame(rows), [], adjust),
        "mixed",
        (*scored.notes, *left_out, *dict.fromkeys(notes)),
        {
            "between": between, "reference": reference, "by": strata, "missing": policy, "adjust": adjust,
            "alpha": alpha, "errors": errors, "quadrature": quadrature, "group": group,
        },
        {"sides": pd.DataFrame(sides)},
    )  # fmt: skip


def count(
    scored: Scored, cell: TaskCell, between: str, group: str, missing: str, reference: str | None
) -> SuccessCounts:
    """Count the right answers of every side to every item; the reference comes first."""
    frame = cell.frame
    predicted, mask = outcome(frame, cell.classes, missing, scored.policy)
    right = np.equal(predicted, cell.codes("gold"))[mask]
    sides = sides_of(frame[mask], between)
    if reference in sides:
        sides = [reference, *(side for side in sides if side != reference)]
    side = pd.Index(sides).get_indexer(pd.Index(as_text(frame[between])[mask].astype(object)))
    item = pd.factorize(frame[group][mask])[0]
    return tally(right, item, side, tuple(sides))


def tally(
    right: NDArray[np.bool_], item: NDArray[Any], side: NDArray[Any], sides: tuple[str, ...]
) -> SuccessCounts:
    """Count answers, and right ones, by item and side."""
    shape = (int(item.max(initial=-1)) + 1, len(sides))
    n_answers = np.zeros(shape)
    correct = np.zeros(shape)
    np.add.at(n_answers, (item, side), 1)
    np.add.at(correct, (item, side), right.astype(float))
    return SuccessCounts(correct, n_answers, sides)


def fit_counted(
    counted: SuccessCounts, quadrature: int, notes: list[str], keys: Mapping[str, str]
) -> MixedLogit:
    """Fit the sides that are right sometimes; NaN for the others, with a note that states why."""
    share = counted.right.sum(axis=0) / counted.asked.sum(axis=0)
    mask = (share > 0) & (share < 1)
    if not mask.all():
        never = [side for side, value in zip(counted.sides, mask, strict=True) if not value]
        text = "always or never correct, so log-odds are not finite: {sides}."
        notes.append(_note(keys, Note.of(text, sides=never)))
    if mask.sum() < 2:
        return _expand_to_all_sides(None, mask)
    right, n_answers = counted.right[:, mask], counted.asked[:, mask]
    has_answer = n_answers.sum(axis=1) > 0
    right, n_answers = right[has_answer], n_answers[has_answer]
    if why := _reason_against_fit(right, n_answers):
        notes.append(_note(keys, f"{why}; no model is fitted."))
        return _expand_to_all_sides(None, mask)
    fitted = fit_mixed_logit(right, n_answers, quadrature)
    if not fitted.converged:
        notes.append(_note(keys, "the fit did not converge to finite estimates; they are excluded."))
        return _expand_to_all_sides(None, mask)
    if fitted.sd == 0:
        notes.append(_note(keys, "the variance of items is estimated as zero: plain logistic regression."))
    return _expand_to_all_sides(fitted, mask)


def _reason_against_fit(right: Floats, n_answers: Floats) -> str:
    """Why the variance of items has no finite estimate; empty where it has one."""
    total = right.sum(axis=1)
    if len(right) < 2:
        return "a single item, so no variance of items"
    if ((total == 0) | (total == n_answers.sum(axis=1))).all():
        return "every item is always correct or always wrong, so the variance of items has no finite estimate"
    if _is_nested(right, n_answers):
        return (
            "every item answered correctly under one condition is also correct under all better ones, so "
            "the variance of items has no finite estimate"
        )
    return ""


def _expand_to_all_sides(fitted: MixedLogit | None, mask: NDArray[np.bool_]) -> MixedLogit:
    """The fit of some of K sides as that of all, NaN for the others."""
    k = len(mask)
    log_odds, vcov, robust = np.full(k, np.nan), np.full((k, k), np.nan), np.full((k, k), np.nan)
    if fitted is None:
        return MixedLogit(log_odds, vcov, robust, np.nan, np.nan, converged=False)
    log_odds[mask], block = fitted.log_odds, np.ix_(mask, mask)
    vcov[block], robust[block] = fitted.vcov, fitted.robust
    return replace(fitted, log_odds=log_odds, vcov=vcov, robust=robust)


def _is_nested(right: Floats, n_answers: Floats) -> bool:
    """Whether all sides answered every item, and better sides get all items right that worse ones do."""
    # The likelihood then grows with the variance of items: in the limit an intercept beyond a threshold of
    # the side gives a right answer, which fits the frequencies of all patterns exactly.
    if ((right > 0) & (right < n_answers)).any() or (n_answers == 0).any():
        return False
    ranked = (right > 0)[:, np.argsort(-(right > 0).sum(axis=0), kind="stable")]
    return bool((ranked[:, :-1] >= ranked[:, 1:]).all())


def pair_of(pair: MatchedAnswers, alpha: float, notes: list[str]) -> dict[str, float]:
    """Log-odds of the left minus those of the right of one matched pair, as columns of `differences`."""
    item = pd.factorize(pd.concat([pair.left_frame["item_id"], pair.right_frame["item_id"]]))[0]
    side = np.repeat([0, 1], [len(pair.left_frame), len(pair.right_frame)])
    counted = tally(np.concatenate(pair.right_answers), item, side, (pair.left, pair.right))
    keys = {**pair.keys, "left": pair.left, "right": pair.right}
    numbers = _contrast(fit_counted(counted, QUADRATURE, notes, keys), 0, 1, alpha, ROBUST)
    return {name: numbers[name] for name in ("estimate", "std_error", "lower", "upper", "p")}


def _contrast(fitted: MixedLogit, first: int, second: int, alpha: float, errors: str) -> dict[str, float]:
    estimate = fitted.log_odds[first] - fitted.log_odds[second]
    of_model, robust = (
        np.sqrt(vcov[first, first] + vcov[second, second] - 2 * vcov[first, second])
        for vcov in (fitted.vcov, fitted.robust)
    )
    std_error = robust if errors == ROBUST else of_model
    tested = inference(np.array([estimate]), np.array([std_error]), alpha)
    numbers = {name: float(values[0]) for name, values in vars(tested).items()}
    return {
        "estimate": float(estimate),
        "std_error": float(std_error),
        "std_error_model": float(of_model),
    } | numbers


def _rows(
    keys: Mapping[str, str], counted: SuccessCounts, fitted: MixedLogit, alpha: float, errors: str
) -> Iterator[dict[str, Any]]:
    for k in range(1, len(counted.sides)):
        numbers = _contrast(fitted, k, 0, alpha, errors)
        odds = {f"odds_ratio{end}": np.exp(numbers[name]) for end, name in ODDS.items()}
        sd = fitted.sd if np.isfinite(numbers["estimate"]) else np.nan
        n_answers = counted.asked[:, [0, k]]
        counts = {"n_answers": int(n_answers.sum()), "n_items": int((n_answers.sum(axis=1) > 0).sum())}
        sides = {"left": counted.sides[k], "right": counted.sides[0], "metric": LOG_ODDS}
        yield {**keys, **sides, **numbers, **odds, "sd_items": sd, **counts}


def _sides(
    keys: Mapping[str, str], counted: SuccessCounts, fitted: MixedLogit, errors: str
) -> Iterator[dict[str, Any]]:
    std_error = np.sqrt(np.diag(fitted.robust if errors == ROBUST else fitted.vcov))
    for k, side in enumerate(counted.sides):
        n_answers, right = counted.asked[:, k].sum(), counted.right[:, k].sum()
        yield {
            **keys,
            "side": side,
            "log_odds": float(fitted.log_odds[k]),
            "std_error": float(std_error[k]),
            "share_right": float(right / n_answers),
            "n_answers": int(n_answers),
        }


def _note(keys: Mapping[str, str], text: str) -> Note:
    return note_under(keys if any(keys.values()) else {"group": "all answers"}, text)


@analysis("benchmark", order=50, when=lambda answered: answered.is_scored)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    scored = answered.plain_scores
    if scored.frame["judge"].nunique() > 1:
        yield AnalysisStep(
            "mixed", "Odds of a correct answer", lambda: mixed_logit(scored, alpha=options["alpha"])
        )
