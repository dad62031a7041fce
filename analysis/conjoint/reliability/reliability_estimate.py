"""Intra-respondent reliability: how often a judge names the same profile when a pair comes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...frames.cells import with_used_rows
from ...frames.passport import Situation, coverage_notes
from ...frames.variables import require_column
from ...numerics.bootstrap import resampled_sums
from ...numerics.intervals import check_alpha, check_draws
from ...numerics.rating_panel import effective_clusters
from ...results import Result
from .agreeing_repeats import EITHER, agreement_rows, position_row, unit_sums
from .repeats import AMBIGUOUS, IDENTICAL, Repeats, find_repeats, unmatched_notes

MISSING = "(missing)"
_KEYS = ("judge", "prompt", "sides")


@dataclass(frozen=True, repr=False)
class Reliability(Result):
    """Agreement of repeated answers, and how much of the disagreement follows the sides.

    Parameters
    ----------
    frame : DataFrame
        One row per judge, prompt, group of ``by`` and ``sides`` ("swapped", "same", or "either", both
        combined, where there are both): ``n_repeats`` (repeated tasks that show the two different profiles
        of an earlier task), ``n_compared`` (answered twice), ``n_unanswered`` (an answer is missing),
        ``n_units`` (respondents, for a model pairs), ``agreement`` with ``std_error``
        (clustered by unit), ``lower, upper`` (percentile bootstrap over units; Wilson's where no draw
        differs) and ``wilson_lower, wilson_upper``; ``tau, tau_std_error, tau_lower, tau_upper`` (the limits
        are those of the bootstrap); ``correctable``, whether ``correct=`` accepts the repeats, and
        ``verdict`` in words: one for all rows of a judge, prompt and group, from all of its repeats.
    kind, notes, settings, extra
        As in `conjury.analysis.results.Result`; ``extra`` contains ``position`` and ``pairs``.
    real_judges
        As in `conjury.analysis.results.Result`.

    Attributes
    ----------
    position : DataFrame
        One row per judge, prompt and group: ``n_swapped``, shares ``same_profile, always_a,
        always_b`` of swapped repeats; ``net_bias`` (always A minus always B) with ``net_lower,
        net_upper`` and the exact ``net_p``; ``noise`` (disagreement with the sides as before) and
        ``squared_bias`` with ``squared_lower, squared_upper``, both missing without such repeats;
        ``share_a`` of all first answers with ``share_a_lower, share_a_upper`` and ``n_first``;
        ``n_unmatched`` (repeated tasks that are not among ``n_repeats``), of these ``n_identical`` (two
        identical profiles) and ``n_ambiguous`` (profiles of several earlier tasks in different positions).
    pairs : DataFrame
        One row per repeat, as in `repeats.Repeats`.

    Examples
    --------
    >>> from conjury.analysis.conjoint import reliability
    >>> first = pd.DataFrame({"judge_id": ["r1", "r1", "r2", "r2"], "pair_id": [1, 1, 2, 2],
    ...     "position": list("ABAB"), "profile_id": [5, 6, 7, 8], "chosen": [1, 0, 0, 1], "repeat": False})
    >>> again = first.assign(pair_id=[3, 3, 4, 4], position=list("BABA"), chosen=[1, 0, 1, 0], repeat=True)
    >>> found = reliability(pd.concat([first, again], ignore_index=True), seed=1)
    >>> found.position[["n_swapped", "same_profile", "always_a"]].values.tolist()
    [[2.0, 0.5, 0.0]]
    """

    @property
    def position(self) -> pd.DataFrame:
        """What the answers to repeated pairs follow."""
        return self.extra["position"]

    @property
    def pairs(self) -> pd.DataFrame:
        """One row per repeat."""
        return self.extra["pairs"]

    def __repr__(self) -> str:
        return f"Reliability\n{self.frame.to_string()}\n\nPosition\n{self.position.to_string()}"


@any_frame
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
    - where there are at least 30 compared repeats of both kinds, ``sides`` "either" is their plain
      mean: the agreement of two answers whose sides are drawn anew each time. Its tau is the one that
      shrinks effects in a design with random sides. Fewer of one kind do not carry half of an
      estimate; "either" is then the share of all repeats, in which every one counts the same.

    The swapping error ``tau`` is the probability that an answer departs from a stable pick, if it
    is the same for all pairs: agreement is ``(1 - tau)^2 + tau^2``.

    Parameters
    ----------
    choices : DataFrame
        One row per profile, in the columns of the contract; repeats are marked in ``repeat``, linked to
        the earlier pair as in `repeats.find_repeats`, and numbered in ``sample``.
    by : str or sequence of str, optional
        Columns of groups. A pair counts for a level of an attribute if either profile shows it.
    draws : int
        Draws of the bootstrap over respondents (for models: over repeated pairs).
    seed : int, optional
        Seed of the bootstrap.
    alpha : float
        One minus the confidence level.
    outcome : str
        Column with 1 for the chosen profile.
    features : sequence of str, optional
        Attributes that make a profile where ``profile_id`` is missing; by default every
        categorical column beyond the contract.

    Returns
    -------
    Reliability
        One row per judge, prompt, group and kind of repeat, with what the position explains.

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
    check_draws(draws, seed, 2, "give at least 2, and 10,000 for limits to two digits")
    check_alpha(alpha)
    grouping = names_of(by)
    for name in grouping:
        require_column(choices, name)
        if name in _KEYS:
            raise InputError(f"by names {name!r}, which is a column of the result; rename it in the data.")
    choices = with_used_rows(choices, grouping)
    repeats = find_repeats(choices, outcome=outcome, features=features)
    rng = np.random.default_rng(seed)
    keys = ["judge", "prompt", *grouping]
    pairs, first, unmatched = (
        _expand_groups(table, choices, grouping)
        for table in (repeats.pairs, _first_presentations(repeats), repeats.unmatched)
    )
    agreed, sided, covered = [], [], list[str]()
    for group, group_pairs in pairs.groupby(keys, sort=False):
        named = dict(zip(keys, group, strict=True))
        sums = unit_sums(group_pairs)
        sum_draws = resampled_sums(sums, draws, rng)
        rows = agreement_rows(group_pairs, sums, sum_draws, alpha)
        agreed += [named | row for row in rows]
        covered += _coverage(group_pairs, rows, alpha)
        lone = _rows_of_group(unmatched, named)
        first_rows = _rows_of_group(first, named)
        counts = {f"n_{reason}": int((lone["reason"] == reason).sum()) for reason in (IDENTICAL, AMBIGUOUS)}
        position = position_row(group_pairs, sums, sum_draws, first_rows, alpha)
        sided.append(named | position | {"n_unmatched": len(lone)} | counts)
    settings = {
        "outcome": outcome,
        "by": grouping,
        "alpha": alpha,
        "n_rows": len(choices),
        "n_used": int(repeats.pairs["same"].notna().sum()),
        "n_clusters": int(repeats.pairs["unit"].nunique()),
        "draws": draws,
        "seed": seed,
    }
    tables = {"position": pd.DataFrame(sided), "pairs": repeats.pairs}
    notes = (*unmatched_notes(repeats.unmatched), *dict.fromkeys(covered))
    return Reliability(pd.DataFrame(agreed), "reliability", notes, settings, tables)


def _coverage(pairs: pd.DataFrame, rows: Sequence[Mapping[str, Any]], alpha: float) -> list[str]:
    """State whether intervals of tau were measured to cover too rarely with repeats like these."""
    quantities = []
    for row in rows:
        if np.isfinite(row["tau"]):
            subset = pairs[
                pairs["same"].notna() & ((pairs["sides"] == row["sides"]) | (row["sides"] == EITHER))
            ]
            effective = effective_clusters(pd.factorize(subset["unit"])[0])
            error = max(row["tau"], 0.5 / len(subset))  # one that was not seen counts as half a repeat
            quantities.append(("tau", "tau", Situation(len(subset), error, effective)))
    return coverage_notes("reliability", quantities, alpha)


def _first_presentations(repeats: Repeats) -> pd.DataFrame:
    table = repeats.presentations
    return table[~table["repeat"]].sort_values("sample", kind="stable").drop_duplicates(
        ["judge_id", "prompt_id", "pair_id"]
    )  # fmt: skip


def _expand_groups(table: pd.DataFrame, choices: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Repeat each row of a table of presentations for every group that one of its profiles lies in."""
    if not by:
        return table
    sides = []
    for side in ("row_a", "row_b"):
        profiles = choices.iloc[table[side].to_numpy()]
        named = {name: profiles[name].astype("string").fillna(MISSING).to_numpy() for name in by}
        sides.append(table.assign(_number=np.arange(len(table)), **named))
    rows = pd.concat(sides, ignore_index=True).drop_duplicates(["_number", *by])
    return rows.sort_values("_number", kind="stable").drop(columns="_number")


def _rows_of_group(table: pd.DataFrame, named: dict[str, Any]) -> pd.DataFrame:
    inside = np.logical_and.reduce([(table[name] == value).to_numpy(bool) for name, value in named.items()])
    subset: pd.DataFrame = table[inside]
    return subset
