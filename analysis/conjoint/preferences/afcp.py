"""Average feature choice probabilities (AFCP): every level of an attribute against every other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import pandas as pd

from conjury.inference.tables.frames import any_frame

from ...frames.variables import Formula
from ...results import row_labels
from ..estimates import Estimates
from ..request import Vcov
from .choice_level import fit_comparisons, level_pairs, make_query
from .choice_tasks import Levels, Ties


@any_frame
def afcp(
    data: pd.DataFrame,
    formula: str | Formula,
    id: str | Sequence[str] | None = None,
    *,
    same: str | Sequence[str] = (),
    given: Mapping[str, Levels] | None = None,
    ties: Ties = "half",
    weights: str | None = None,
    vcov: Vcov = "survey",
    alpha: float = 0.05,
) -> Estimates:
    """Estimate the average feature choice probability for all pairs of levels of an attribute.

    The AFCP of level a over level b is the probability that a profile with a is chosen over a profile with b,
    averaged over the distribution of all other attributes of both. Unlike the AMCE, it does not depend on
    comparisons with third levels, so that it shows preferences that are not transitive.

    Parameters
    ----------
    data, formula, id, same, given
        As in `choice_level`.
    ties : {"half", "outcome", "exclude"}
        As in `choice_level`.
    weights, vcov, alpha
        As in `choice_level`.

    Returns
    -------
    Estimates
        Statistic "afcp", tested against 0.5: for each pair of levels that meet in a task, ``level`` over
        ``reference``, an earlier level; in the other direction the AFCP is one minus this, with the same
        standard error. ``extra["tasks"]`` counts the tasks and ties of each pair.

    Raises
    ------
    InputError
        Where no two levels meet, and as in `choice_level`.

    Notes
    -----
    The R package afcp estimates the same shares with the standard errors of ``vcov="CR2"``, and tests them by
    the normal distribution.

    References
    ----------
    Abramson, S. F., Kocak, K., Magazinnik, A., Strezhnev, A. (2023). Detecting preference cycles in
    forced-choice conjoint experiments. SocArXiv. doi:10.31235/osf.io/xjre9

    Examples
    --------
    >>> data = pd.DataFrame({"chosen": [1, 0, 0, 1] * 20 + [0, 1, 1, 0] * 10,
    ...                      "tone": ["rude", "kind", "cold", "kind"] * 30,
    ...                      "pair_id": sorted([*range(60)] * 2)})
    >>> afcp(data, "chosen ~ tone").frame[["level", "reference", "estimate"]].round(3).values.tolist()
    [['kind', 'cold', 0.667], ['rude', 'kind', 0.667]]
    """
    query = make_query("afcp", data, formula, id, same, given, ties, weights, vcov, alpha)
    pairs = level_pairs(query)
    estimates = fit_comparisons(query, pairs)
    names = list(map(str, query.tasks.levels(query.feature)[2]))
    labels = {f"{later} against {earlier}": (later, earlier) for earlier, later in combinations(names, 2)}
    met = [pair.label for pair in pairs]
    level, reference = (
        pd.Series(pd.Categorical([labels[label][k] for label in met], categories=names)) for k in (0, 1)
    )
    frame = estimates.frame.assign(statistic="afcp", level=level)
    frame.insert(0, "reference", reference)
    counts = estimates.extra["tasks"].assign(level=level)
    counts.insert(1, "reference", reference)
    notes = list(estimates.notes)
    if missing := [label for label in labels if label not in met]:
        notes.append(f"{len(missing)} of {len(labels)} pairs of levels never meet: {'; '.join(missing[:5])}.")
    vcov_labels = row_labels(frame.loc[frame["std_error"].notna(), ["reference", "feature", "level"]])
    return replace(
        estimates,
        frame=frame,
        vcov=estimates.vcov.set_axis(vcov_labels).set_axis(vcov_labels, axis=1),  # type: ignore[union-attr]
        provenance=replace(
            estimates.provenance, verb="afcp", extra=estimates.provenance.extra | query.settings
        ),
        notes=tuple(notes),
        extra={"tasks": counts},
    )
