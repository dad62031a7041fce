"""Which system wins, by a judge's verdicts on pairs of answers and by some verdicts of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from conjury.inference.errors import InputError, counted, quoted
from conjury.inference.tables.frames import answer_wrong_calls
from conjury.inference.tables.reading import read
from conjury.inference.tables.reading.reading_rules import RuleArguments, rules_of

from ...correction.item_corrections import InfluenceEstimates, clustered_numbers
from ...numerics.bootstrap import unequal_clusters
from ...numerics.intervals import check_alpha
from ...numerics.intervals.bounded import BoundedEstimate, n_clusters, share
from ...raters.validation.coding import names_of
from ...raters.validation.judging import Validation
from ...raters.validation.validation_rows import RANKS, SYSTEM_PAIRS, WINS, TestRows
from .pair_biases import add_lengths, add_positions
from .pair_columns import PairColumns, find_columns
from .pair_sentences import verdict_of_pairs
from .pair_subgroups import SubgroupRates, add_subgroups
from .paired_models import HALVES, TIES
from .people_verdicts import usable_verdicts
from .system_ranking import SystemRanking, rank_systems
from .verdict_reading import HALF, PairedVerdicts, kinds_of_verdict, read_verdicts
from .win_rates import bounded_numbers, of_two, p_of_half, rate_at_peoples_length, rates_of_two

TWO = 2
FEWER_PROMPTS = 0.9  # of the usual number of prompts of a system, below which a note says so
MOST_OF_PAIRS = 10  # systems of which each pair has its win rate


@answer_wrong_calls
def compare_pairs(
    table: Any,
    judge: str | Sequence[str] = (),
    human: str | Sequence[str] = (),
    *,
    systems_in: tuple[str, str] | None = None,
    systems: str | Sequence[str] = (),
    lengths: tuple[str, str] | None = None,
    swapped: str | None = None,
    verdicts: str | None = None,
    by: str | Sequence[str] = (),
    judge_names: str | None = None,
    people: str | Sequence[str] = (),
    labels: Any = None,
    labelled: Mapping[str, str] | None = None,
    ties: str = HALVES,
    rank: bool | None = None,
    alpha: float = 0.05,
    seed: int = 1,
    source: str = "table",
    **rules: Unpack[RuleArguments],
) -> Validation:
    """Estimate which system wins in pairs that a judge compared, corrected by people's verdicts on some.

    Parameters
    ----------
    table : path, DataFrame or TableReading
        One row per pair, or per pair and order.
    judge : str or sequence of str
        Column of the judge's verdict, or the two with the answer of column a shown first and second; by
        default columns such as ``winner``, or ``ab`` and ``ba``. A verdict is the name of a system, "a", "b",
        "model_a", "first" and so on, or a tie.
    human : str or sequence of str
        Columns of people's verdicts; by default one called ``human`` and the like.
    systems_in : (str, str), optional
        Columns with the names of the systems; by default ``model_a, model_b`` and the like. The first is
        shown first. Without any, there are two systems, "a" and "b".
    systems : str or sequence of str
        The systems that are compared; of two, the win rate is that of the first.
    lengths : (str, str), optional
        Columns of the lengths of both answers, or of their texts.
    swapped : str, optional
        Column that says whether the answer of the second system was shown first: truth values, AB and BA,
        names; or ``COLUMN=VALUE``, the value where it was. By default ``swapped``, ``order`` and the like.
    verdicts : {"answers", "positions"}, optional
        What "a" and "b" are: the answers of the columns, or those shown first and second.
    by : str or sequence of str
        Columns of subgroups, such as a category of prompts, in each of which the win rate of two systems is
        estimated and compared with that of all others.
    judge_names : str, optional
        Column that names who gave the verdict of a row; without ``people`` all count together.
    people : str or sequence of str
        Values of ``judge_names`` that are people.
    labels : path, DataFrame or TableReading, optional
        A second table, of people's verdicts; pairs are matched by ``id`` and both systems.
    labelled : mapping of str to str, optional
        How people's verdicts came about, as in `conjury.judge`, or columns beside them (``label_by``,
        ``label_sampled`` and so on). Those of a model, seen by the judge, or of pairs that people chose are
        not used; where pairs were drawn by the judge's verdict, they are weighted by it.
    ties : {"half", "out", "modelled"}
        Whether a tie is half a win, excluded, or a third outcome of Davidson's model.
    rank : bool, optional
        Whether systems are ranked; by default where there are more than two.
    alpha : float
        One minus the confidence level.
    seed : int
        Of the folds of the correction.
    source : str
        What errors call a DataFrame.
    **rules
        How the table is read, as in `conjury.judge`. ``id`` is the column of prompts, by which everything is
        clustered.

    Returns
    -------
    Validation
        Kind "pair_comparison". ``frame`` has the columns of `conjury.judge`. ``win_rate`` is corrected by
        people where there are enough, else that of the judge, whose own is ``judge_win_rate``; ``first_share,
        order_flips, net_first`` are about positions, ``length_beyond_people`` is about length. A ranking has
        ``strength, win_rate`` (against the mean of the other systems) and ``rank`` by system, and
        ``strength_difference`` by pair of systems, of up to ten systems also ``win_rate[A against B]``, as of
        these two alone. With ``by`` there are ``win_rate`` and ``win_rate_difference`` by subgroup.

    Raises
    ------
    InputError
        For columns and verdicts that cannot be read, and for systems that have no common ranking: that no
        comparisons connect, or that never lose or never win.

    Notes
    -----
    The win rate of two systems is the mean of those in both orders. Strengths are those of Bradley and Terry,
    with an effect of the order; ties are half a win each, excluded, or modelled after Davidson. Standard
    errors are clustered by prompt, with Student's t. Ranks have simultaneous limits, from Holm's procedure
    over all ordered pairs of systems.

    References
    ----------
    Bradley, R. A., Terry, M. E. (1952). Rank analysis of incomplete block designs: I. The method of paired
    comparisons. Biometrika 39(3/4), 324-345. doi:10.2307/2334029

    Davidson, R. R. (1970). On extending the Bradley-Terry model to accommodate ties in paired comparison
    experiments. JASA 65(329), 317-328. doi:10.1080/01621459.1970.10481082

    Mogstad, M., Romano, J. P., Shaikh, A. M., Wilhelm, D. (2024). Inference for ranks with applications to
    mobility across neighbourhoods and academic achievement across countries. Review of Economic Studies
    91(1), 476-518. doi:10.1093/restud/rdad006

    Piepho, H.-P. (2004). An algorithm for a letter-based representation of all-pairwise comparisons. Journal
    of Computational and Graphical Statistics 13(2), 456-466. doi:10.1198/1061860043515

    Examples
    --------
    >>> import pandas as pd
    >>> pairs = pd.DataFrame({"prompt_id": range(40), "ab": ["a", "a", "b", "a"] * 10,
    ...                       "ba": ["a", "b", "b", "a"] * 10})
    >>> result = compare_pairs(pairs, ("ab", "ba"))
    >>> result.frame.set_index("name").loc[["win_rate", "order_flips"], "estimate"].tolist()
    [0.625, 0.25]
    """
    check_alpha(alpha)
    if ties not in TIES:
        raise InputError(f"ties is '{ties}'; give {', '.join(TIES[:-1])} or {TIES[-1]}.")
    reading = read(table, rules_of(rules), source)
    names = PairColumns(
        names_of(judge), systems_in, () if labels is not None else names_of(human), lengths, swapped,
        reading.rules.id, None, judge_names, names_of(people), names_of(by),
    )  # fmt: skip
    columns = find_columns(reading.frame, names, reading.source, reading.rules.strict)
    if labels is not None:
        columns = replace(columns, human=())
        second = read(labels, replace(reading.rules, where={}, exclude={}), "labels")
        of_people = PairColumns(names_of(human), systems_in, id=columns.id)
        label_columns = find_columns(
            second.frame, of_people, second.source, reading.rules.strict, of_people=True
        )
        if columns.id is None or label_columns.id is None:
            raise InputError(
                f"{second.source}: pairs are matched by their prompts; name their column with --id."
            )
    usable = usable_verdicts(
        reading, columns, (second, label_columns) if labels is not None else None, labelled
    )
    data, notes = read_verdicts(
        usable.reading, columns, meaning=kinds_of_verdict(verdicts), systems=names_of(systems),
        labels=usable.labels, drawn_by_judge=usable.drawn_by_judge,
    )  # fmt: skip
    notes += usable.notes
    if not np.isfinite(data.points).any():
        raise InputError(
            f"{reading.source}: no verdict in {' or '.join(columns.verdict)}; name another column."
        )
    rank = len(data.systems) > TWO if rank is None else rank
    rows, settings = TestRows(alpha), _settings(data, columns, ties, alpha, seed)
    settings |= {"provenance": dict(usable.provenance)} if usable.provenance else {}
    if (columns.human or columns.people or labels is not None) and not np.isfinite(data.people).any():
        notes.append("People's columns have no verdict on these pairs, so that all numbers are the judge's.")
    notes += _notes_on_gaps(data)
    missing = int((~np.isfinite(data.points)).sum())
    notes += [f"{counted(missing, 'verdict')} missing: excluded."] if missing else []
    if columns.by and len(data.systems) != TWO:
        raise InputError(
            f"{reading.source}: --by compares win rates of two systems in subgroups, and there are "
            f"{len(data.systems):,}; name two with --systems."
        )
    p_adjusted: Mapping[str, float] = {}
    if len(data.systems) == TWO:
        notes += _add_win_rates(rows, data, ties, seed, settings)
    if rank:
        ranking, more = rank_systems(data, ties, alpha, seed)
        notes += more
        p_adjusted = _add_ranking(rows, data, ranking)
        if TWO < len(data.systems) <= MOST_OF_PAIRS:
            notes += _add_pairs(rows, data, ranking, (ties, seed))
        groups = [[data.systems[at] for at in group] for group in ranking.groups]
        settings |= {"groups": groups, "ranked": True, "ranking_corrected": ranking.corrected}
        settings["by_people"] = settings["by_people"] or ranking.by_people
    elif len(data.systems) > TWO:
        notes.append(
            "There are more than two systems, and no ranking was asked for; position and length alone."
        )
    rows.add(WINS, "tie_rate", _tie_rate(data, alpha))
    notes += add_positions(rows, data)
    if "first_share" in rows.bounds and len(columns.verdict) != TWO and columns.swapped is None:
        first = columns.systems[0] if columns.systems else "a"
        notes.append(f"The answer of column '{first}' counts as shown first in every row.")
    notes += add_lengths(rows, data)
    answered = data.rows(np.isfinite(data.points))
    if n_clusters(answered.cluster) < len(answered.points):
        notes += unequal_clusters(answered.cluster)
    frame = rows.frame()
    for name, p in p_adjusted.items():
        frame.loc[frame["name"] == name, "p_adjusted"] = p
    settings["verdict"] = verdict_of_pairs(frame, settings)
    return Validation(frame, "pair_comparison", tuple(dict.fromkeys(notes)), settings, {})


def _settings(
    data: PairedVerdicts, columns: PairColumns, ties: str, alpha: float, seed: int
) -> dict[str, Any]:
    judged = np.isfinite(data.points)
    return {
        "judge": list(columns.verdict), "human": list(columns.human or columns.people), "id": columns.id,
        "systems_in": list(columns.systems or ()), "lengths": list(columns.lengths or ()),
        "by": list(columns.by),
        "systems": list(data.systems), "ties": ties, "alpha": alpha, "seed": seed,
        "n_verdicts": int(judged.sum()), "n_pairs": len(np.unique(data.pair[judged])),
        "n_people": len(np.unique(data.pair[judged & np.isfinite(data.people)])),
        "clusters": n_clusters(data.cluster[judged]), "averaged": bool(
            (data.order[judged] > 0).any() and (data.order[judged] < 0).any()
        ), "ranked": False, "corrected": False, "by_people": False,
    }  # fmt: skip


def _add_win_rates(
    rows: TestRows, data: PairedVerdicts, ties: str, seed: int, settings: dict[str, Any]
) -> list[str]:
    """Add the win rate of the first of two systems: the best estimate, the judge's, people's, and others."""
    rates = rates_of_two(data, ties, seed, rows.alpha)
    best, by_people = rates.best, rates.by_people
    settings |= {"corrected": rates.basis == "corrected", "by_people": rates.basis == "people"}
    rows.add(WINS, "win_rate", best, p=p_of_half(best))
    if best is not rates.of_judge:
        rows.add(WINS, "judge_win_rate", rates.of_judge, p=p_of_half(rates.of_judge))
    if by_people is not None and best is not by_people:
        rows.add(WINS, "people_win_rate", by_people, p=p_of_half(by_people))
    adjusted = rate_at_peoples_length(rates.rate, data, rows.alpha)
    if adjusted is not None:
        rows.add(WINS, "length_adjusted_win_rate", adjusted, p=p_of_half(adjusted))
    subgroups = SubgroupRates(data, rates.basis, ties, seed, rows.alpha)
    return [*rates.notes, *add_subgroups(rows, subgroups)]


def _add_pairs(
    rows: TestRows, data: PairedVerdicts, ranking: SystemRanking, options: tuple[str, int]
) -> list[str]:
    """Add the win rate of the higher in each pair of few systems, as of these two; why one is missing."""
    notes = list[str]()
    best_first = np.argsort(ranking.rank).tolist()
    basis = "corrected" if ranking.corrected else "people" if ranking.by_people else "judge"
    for first, second in combinations(best_first, 2):
        mask = (data.low == min(first, second)) & (data.high == max(first, second))
        if not np.isfinite(data.points[mask]).any():
            continue
        label = f"{data.systems[first]} against {data.systems[second]}"
        try:
            rates = rates_of_two(of_two(data.rows(mask), first, second), *options, rows.alpha)
        except InputError as error:  # few verdicts on these two follow their order, or are ties
            notes.append(f"No win rate of {label}: {error}")
            continue
        measure, rate = "win_rate", rates.best
        if rates.basis != basis:  # people's verdicts on these two are too few
            measure, rate = "judge_win_rate", rates.of_judge
        rows.add(WINS, measure, rate, label=label, p=p_of_half(rate))
    return notes


def _add_ranking(rows: TestRows, data: PairedVerdicts, ranking: SystemRanking) -> dict[str, float]:
    """Add ranks, win rates, strengths and differences; adjusted p values by name."""
    judged, k = np.isfinite(data.points), len(data.systems)
    order = np.argsort(ranking.rank).tolist()
    n_of_pair = np.zeros((k, k), dtype=int)
    np.add.at(n_of_pair, (data.low[judged], data.high[judged]), 1)
    n_of = (n_of_pair + n_of_pair.T).sum(axis=1).tolist()
    for at in order:
        limits = float(ranking.lowest[at]), float(ranking.highest[at])
        rank = BoundedEstimate(float(ranking.rank[at]), np.nan, *limits, n_of[at], ranking.clusters)
        rows.add(RANKS, "rank", rank, label=data.systems[at])
    rates = bounded_numbers(ranking.win_rate, rows.alpha, n_of, ranking.clusters, share=True)
    strengths = bounded_numbers(ranking.strength, rows.alpha, n_of, ranking.clusters)
    for measure, bounds in (("win_rate", rates), ("strength", strengths)):
        for at in order if measure == "strength" or k > TWO else []:
            rows.add(RANKS, measure, bounds[at], label=data.systems[at], p=bounds[at].p)
    fit = ranking.fit
    for measure, value, column in (("order_effect", fit.order, -2), ("tie_parameter", fit.ties, -1)):
        if np.isfinite(value):
            single = InfluenceEstimates(np.array([value]), fit.influence[:, [column]], judged)
            of_judge = clustered_numbers(single, data.cluster)
            n = [int(judged.sum())]
            rows.add(RANKS, measure, bounded_numbers(of_judge, rows.alpha, n, ranking.clusters)[0])
    first, second = np.array(list(combinations(range(k), 2))).T
    is_better = ranking.rank[first] < ranking.rank[second]
    signed = replace(ranking.difference, estimate=np.where(is_better, 1, -1) * ranking.difference.estimate)
    differences = bounded_numbers(signed, rows.alpha, n_of_pair[first, second].tolist(), ranking.clusters)
    adjusted: dict[str, float] = {}
    for at, bound in enumerate(differences):
        names = data.systems[first[at]], data.systems[second[at]]
        label = " against ".join(names if is_better[at] else names[::-1])
        rows.add(SYSTEM_PAIRS, "strength_difference", bound, label=label)
        adjusted[str(rows.rows[-1]["name"])] = float(ranking.p_adjusted[at])
    return adjusted


def _notes_on_gaps(data: PairedVerdicts) -> list[str]:
    """Name the systems that have verdicts on clearly fewer prompts than the others."""
    judged = np.isfinite(data.points)
    n_prompts = np.array(
        [
            len(np.unique(data.cluster[judged & ((data.low == at) | (data.high == at))]))
            for at in range(len(data.systems))
        ]
    )
    usual = float(np.median(n_prompts))
    return [
        f"{quoted(data.systems[at])} is compared on {counted(int(n_prompts[at]), 'prompt')}, and half of "
        f"the systems on {usual:,.0f} or more: if it failed on the rest, its strength leaves that out."
        for at in np.flatnonzero(n_prompts < FEWER_PROMPTS * usual)
    ]


def _tie_rate(data: PairedVerdicts, alpha: float) -> BoundedEstimate:
    judged = np.isfinite(data.points)
    return share((data.points[judged] == HALF).astype(float), data.cluster[judged], alpha)
