"""Intra-respondent reliability: how often a judge names the same profile when a pair comes again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..results import Provenance, check_alpha
from ..variables import require_column
from .agreement import (
    Share,
    clustered_share,
    mean_share,
    resampled_sums,
    sign_test,
    swapping,
    swapping_error,
)
from .repeats import SAME, SWAPPED, Repeats, find_repeats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EITHER = "either"
MISSING = "(missing)"
_KEYS = ("judge", "prompt", "sides")
_SUMS = ("n_swapped", "same_swapped", "always_a", "always_b", "n_same", "same_same")


@dataclass(frozen=True)
class Reliability:
    """Agreement of repeated answers, and how much of the disagreement follows the sides.

    Attributes
    ----------
    frame : DataFrame
        One row per judge, prompt, group of ``by`` and ``sides`` ("swapped", "same", or "either":
        their plain mean, where there are both): ``n_repeats``, ``n_compared`` (answered twice),
        ``n_unanswered`` (an answer is missing), ``n_units`` (respondents, for a model pairs),
        ``agreement`` with ``std_error`` (clustered by unit), ``lower, upper`` (percentile bootstrap
        over units) and ``wilson_lower, wilson_upper``; ``tau, tau_std_error, tau_lower, tau_upper``
        (the limits are those of the bootstrap); ``verdict`` in words.
    position : DataFrame
        One row per judge, prompt and group: ``n_swapped``, shares ``same_profile, always_a,
        always_b`` of swapped repeats; ``net_bias`` (always A minus always B) with ``net_lower,
        net_upper`` and the exact ``net_p``; ``noise`` (disagreement with the sides as before) and
        ``squared_bias`` with ``squared_lower, squared_upper``, both missing without such repeats;
        ``share_a`` of all first answers with ``share_a_lower, share_a_upper`` and ``n_first``;
        ``n_unmatched`` (repeats that show no earlier pair).
    pairs : DataFrame
        One row a repeat, as in `repeats.Repeats`.
    provenance : Provenance
    """

    frame: pd.DataFrame
    position: pd.DataFrame
    pairs: pd.DataFrame
    provenance: Provenance

    def plot(self, **options: Any) -> Figure:
        """Draw agreement and its decomposition; options as in ``figures.reliability.reliability_plot``."""
        from ..figures.reliability import reliability_plot

        return reliability_plot(self.frame, self.position, **options)

    def __repr__(self) -> str:
        return f"Reliability\n{self.frame.to_string()}\n\nPosition\n{self.position.to_string()}"


def reliability(
    choices: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    draws: int = 10_000,
    seed: int | None = None,
    alpha: float = 0.05,
    outcome: str = "chosen",
    features: Sequence[str] | None = None,
) -> Reliability:
    """Estimate intra-respondent reliability from repeated tasks, of people and of models.

    Agreement is the share of repeats at which the same profile is named again, among those that
    are answered twice; the others are counted. People are pooled over their panel.

    Position and noise. Let a judge name the first profile of pair i with probability p_i when it
    stands in A and q_i when it stands in B, answers being independent given the pair. Then the
    position moves the answer by b_i = p_i - q_i, and

    - *always A* minus *always B* at swapped repeats estimates the mean of b_i, the net bias. Its
      test is exact: without any bias both are equally likely. Swapped repeats alone cannot tell
      noise from biases that cancel out.
    - repeats with the same sides disagree by noise alone, and what they agree more than swapped
      ones estimates the mean of b_i squared: disagreement when swapped = noise + squared bias.
    - where there are both kinds, ``sides`` "either" is the agreement of two answers whose sides
      are drawn anew each time. Its tau is the one that shrinks effects in a design with random sides.

    The swapping error ``tau`` is the probability that an answer departs from a stable pick, if it
    is the same for all pairs: agreement is ``(1 - tau)^2 + tau^2``.

    Parameters
    ----------
    choices : DataFrame
        One row a profile, in the columns of the contract; repeats are marked in ``repeat`` and
        numbered in ``sample``.
    by : str or sequence of str, optional
        Columns of groups. A pair counts for a level of an attribute if either profile shows it.
    draws : int
        Draws of the bootstrap over respondents (for models: over repeated pairs).
    seed : int, optional
    alpha : float
    outcome : str
        Column with 1 for the chosen profile.
    features : sequence of str, optional
        Attributes that make a profile where ``profile_id`` is missing; by default every
        categorical column beyond the contract.

    Returns
    -------
    Reliability

    Raises
    ------
    InputError
        Without repeats, and for missing columns.

    References
    ----------
    Clayton, K., Horiuchi, Y., Kaufman, A. R., King, G., Komisarchik, M. (2025). Correcting
    measurement error bias in conjoint survey experiments. American Journal of Political Science.
    https://gking.harvard.edu/conjointE

    Examples
    --------
    >>> first = pd.DataFrame({"judge_id": ["r1", "r1", "r2", "r2"], "pair_id": [1, 1, 2, 2],
    ...     "position": list("ABAB"), "profile_id": [5, 6, 7, 8], "chosen": [1, 0, 0, 1], "repeat": False})
    >>> again = first.assign(pair_id=[3, 3, 4, 4], position=list("BABA"), chosen=[1, 0, 1, 0], repeat=True)
    >>> found = reliability(pd.concat([first, again], ignore_index=True), seed=1)
    >>> found.frame[["judge", "sides", "n_compared", "agreement"]].values.tolist()
    [['human', 'swapped', 2, 0.5]]
    """
    if not isinstance(draws, int | np.integer) or draws < 2:
        raise InputError(f"draws is {draws!r}; give at least 2, and 10,000 for limits to two digits.")
    check_alpha(alpha)
    grouping = [by] if isinstance(by, str) else list(by or [])
    for name in grouping:
        require_column(choices, name)
        if name in _KEYS:
            raise InputError(f"by names {name!r}, which is a column of the result; rename it in the data.")
    found = find_repeats(choices, outcome=outcome, features=features)
    rng = np.random.default_rng(seed)
    keys = ["judge", "prompt", *grouping]
    pairs, first, unmatched = (
        _in_groups(table, choices, grouping)
        for table in (found.pairs, _first_presentations(found), found.unmatched)
    )
    agreed, sided = [], []
    for group, own in pairs.groupby(keys, sort=False):
        named = dict(zip(keys, group, strict=True))
        sums = _unit_sums(own)
        drawn = resampled_sums(sums, draws, rng)
        agreed += [named | row for row in _agreement_rows(own, sums, drawn, alpha)]
        lone = _same_group(unmatched, named)
        asked = _same_group(first, named)
        sided.append(named | _position_row(own, sums, drawn, asked, alpha) | {"n_unmatched": len(lone)})
    made = Provenance(
        verb="reliability",
        formula=outcome,
        by=tuple(grouping),
        alpha=alpha,
        n_rows=len(choices),
        n_used=int(found.pairs["same"].notna().sum()),
        n_clusters=int(found.pairs["unit"].nunique()),
        interval="percentile",
        extra={"draws": draws, "seed": seed},
    )
    return Reliability(pd.DataFrame(agreed), pd.DataFrame(sided), found.pairs, made)


def _first_presentations(found: Repeats) -> pd.DataFrame:
    shown = found.presentations
    return shown[~shown["repeat"]].sort_values("sample", kind="stable").drop_duplicates(
        ["judge_id", "prompt_id", "pair_id"]
    )  # fmt: skip


def _in_groups(table: pd.DataFrame, choices: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Repeat each row of a table of presentations for every group that one of its profiles lies in."""
    if not by:
        return table
    sides = []
    for side in ("row_a", "row_b"):
        shown = choices.iloc[table[side].to_numpy()]
        named = {name: shown[name].astype("string").fillna(MISSING).to_numpy() for name in by}
        sides.append(table.assign(_number=np.arange(len(table)), **named))
    both = pd.concat(sides, ignore_index=True).drop_duplicates(["_number", *by])
    return both.sort_values("_number", kind="stable").drop(columns="_number")


