"""Change between occasions: of the judge, on items asked again, and of the items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ..figures.labels import display_order
from ..frames.notes import note_under
from ..frames.passport import coverage_notes, situation_of
from ..frames.variables import require_column
from ..numerics.intervals import check_alpha
from ..results import Result
from .decision_rows import estimate_with_limits
from .decisions import CHOICE, LABEL, REPETITION, by_judge, decisions, varying_facets

TOTAL, JUDGE, ITEMS = "total", "judge", "items"


@any_frame
def drift(
    data: pd.DataFrame,
    outcome: str | None = None,
    occasion: str = "occasion",
    *,
    object: str | None = None,
    cluster: str | None = None,
    alpha: float = 0.05,
) -> Result:
    """Split the change of a mean between occasions into what the judge and what the items contribute.

    Anchors are objects that a judge decided on both occasions. Their mean change is that of the judge; the
    rest of the change of the mean over all objects comes from other objects being asked. Means are over
    objects, each the mean of its decisions; anchors are compared within the same known facets.

    Parameters
    ----------
    data : DataFrame
        Ratings, labels or choices with a column of occasions. Of choices, the mean is the share of the
        first position; how effects changed is shown by `specifications` with ``occasion`` as a facet.
    outcome : str, optional
        By default ``chosen`` of choices, and ``value``.
    occasion : str
        Column of occasions; the first in the data (of a categorical column, the first category) is
        the one that the others are compared with.
    object : str, optional
        Column of the objects of ratings and labels, by default ``item_id``.
    cluster : str, optional
        Column of clusters instead of the object.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Result
        One row per ``judge, occasion, label, quantity`` (``label`` is that whose share changes; empty
        for ratings and choices): ``estimate, std_error, p, lower, upper``, with G-1 degrees of freedom over
        clusters, ``before, after`` (means on the two occasions, of anchors for "judge"), ``n`` (objects;
        for "judge", anchors) and ``n_clusters``. Quantities are "total", "judge" and "items"; the
        first is the sum of the others. ``items`` counts anchors as well: their weight may differ.

    Raises
    ------
    InputError
        For one occasion only, and where no judge has an anchor.

    References
    ----------
    Chen, L., Zaharia, M., Zou, J. (2024). How is ChatGPT's behavior changing over time? Harvard Data Science
    Review 6(2). doi:10.1162/99608f92.5317da47

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": "m", "judge_kind": "model", "item_id": list("abcd") + list("abef"),
    ...     "occasion": ["june"] * 4 + ["july"] * 4, "value": [1, 2, 3, 4, 2, 3, 6, 7]})
    >>> drift(table).frame[["quantity", "estimate"]].values.tolist()
    [['total', 2.0], ['judge', 1.0], ['items', 1.0]]
    """
    check_alpha(alpha)
    require_column(data, occasion)
    data = data.reset_index(drop=True)
    dates = display_order(data[occasion])
    if len(dates) < 2:
        raise InputError(f"Column {occasion!r} has one occasion; drift compares two or more.")
    facets = varying_facets(data)
    columns = list(dict.fromkeys([occasion, *facets]))
    answers = decisions(data, outcome, columns, object=object, cluster=cluster)
    within = [name for name in answers.facets if name not in (occasion, REPETITION)]
    rows, notes = list[dict[str, Any]](), list[str]()
    for judge, judge_rows in by_judge(answers):
        judge_rows = judge_rows.assign(occasion=judge_rows[occasion])
        for label, scored in _scored(judge_rows, answers.kind):
            for later in dates[1:]:
                named = {"judge": judge, "occasion": later, "label": label}
                changes = list(_rows(scored, (dates[0], later), within, alpha))
                rows += [named | row for row in changes]
                if not changes:
                    text = f"no object was decided both in {dates[0]} and in {later}."
                    notes.append(note_under({"judge": judge}, text))
    if not rows:
        raise InputError(" ".join(dict.fromkeys(notes)) or "No judge has an answer.")
    for _, judge_rows in by_judge(answers):
        situation = situation_of(pd.factorize(judge_rows.drop_duplicates("object")["cluster"])[0])
        notes += coverage_notes("drift", [("drift", JUDGE, situation)], alpha)
    settings = {
        "alpha": alpha,
        "outcome": outcome,
        "first": dates[0],
        "kind": answers.kind,
        "cluster": cluster,
    }
    return Result(pd.DataFrame(rows), "drift", tuple(dict.fromkeys(notes)), settings)


def _scored(rows: pd.DataFrame, kind: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Decisions as numbers: ratings, the first position of choices, an indicator for each label."""
    if kind == LABEL:
        answered_rows = rows[rows["value"].notna()]
        for label in sorted(answered_rows["value"].astype(str).unique()):
            yield (
                label,
                answered_rows.assign(score=(answered_rows["value"].astype(str) == label).astype(float)),
            )
        return
    scored = rows.assign(score=rows["first" if kind == CHOICE else "value"])
    yield "", scored[scored["score"].notna()]


def _rows(
    rows: pd.DataFrame, dates: tuple[str, str], within: Sequence[str], alpha: float
) -> Iterator[dict[str, Any]]:
    """Total change between two occasions, that of the judge and that of the items; none without anchors."""
    cells = rows[rows["occasion"].isin(dates)].groupby(["object", *within, "occasion"], sort=False)
    table = pd.DataFrame({"score": cells["score"].mean(), "cluster": cells["cluster"].first()}).reset_index()
    wide = table.pivot(index=["object", *within], columns="occasion", values="score").reindex(columns=dates)
    by_object = (
        table.groupby(["object", "occasion"], sort=False)["score"].mean().unstack().reindex(columns=dates)
    )
    anchored = wide.dropna().groupby(level="object", sort=False).mean().reindex(by_object.index)
    if anchored.isna().all(axis=None):
        return
    cluster = table.drop_duplicates("object").set_index("object")["cluster"].reindex(by_object.index)
    before, after = (by_object[name].to_numpy(dtype=float) for name in dates)
    first, second = (anchored[name].to_numpy(dtype=float) for name in dates)
    means = [float(np.nanmean(part)) for part in (before, after, first, second)]
    total = _centred(after) - _centred(before)
    judge, anchors = _centred(second - first), np.isfinite(first)
    for name, influence, estimate, ends, n in (
        (TOTAL, total, means[1] - means[0], means[:2], len(by_object)),
        (JUDGE, np.where(anchors, judge, np.nan), means[3] - means[2], means[2:], int(anchors.sum())),
        (ITEMS, total - judge, means[1] - means[0] - means[3] + means[2], [np.nan] * 2, len(by_object)),
    ):
        numbers = estimate_with_limits(estimate, influence, cluster, alpha)
        yield {"quantity": name} | numbers | {"before": ends[0], "after": ends[1], "n": n}


def _centred(values: np.ndarray) -> np.ndarray:
    """Influence of objects on the mean of those that are known, shape (n,), to be averaged over all."""
    is_finite = np.isfinite(values)
    return np.where(is_finite, (values - np.nanmean(values)) * len(values) / is_finite.sum(), 0.0)
