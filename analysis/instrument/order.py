"""What the order of two profiles does to choices, and effects that do not depend on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ..conjoint import amce
from ..conjoint.comparisons.effects_by_group import GroupEffects, errors_of, group_effects
from ..conjoint.reliability.agreeing_repeats import sign_test
from ..frames.cells import is_repeat
from ..frames.notes import note_under
from ..numerics.intervals import CORRELATION, check_alpha
from ..results import Result, tidy
from .decision_rows import mean_of, share_of
from .decisions import (
    PAIR_KIND,
    PAIR_UNIT,
    POSITION,
    REPETITION,
    Decisions,
    by_judge,
    decisions,
    is_choices,
    profile_rows,
)

FIRST, SECOND = "first position", "second position"
AS_SHOWN, AVERAGED, BOTH = "as shown", "average of positions", "both orders"
ALL, VACUUM = "all", "identical profiles"
_CLASSES = ("same_profile", "always_first", "always_second")


@any_frame
def order_effects(
    data: pd.DataFrame,
    formula: str | None = None,
    *,
    facets: Sequence[str] | None = None,
    outcome: str = "chosen",
    features: Sequence[str] | None = None,
    cluster: str | None = None,
    alpha: float = 0.05,
) -> Result:
    """Estimate how far choices follow the order of the two profiles, and effects that order does not change.

    Shares are clustered by pair (of people: by respondent), with Wilson's limits at the effective number of
    decisions. Pairs count as asked in both orders where one judge saw the same two profiles in exchanged
    positions with all facets other than the order the same; each such combination is one comparison.

    Parameters
    ----------
    data : DataFrame
        Choices, one row per profile, with ``judge_id, pair_id, position`` and columns of facets.
    formula : str, optional
        As in `conjoint.amce`; without it no effects are estimated.
    facets : sequence of str, optional
        Columns whose levels get a share of their own; by default the known facets that vary, and
        ``pair_kind``.
    outcome, features
        As in `conjoint.reliability`.
    cluster : str, optional
        Column of clusters instead of the pair or the respondent.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Result
        One row per ``judge, facet, level, quantity`` with ``estimate, std_error, lower, upper, n,
        n_clusters`` and, of ``net_first``, the exact ``p`` of a sign test over clusters. Quantities:

        - ``first_share``: share of decisions for the profile shown first.
        - ``same_profile, always_first, always_second``: of pairs asked in both orders, the shares where the
          same profile, the first and the second position were chosen both times.
        - ``net_first``: ``always_first`` minus ``always_second``, the mean effect of the position.

        ``extra["effects"]``, if there is a formula, has AMCEs by ``version``: "as shown", "first position"
        and "second position" (of the profile in that position), "average of positions" (the mean of these
        two, in which a preference for a position cancels) and "both orders" (from pairs asked in both
        orders alone). Vacuum and same-quality pairs are excluded from them.

    Raises
    ------
    InputError
        Where the data are no choices, or contain no answer.

    References
    ----------
    Wang, P., Li, L., Chen, L., et al. (2024). Large language models are not fair evaluators. ACL 2024.
    doi:10.18653/v1/2024.acl-long.511

    Examples
    --------
    >>> rows = {"judge_id": "m", "judge_kind": "model", "pair_id": [1, 1, 1, 1, 2, 2, 2, 2],
    ...         "option_order": ["given"] * 2 + ["swapped"] * 2 + ["given"] * 2 + ["swapped"] * 2,
    ...         "position": list("ABABABAB"), "profile_id": [1, 2, 2, 1, 3, 4, 4, 3],
    ...         "chosen": [1, 0, 1, 0, 1, 0, 0, 1]}
    >>> found = order_effects(pd.DataFrame(rows)).frame
    >>> found[found["facet"] == "all"][["quantity", "estimate"]].values.tolist()[:3]
    [['first_share', 0.75], ['same_profile', 0.5], ['always_first', 0.5]]
    """
    check_alpha(alpha)
    if not is_choices(data):
        raise InputError(
            "Order effects need choices between two profiles, with the columns position and pair_id; the "
            "data lack one of them."
        )
    data = data.reset_index(drop=True)
    answers = decisions(data, outcome, facets, cluster=cluster, features=features)
    levels = _levels(data, answers, facets is None)
    if answers.frame["first"].isna().all():
        raise InputError(
            f"No choice has an answer in column {outcome!r}; check that column and the statuses."
        )
    rows, effects, notes = [], [], list[str]()
    for judge, judge_rows in by_judge(answers):
        rows_with_levels = judge_rows.merge(
            levels, left_on="row_a", right_index=True, how="left", suffixes=("_", "")
        )
        rows += list(_share_rows(judge, rows_with_levels, [str(name) for name in levels], alpha))
        pairs = pairs_in_both_orders(judge_rows, answers.facets)
        rows += list(_swap_rows(judge, pairs, alpha))
        if formula is None:
            continue
        try:
            effects.append(_effects(data, judge_rows, pairs, formula, alpha).assign(judge=judge))
        except InputError as error:
            notes.append(note_under({"judge": judge}, f"effects by order were not estimated. {error}"))
    settings = {"alpha": alpha, "outcome": outcome, "formula": formula, "cluster": cluster}
    extra = {"effects": _judge_first(pd.concat(effects, ignore_index=True))} if effects else {}
    return Result(pd.DataFrame(rows), "order_effects", tuple(notes), settings, extra)


def pairs_in_both_orders(rows: pd.DataFrame, facets: Sequence[str]) -> pd.DataFrame:
    """Comparisons of one pair asked in both orders: object, cluster, both answers, and what they follow."""
    within = [name for name in facets if not _is_order(rows, name)]
    usable = rows[~rows["vacuum"].to_numpy(dtype=bool) & rows["first"].notna()]
    keys = ["object", *within]
    sides = [
        usable[usable["reference_first"] == side].drop_duplicates(keys)[[*keys, *_KEPT]]
        for side in (True, False)
    ]
    pairs = sides[0].merge(sides[1].drop(columns=["cluster", "designed"]), on=keys, suffixes=("", "_again"))
    first, second = (pairs[name].to_numpy(dtype=float) for name in ("first", "first_again"))
    kind = np.select([first != second, first == 1], _CLASSES[:2], _CLASSES[2])
    return pairs.assign(follows=kind)


_KEPT = ["cluster", "designed", "first", "row_a", "row_b"]


def _is_order(rows: pd.DataFrame, facet: str) -> bool:
    """Whether a facet is the order itself: within its levels no pair is shown in both orders."""
    usable = rows[~rows["vacuum"].to_numpy(dtype=bool)]
    swapped = usable.groupby("object")["reference_first"].nunique()
    if (swapped < 2).all():
        return False
    swapped_rows = usable[usable["object"].isin(swapped.index[swapped > 1])]
    return bool((swapped_rows.groupby(["object", facet])["reference_first"].nunique() < 2).all())


def _levels(data: pd.DataFrame, answers: Decisions, is_default: bool) -> pd.DataFrame:
    """Levels of facets of every row of the data, as strings; the kind of pair is one of them by default."""
    names = [name for name in answers.facets if not is_default or name != REPETITION]
    levels = data[[name for name in names if name != POSITION]].astype("string").fillna("")
    if not is_default:
        return levels
    if PAIR_KIND in data and data[PAIR_KIND].nunique(dropna=False) > 1:
        return levels.assign(pair_kind=data[PAIR_KIND].astype("string").fillna("other"))
    vacuum = answers.frame["vacuum"].to_numpy(dtype=bool)
    if vacuum.any() and not vacuum.all():
        kind = pd.Series("different profiles", index=data.index, dtype="string")
        kind.iloc[answers.frame["row_a"].to_numpy()[vacuum]] = VACUUM
        levels = levels.assign(pair_kind=kind)
    return levels


def _share_rows(
    judge: str, rows: pd.DataFrame, facets: Sequence[str], alpha: float
) -> Iterator[dict[str, Any]]:
    """Share of decisions for the first position: of all, and at each level of each facet."""
    share = {"quantity": "first_share"}
    overall_share = share_of(rows["first"], rows["cluster"], alpha)
    yield {"judge": judge, "facet": ALL, "level": ""} | share | overall_share
    for facet in facets:
        for level, level_rows in rows.groupby(facet, sort=False):
            named = {"judge": judge, "facet": facet, "level": str(level)}
            yield named | share | share_of(level_rows["first"], level_rows["cluster"], alpha)


def _swap_rows(judge: str, pairs: pd.DataFrame, alpha: float) -> Iterator[dict[str, Any]]:
    """Shares of pairs asked in both orders by what answers follow, and the mean effect of the position."""
    if pairs.empty:
        return
    named = {"judge": judge, "facet": ALL, "level": ""}
    for name in _CLASSES:
        hits = (pairs["follows"] == name).astype(float)
        yield named | {"quantity": name} | share_of(hits, pairs["cluster"], alpha)
    lean = (pairs["first"] + pairs["first_again"] - 1).to_numpy(dtype=float)
    p = sign_test(np.bincount(pd.factorize(pairs["cluster"])[0], lean))
    numbers = mean_of(lean, pairs["cluster"], alpha, CORRELATION)
    yield named | {"quantity": "net_first"} | numbers | {"p": p}


def _effects(
    data: pd.DataFrame, judge_rows: pd.DataFrame, pairs: pd.DataFrame, formula: str, alpha: float
) -> pd.DataFrame:
    """AMCEs as shown, by position, averaged over positions, and from pairs asked in both orders."""
    usable = judge_rows[judge_rows["designed"].to_numpy(dtype=bool)]
    pairs = pairs[pairs["designed"].to_numpy(dtype=bool)]
    rows = profile_rows(data, usable)
    first = rows[~is_repeat(rows)]
    fitted, vcov = errors_of(amce(first, formula, id=PAIR_UNIT, alpha=alpha))
    keys = fitted[["feature", "level"]].astype(str)
    parts = [_version(AS_SHOWN, keys, fitted["estimate"].to_numpy(), vcov, first, alpha)]
    positioned = rows.assign(position=rows["position"].astype("category")).drop(
        columns="repeat", errors="ignore"
    )
    by_position = group_effects(positioned, formula, "position", [PAIR_UNIT])
    weights = {FIRST: [1.0, 0.0], SECOND: [0.0, 1.0], AVERAGED: [0.5, 0.5]}
    parts += [
        _combined(name, by_position, np.array(weight), positioned, alpha) for name, weight in weights.items()
    ]
    if len(pairs):
        swapped = pd.concat(
            [
                profile_rows(data, pairs),
                profile_rows(data, pairs.assign(row_a=pairs["row_a_again"], row_b=pairs["row_b_again"])),
            ]
        ).drop(columns="repeat", errors="ignore")
        fitted, vcov = errors_of(amce(swapped, formula, id=PAIR_UNIT, alpha=alpha))
        keys = fitted[["feature", "level"]].astype(str)
        parts.append(_version(BOTH, keys, fitted["estimate"].to_numpy(), vcov, swapped, alpha))
    return pd.concat(parts, ignore_index=True)


def _combined(
    version: str, effects: GroupEffects, weights: np.ndarray, rows: pd.DataFrame, alpha: float
) -> pd.DataFrame:
    estimate, vcov = effects.contrast(weights)
    return _version(version, effects.keys, estimate, vcov, rows, alpha)


def _version(
    version: str, keys: pd.DataFrame, estimate: np.ndarray, vcov: np.ndarray, rows: pd.DataFrame, alpha: float
) -> pd.DataFrame:
    std_error = np.sqrt(np.clip(np.diag(vcov), 0, None))
    named = keys.reset_index(drop=True).assign(version=version)
    counts = {"n": len(rows) // 2, "n_clusters": rows[PAIR_UNIT].nunique()}
    return tidy(named, estimate, std_error, alpha).assign(**counts)


def _judge_first(table: pd.DataFrame) -> pd.DataFrame:
    return table[["judge", *(name for name in table if name != "judge")]]