def _same_group(table: pd.DataFrame, named: dict[str, Any]) -> pd.DataFrame:
    inside = np.logical_and.reduce([(table[name] == value).to_numpy(bool) for name, value in named.items()])
    kept: pd.DataFrame = table[inside]
    return kept


def _unit_sums(pairs: pd.DataFrame) -> np.ndarray:
    """Counts of each unit in the order of ``_SUMS``, shape (U, 6); repeats without two answers count 0."""
    known = pairs["same"].notna().to_numpy()
    swapped = known & (pairs["sides"] == SWAPPED).to_numpy()
    same, first, again = (pairs[name].fillna(0).to_numpy() for name in ("same", "first", "again"))
    columns = [
        swapped,
        swapped * same,
        swapped * first * again,
        swapped * (1 - first) * (1 - again),
        known & ~swapped,
        (known & ~swapped) * same,
    ]
    _, unit = np.unique(pairs["unit"], return_inverse=True)
    return np.stack([np.bincount(unit, column) for column in columns], axis=1)


def _agreement_rows(
    pairs: pd.DataFrame, sums: np.ndarray, drawn: np.ndarray, alpha: float
) -> list[dict[str, Any]]:
    rows = []
    shares: list[Share] = []
    for sides, hits, trials in ((SWAPPED, 1, 0), (SAME, 5, 4)):
        own = pairs[pairs["sides"] == sides]
        if len(own):
            shares.append(clustered_share(sums[:, hits], sums[:, trials], alpha))
            rows.append(_agreement_row(sides, own, shares[-1], _ratio(drawn, hits, trials), alpha))
    if len(rows) == 2 and not np.isnan([share.estimate for share in shares]).any():
        influence = sum(
            (sums[:, hits] - share.estimate * sums[:, trials]) / (2 * sums[:, trials].sum())
            for share, hits, trials in zip(shares, (1, 5), (0, 4), strict=True)
        )
        mean = (_ratio(drawn, 1, 0) + _ratio(drawn, 5, 4)) / 2
        share = mean_share(shares, np.asarray(influence), alpha)
        rows.append(_agreement_row(EITHER, pairs, share, mean, alpha))
    return rows


