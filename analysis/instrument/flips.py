"""Decisions that flip between levels of a facet, beyond those that flip when a request is repeated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ..figures.labels import display_order
from ..frames.notes import Note, note_under
from ..frames.passport import coverage_notes, situation_of
from ..numerics.intervals import CORRELATION, check_alpha
from ..results import Result
from .decision_rows import mean_of, share_of
from .decisions import LABEL, REPETITION, by_judge, decisions, varying_facets

ANY = "any"
FLIPS, REPEATED, NET = "flips", "repetition", "net"


@any_frame
def flips(
    data: pd.DataFrame,
    outcome: str | None = None,
    facet: str | Sequence[str] | None = None,
    *,
    margin: float = 0.0,
    object: str | None = None,
    cluster: str | None = None,
    alpha: float = 0.05,
) -> Result:
    """Estimate the share of decisions that flip between levels of a facet.

    Decisions of one judge about one object are compared between two levels of a facet with all other known
    facets the same. Where requests were repeated (``sample``), all pairs of answers are compared, and the
    disagreement of two levels a and b, D_ab, is set against that of repeats within them: the net share is
    D_ab - (D_aa + D_bb) / 2, which is zero where the facet does nothing. Of choices its mean is that of the
    squared difference between the two probabilities.

    Parameters
    ----------
    data : DataFrame
        Choices (one row per profile), ratings or labels, with columns of facets.
    outcome : str, optional
        By default ``chosen`` of choices, and ``value``. A choice flips where another profile is chosen.
    facet : str or sequence of str, optional
        By default every known facet that varies, other than ``sample``.
    margin : float
        Ratings flip where they differ by more than this.
    object : str, optional
        Column of the objects of ratings and labels, by default ``item_id``.
    cluster : str, optional
        Column of clusters instead of the object (of people's choices: the respondent).
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Result
        One row per ``judge, facet, first, second, quantity`` with ``estimate, std_error, lower,
        upper, n`` (comparisons of an object) and ``n_clusters``. ``first, second`` are the levels; ``first``
        "any" is about all levels of the facet together: the share of objects whose decisions are not all
        alike. Quantities are "flips", and where there are repeats "repetition", the mean disagreement of
        repeats in both levels, and "net".

    Raises
    ------
    InputError
        Where no facet varies, and where no object was decided at two levels.

    References
    ----------
    Sclar, M., Choi, Y., Tsvetkov, Y., Suhr, A. (2024). Quantifying language models' sensitivity to spurious
    features in prompt design. ICLR 2024. doi:10.48550/arXiv.2310.11324

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": "m", "judge_kind": "model", "item_id": list("aabbcc"),
    ...     "prompt_id": ["p", "q"] * 3, "value": ["yes", "no", "no", "no", "yes", "yes"]})
    >>> flips(table).frame[["first", "second", "quantity", "estimate"]].round(3).values.tolist()
    [['any', '', 'flips', 0.333], ['p', 'q', 'flips', 0.333]]
    """
    check_alpha(alpha)
    if margin < 0:
        raise InputError(f"margin is {margin!r}; give a number of 0 or more.")
    named = [facet] if isinstance(facet, str) else list(facet) if facet is not None else None
    facets = varying_facets(data)
    columns = facets if named is None else list(dict.fromkeys([*named, *facets]))
    answers = decisions(data.reset_index(drop=True), outcome, columns, object=object, cluster=cluster)
    compared = [name for name in (named or answers.facets) if name != REPETITION or named is not None]
    if not compared:
        raise InputError("No facet of the data has two levels, so no decision can flip; name one by facet=.")
    if answers.kind == LABEL and margin:
        raise InputError("margin applies to ratings; labels and choices flip where they differ.")
    rows, notes = list[dict[str, Any]](), list[str]()
    for judge, judge_rows in by_judge(answers):
        answered_rows = judge_rows[judge_rows["value"].notna()]
        for name in compared:
            within = [column for column in answers.facets if column not in (name, REPETITION)]
            facet_rows = list(_rows(answered_rows, name, within, margin, alpha))
            rows += [{"judge": judge, "facet": name} | row for row in facet_rows]
            if not facet_rows:
                text = Note.of("no object was decided at two levels of {column}.", column=name)
                notes.append(note_under({"judge": judge}, text))
    if not rows:
        raise InputError(" ".join(notes))
    for _, judge_rows in by_judge(answers):
        objects = judge_rows.drop_duplicates("object")
        situation = situation_of(pd.factorize(objects["cluster"])[0])
        names = dict.fromkeys((row["first"] == ANY, row["quantity"]) for row in rows)
        named = [f"{ANY} {name}" if is_any else name for is_any, name in names]
        notes += coverage_notes("flips", [(name, name, situation) for name in named], alpha)
    settings = {"alpha": alpha, "outcome": outcome, "margin": margin, "cluster": cluster, "facets": compared}
    frame = pd.DataFrame(rows).drop(columns="p", errors="ignore")
    return Result(frame, "flips", tuple(dict.fromkeys(notes)), settings)


def _rows(
    rows: pd.DataFrame, facet: str, within: Sequence[str], margin: float, alpha: float
) -> Iterator[dict[str, Any]]:
    """Rows of one judge and facet."""
    levels = display_order(rows[facet])
    pairs = _disagreement(rows, facet, within, margin)
    if pairs.empty or len(levels) < 2:
        return
    overall = _flips_at_any_level(rows, facet, within, margin, len(levels))
    if len(overall):
        yield _named(ANY, "", FLIPS) | share_of(overall["flips"], overall["cluster"], alpha)
    for first, second in combinations(levels, 2):
        between = pairs[pairs["pair"] == _pair_key(first, second)]
        if between.empty:
            continue
        yield _named(first, second, FLIPS) | share_of(between["flips"], between["cluster"], alpha)
        repeated = [
            pairs[pairs["pair"] == _pair_key(level, level)].set_index("group") for level in (first, second)
        ]
        common_groups = between[
            between["group"].isin(repeated[0].index) & between["group"].isin(repeated[1].index)
        ]
        if common_groups.empty:
            continue
        repeat_share = (
            sum(part.loc[common_groups["group"], "flips"].to_numpy(dtype=float) for part in repeated) / 2
        )
        yield _named(first, second, REPEATED) | share_of(
            pd.Series(repeat_share), common_groups["cluster"], alpha
        )
        net = common_groups["flips"].to_numpy(dtype=float) - repeat_share
        yield _named(first, second, NET) | mean_of(net, common_groups["cluster"], alpha, CORRELATION)


def _named(first: str, second: str, quantity: str) -> dict[str, Any]:
    return {"first": first, "second": second, "quantity": quantity}


def _pair_key(first: str, second: str) -> str:
    return "\0".join(sorted((first, second)))


def _disagreement(rows: pd.DataFrame, facet: str, within: Sequence[str], margin: float) -> pd.DataFrame:
    """Mean disagreement of all pairs of answers by group (object and other facets) and pair of levels."""
    table = pd.DataFrame(
        {
            "group": rows.groupby(["object", *within], sort=False).ngroup().to_numpy(),
            "cluster": rows["cluster"].to_numpy(),
            "level": rows[facet].to_numpy(),
            "value": rows["value"].to_numpy(),
            "number": np.arange(len(rows)),
        }
    )
    pairs = table.merge(table.drop(columns="cluster"), on="group", suffixes=("", "_other"))
    pairs = pairs[pairs["number"] < pairs["number_other"]]
    if pairs.empty:
        return pairs
    keys = np.sort(pairs[["level", "level_other"]].to_numpy(dtype=str), axis=1)
    pairs = pairs.assign(
        pair=[_pair_key(*key) for key in keys.tolist()],
        flips=_answers_differ(pairs["value"], pairs["value_other"], margin),
    )
    return pairs.groupby(["group", "pair"], sort=False, as_index=False).agg(
        flips=("flips", "mean"), cluster=("cluster", "first")
    )


def _answers_differ(first: pd.Series, second: pd.Series, margin: float) -> np.ndarray:
    if margin:
        far = np.abs(first.to_numpy(dtype=float) - second.to_numpy(dtype=float)) > margin
        return np.asarray(far, dtype=float)
    return np.asarray(first.to_numpy() != second.to_numpy(), dtype=float)


def _flips_at_any_level(
    rows: pd.DataFrame, facet: str, within: Sequence[str], margin: float, n_levels: int
) -> pd.DataFrame:
    """Objects decided at all levels, and whether their decisions are not all alike."""
    keys = ["object", *within]
    sampled = [*keys, REPETITION] if REPETITION in rows and facet != REPETITION else keys
    groups = rows.groupby(sampled, sort=False)
    if (groups[facet].nunique() < n_levels).all():  # samples number the levels themselves
        groups = rows.groupby(keys, sort=False)
    if margin:
        flipped = groups["value"].max() - groups["value"].min() > margin
    else:
        flipped = groups["value"].nunique() > 1
    table = pd.DataFrame({"flips": flipped.astype(float), "cluster": groups["cluster"].first()})
    result: pd.DataFrame = table[groups[facet].nunique() == n_levels]
    return result
