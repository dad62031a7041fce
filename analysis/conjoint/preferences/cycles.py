"""Tests of preference cycles among the levels of an attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.frames import any_frame

from ...frames.variables import Formula
from ...numerics.linear import independent_columns
from ...numerics.significance import adjust_p_values
from ...results import Result
from ..comparisons.wald import wald
from ..engines.solution import assemble
from ..estimates import Estimates
from ..request import Vcov
from .choice_level import NULL, fit_comparisons, level_pairs, make_query

TEST_COLUMNS = ["level", "reference", "tested", "test", "chi2", "df", "p_chi2", "f", "df2", "p"]


@any_frame
def preference_cycles(
    data: pd.DataFrame,
    formula: str | Formula,
    id: str | Sequence[str] | None = None,
    *,
    weights: str | None = None,
    vcov: Vcov = "survey",
    alpha: float = 0.05,
) -> Result:
    """Test whether choices between levels of an attribute follow one scale, and whether they form cycles.

    If each level had one place on a scale, the direct preference for a over b, AFCP(a, b) - 1/2, would equal
    the indirect one by way of c, AFCP(a, c) - AFCP(b, c). Of a cycle, a is chosen over b, b over c and c
    over a more often than not. Ties count as half a win.

    Parameters
    ----------
    data, formula, id, weights, vcov, alpha
        As in `choice_level`.

    Returns
    -------
    Result
        Kind "preference_cycles". For each triple of levels of which all pairs meet: ``level_a, level_b,
        level_c``, the AFCPs ``afcp_ab, afcp_bc, afcp_ca``, ``direct, indirect`` and their difference
        ``estimate`` with ``std_error, [df], z, p, lower, upper``; ``p_holm``, adjusted over all triples.
        ``cycle`` states the cycle that the estimates form, if any; ``p_cycle`` tests that there is none, by
        the largest of the p values of the three AFCPs (1 without a cycle); ``p_cycle_holm`` is adjusted.
        ``extra["tests"]``: the joint tests that direct and indirect preferences are equal, of each pair
        (``level, reference``) by way of all other levels, and of all together (empty names), as from `wald`.

    Raises
    ------
    InputError
        For fewer than three levels that meet each other, and as in `choice_level`.

    Notes
    -----
    Triples with an AFCP that has no standard error, because the same level is always chosen, are not tested.
    A difference between direct and indirect preferences is not yet a cycle, and a cycle of choice
    probabilities does not require judges with cycles: majorities of judges with transitive preferences can
    form one.
    ``p_cycle`` is an intersection-union test in both directions, hence of two-sided p values.

    References
    ----------
    Abramson, S. F., Kocak, K., Magazinnik, A., Strezhnev, A. (2023). Detecting preference cycles in
    forced-choice conjoint experiments. SocArXiv. doi:10.31235/osf.io/xjre9

    Berger, R. L. (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics 24(4),
    295-300. doi:10.1080/00401706.1982.10487790

    Examples
    --------
    >>> hands = ["rock", "scissors", "scissors", "paper", "paper", "rock"]
    >>> data = pd.DataFrame({"chosen": [1, 0, 1, 0, 1, 0] * 40 + [0, 1, 0, 1, 0, 1] * 10, "hand": hands * 50,
    ...                      "pair_id": np.repeat(range(150), 2)})
    >>> cycles = preference_cycles(data, "chosen ~ hand").frame
    >>> cycles[["direct", "indirect", "cycle"]].round(2).values.tolist()
    [[0.3, -0.6, 'paper over rock over scissors over paper']]
    """
    query = make_query("preference_cycles", data, formula, id, (), None, "half", weights, vcov, alpha)
    feature, pairs = query.feature, level_pairs(query)
    estimates = fit_comparisons(query, pairs)
    names = list(map(str, query.tasks.levels(feature)[2]))
    turns = _turns(names, [pair.label for pair in pairs])
    triples = [triple for triple in combinations(names, 3) if set(_circle_steps(triple)) <= set(turns)]
    if not triples:
        raise InputError(
            f"No three levels of {feature!r} meet each other in answered tasks; its levels are "
            f"{listed(map(repr, names))}."
        )
    contrasts = np.array([sum(turns[step] for step in _circle_steps(triple)) for triple in triples])
    circles = _contrast_estimates(
        estimates, contrasts, pd.DataFrame({"level": [", ".join(triple) for triple in triples]})
    )
    varies = estimates.frame["std_error"].notna().to_numpy()
    tested = ~(contrasts[:, ~varies] != 0).any(axis=1)  # triples of which all AFCPs have a standard error
    frame = _triple_table(estimates, circles, triples, turns, tested)
    tests: list[pd.DataFrame] = []
    if tested.any():
        basis_rows = np.flatnonzero(tested)[independent_columns(contrasts[tested] @ contrasts[tested].T)]
        basis = _contrast_estimates(
            estimates, contrasts[basis_rows], circles.frame.loc[basis_rows, ["level"]].reset_index(drop=True)
        )
        sure = [triple for triple, is_tested in zip(triples, tested, strict=True) if is_tested]
        tests = [
            _pair_tests(estimates, sure, turns, names),
            wald(basis, each=()).frame.assign(level="", reference=""),
        ]
    joint = pd.concat(tests, ignore_index=True) if tests else pd.DataFrame(columns=TEST_COLUMNS)
    n_cycles, n_clear = int((frame["cycle"] != "").sum()), int((frame["p_cycle_holm"] < alpha).sum())
    notes = [
        *estimates.notes,
        f"The estimates of {n_cycles} of {len(frame)} triples of levels form a cycle, {n_clear} of them at p "
        f"below {alpha:g}, adjusted by Holm's method.",
    ]
    settings = dict(estimates.settings) | {"feature": feature, "level_names": names}
    return Result(
        frame,
        "preference_cycles",
        tuple(notes),
        settings,
        {"tests": joint[TEST_COLUMNS], "tasks": estimates.extra["tasks"]},
    )


def _turns(names: Sequence[str], labels: Sequence[str]) -> dict[tuple[str, str], np.ndarray]:
    """Vectors of the P comparisons, (P,), that give AFCP(a, b) - 1/2 for every two levels that meet."""
    turns = {}
    for later, earlier in permutations(names, 2):
        if (label := f"{later} against {earlier}") in labels:
            unit = np.eye(len(labels))[labels.index(label)]
            turns[later, earlier], turns[earlier, later] = unit, -unit
    return turns


def _circle_steps(triple: Sequence[str]) -> list[tuple[str, str]]:
    """The three comparisons of a circle: a with b, b with c, c with a."""
    a, b, c = triple
    return [(a, b), (b, c), (c, a)]


def _contrast_estimates(estimates: Estimates, contrasts: np.ndarray, keys: pd.DataFrame) -> Estimates:
    """Contrasts, shape (m, P), of AFCPs less 1/2."""
    if estimates.fitted is None:
        raise InputError("The comparisons have no covariance.")
    plan, solution = estimates.fitted.plan, estimates.fitted.solution
    keys = pd.DataFrame(
        {"outcome": plan.request.formula.outcome, "statistic": "cycle", "feature": plan.request.features[0]},
        index=keys.index,
    ).join(keys)
    centred = replace(
        plan,
        contrasts=contrasts,
        keys=keys,
        is_reference=np.zeros(len(keys), dtype=bool),
        request=replace(plan.request, h0=0.0),
    )
    return assemble(centred, replace(solution, coef=solution.coef - NULL))


def _triple_table(
    estimates: Estimates,
    circles: Estimates,
    triples: Sequence[tuple[str, ...]],
    turns: dict[tuple[str, str], np.ndarray],
    tested: np.ndarray,
) -> pd.DataFrame:
    """One row per triple: AFCPs, direct and indirect preferences, and the cycle that there may be."""
    margin = estimates.frame["estimate"].to_numpy(float) - NULL
    p_pair = estimates.frame["p"].to_numpy(float)
    rows = []
    for triple in triples:
        a, b, c = triple
        ab, bc, ca = (float(turns[step] @ margin) for step in _circle_steps(triple))
        weakest = float(np.max([p_pair[np.abs(turns[step]).argmax()] for step in _circle_steps(triple)]))
        ahead, back = min(ab, bc, ca) > 0, max(ab, bc, ca) < 0
        cycle = " over ".join((a, b, c, a) if ahead else (a, c, b, a)) if ahead or back else ""
        rows.append(
            {"level_a": a, "level_b": b, "level_c": c}
            | {"afcp_ab": NULL + ab, "afcp_bc": NULL + bc, "afcp_ca": NULL + ca}
            | {"direct": ab, "indirect": -ca - bc}
            | {"cycle": cycle, "p_cycle": weakest if cycle else 1.0}
        )
    table = pd.DataFrame(rows)
    numbers = circles.frame.drop(columns=["outcome", "statistic", "feature", "level"])
    numbers.loc[~tested, [name for name in numbers if name != "estimate"]] = np.nan
    table = pd.concat(
        [table.drop(columns=["cycle", "p_cycle"]), numbers, table[["cycle", "p_cycle"]]], axis=1
    )
    table.insert(
        list(table.columns).index("lower"), "p_holm", adjust_p_values(table["p"].to_numpy(float), "holm")
    )
    return table.assign(p_cycle_holm=adjust_p_values(table["p_cycle"].to_numpy(float), "holm"))


def _pair_tests(
    estimates: Estimates,
    triples: Sequence[tuple[str, ...]],
    turns: dict[tuple[str, str], np.ndarray],
    names: Sequence[str],
) -> pd.DataFrame:
    """Joint tests for each pair of levels, by way of all other levels that both meet."""
    rows = [
        (f"{later} against {earlier}", via, sum(turns[step] for step in _circle_steps((later, earlier, via))))
        for earlier, later in combinations(names, 2)
        for triple in triples
        if {earlier, later} <= set(triple)
        for via in set(triple) - {earlier, later}
    ]
    keys = pd.DataFrame({"level": [via for _, via, _ in rows], "pair": [pair for pair, *_ in rows]})
    tested = wald(
        _contrast_estimates(estimates, np.array([vector for *_, vector in rows]), keys), each="pair"
    ).frame
    sides = {f"{later} against {earlier}": (later, earlier) for earlier, later in combinations(names, 2)}
    level, reference = zip(*(sides[pair] for pair in tested["pair"]), strict=True)
    return tested.assign(level=list(level), reference=list(reference))