def _agreement_row(
    sides: str, pairs: pd.DataFrame, share: Share, drawn: np.ndarray, alpha: float
) -> dict[str, Any]:
    lower, upper = _limits(drawn, alpha)
    known = pairs["same"].notna()
    error = swapping(
        pairs["same"].to_numpy(), (pairs["sides"] == SWAPPED).to_numpy(), pairs["unit"].to_numpy()
    )
    bounds = swapping_error(np.maximum([upper, lower], 0.5)) if np.isfinite(error.tau) else [np.nan] * 2
    return {
        "sides": sides,
        "n_repeats": len(pairs),
        "n_compared": int(known.sum()),
        "n_unanswered": int((~known).sum()),
        "n_units": int(pairs.loc[known, "unit"].nunique()),
        "agreement": share.estimate,
        "std_error": share.std_error,
        "lower": lower,
        "upper": upper,
        "wilson_lower": share.lower,
        "wilson_upper": share.upper,
        "tau": error.tau,
        "tau_std_error": error.std_error,
        "tau_lower": float(bounds[0]),
        "tau_upper": float(bounds[1]),
        "verdict": verdict(share, len(pairs)),
    }


def verdict(share: Share, n_repeats: int) -> str:
    """Say in words what an agreement allows to conclude.

    Examples
    --------
    >>> verdict(Share(0.9, 0.01, 0.88, 0.92), 500)
    'Above chance: answers carry a stable preference, and effects can be corrected.'
    """
    if np.isnan(share.estimate):
        return f"None of the {n_repeats} repeats is answered twice; reliability is unknown."
    if share.upper < 0.5:
        return (
            "Below chance: answers follow something that changed between the two showings, such as the "
            "sides, rather than noise; there is no swapping error to correct for."
        )
    if share.estimate <= 0.5:
        return "No better than chance: the answers show no stable preference that could be recovered."
    if share.lower <= 0.5:
        return "Not clearly above chance: collect more repeats before correcting effects."
    if share.estimate == 1:
        return "Perfect agreement: no sign of noise, and nothing to correct."
    return "Above chance: answers carry a stable preference, and effects can be corrected."


def _position_row(
    pairs: pd.DataFrame, sums: np.ndarray, drawn: np.ndarray, first: pd.DataFrame, alpha: float
) -> dict[str, Any]:
    row: dict[str, Any] = {"n_swapped": int(sums[:, 0].sum())}
    for name, column in (("same_profile", 1), ("always_a", 2), ("always_b", 3)):
        row[name] = _of(sums, lambda table, at=column: _ratio(table, at, 0))
    row["net_bias"] = _of(sums, _net)
    row["net_lower"], row["net_upper"] = _limits(_net(drawn), alpha)
    row["net_p"] = sign_test(sums[:, 2] - sums[:, 3])
    row["noise"] = _of(sums, lambda table: 1 - _ratio(table, 5, 4))
    row["squared_bias"] = _of(sums, _squared)
    row["squared_lower"], row["squared_upper"] = _limits(_squared(drawn), alpha)
    answered = first[first["answer"].notna()]
    _, unit = np.unique(answered["unit"], return_inverse=True)
    hits, trials = np.bincount(unit, answered["answer"].to_numpy()), np.bincount(unit)
    share = clustered_share(hits, trials, alpha)
    return row | {
        "share_a": share.estimate,
        "share_a_lower": share.lower,
        "share_a_upper": share.upper,
        "n_first": len(answered),
    }


def _ratio(table: np.ndarray, hits: int, trials: int) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(table[:, hits] / table[:, trials])


def _net(table: np.ndarray) -> np.ndarray:
    return _ratio(table, 2, 0) - _ratio(table, 3, 0)


def _squared(table: np.ndarray) -> np.ndarray:
    return _ratio(table, 5, 4) - _ratio(table, 1, 0)


def _of(sums: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> float:
    return float(statistic(sums.sum(axis=0, keepdims=True))[0])


def _limits(drawn: np.ndarray, alpha: float) -> tuple[float, float]:
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return np.nan, np.nan
    lower, upper = np.quantile(known, [alpha / 2, 1 - alpha / 2])
    return float(lower), float(upper)
