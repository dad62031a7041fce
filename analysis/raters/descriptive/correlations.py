"""Correlations between the mean human rating and each model, overall and within strata."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...numerics.bootstrap import FIXED_PEOPLE, cluster_weights, few_clusters, intervals, without_spread
from ...numerics.intervals import check_alpha, check_draws
from ...numerics.multiplicity import Step, adjusted
from ...numerics.types import Floats
from ...results import Result
from ..items import names_of
from ..ratings import HUMAN
from .association import COEFFICIENTS, cells_of, correlation, t_test
from .means import columns_of
from .scores import Scores, item_scores, one_of, ordered, stratum_names

CARRIED = 10  # items off the most frequent rating that an interval needs
FEWEST = 4  # pairs that a correlation with an interval needs
ATTENUATED = (
    "People are averaged over few raters: noise in that mean lowers every correlation; the hierarchical "
    "model corrects for it."
)


def correlations(
    judgments: pd.DataFrame,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    coefficients: str | Sequence[str] = COEFFICIENTS,
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Correlate the mean rating by people with the rating by each model.

    Parameters
    ----------
    judgments, items
        As in `means`.
    by : str or sequence of str
        Columns whose combinations of levels are strata, after the rows of all items.
    coefficients : str or sequence of str
        Any of "pearson", "spearman", "kendall" (tau-b).
    dimensions, cluster, scale, alpha, draws, seed
        As in `means`.

    Returns
    -------
    Result
        ``dimension, judge, *by, coefficient, estimate, std_error, lower, upper, p_t, p, p_holm, p_bh,
        n_items, n_clusters, rests_on``. ``rests_on`` counts the items off the most frequent rating, on the
        side that has fewer: below 10 there is an estimate, but no error. ``p_t`` treats items as independent,
        as packages print it; ``p`` and the interval rest on the cluster bootstrap (clusters drawn with
        replacement, ranks taken anew in each draw, normal on Fisher's scale). ``p_holm`` and ``p_bh`` adjust
        ``p`` over all rows of the same
        coefficient.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann"] * 5 + ["gpt"] * 5, "judge_kind": ["human"] * 5 + ["model"]
    ...     * 5, "item_id": list("abcde") * 2, "value": [0, 1, 2, 3, 4, 1, 0, 2, 4, 3]})
    >>> made = correlations(table, draws=50)
    >>> made.frame[["coefficient", "estimate"]].round(3).values.tolist()
    [['pearson', 0.8], ['spearman', 0.8], ['kendall', 0.6]]
    """
    check_alpha(alpha)
    check_draws(draws, seed)
    by = names_of(by)
    kinds = [one_of(kind, COEFFICIENTS, "coefficient") for kind in names_of(coefficients)]
    made = item_scores(judgments, items, columns=by, dimensions=dimensions, cluster=cluster, scale=scale)
    weights = cluster_weights(made.n_clusters, draws, seed)
    strata = [((), np.ones(len(made.items), dtype=bool)), *(made.cells(by) if by else ())]
    rows, drawn, few = [], [], 0
    for dimension in made.dimensions:
        for judge in made.models:
            for level, inside in strata:
                people, model, used = _pairs(made, dimension, judge, inside)
                if len(people) < FEWEST:
                    few += 1
                    continue
                cells = cells_of(people, model, made.cluster[used], made.n_clusters)
                for kind in kinds:
                    values = correlation(kind, cells, weights)
                    rows.append(
                        {"dimension": dimension, "judge": judge, **stratum_names(by, level)}
                        | {
                            "coefficient": kind,
                            "p_t": float(t_test(kind, values[0], np.array(len(people)), people, model)),
                            "n_items": len(people),
                            "n_clusters": len(np.unique(made.cluster[used])),
                            "rests_on": rests_on(people, model),
                        }
                    )
                    drawn.append(values)
    if not drawn:
        raise InputError(
            f"judgments: nowhere are {FEWEST} items rated by people and by a model, as a correlation needs; "
            "collect more."
        )
    keys = ["dimension", "judge", *by, "coefficient"]
    columns = [*keys, "p_t", "n_items", "n_clusters", "rests_on"]
    frame = _table(pd.DataFrame(rows, columns=columns), drawn, keys, alpha)
    notes = [ATTENUATED, FIXED_PEOPLE, *made.notes, *_undefined(frame), *_unsure(frame)]
    notes += few_clusters(frame["n_clusters"], draws) + without_spread(
        frame.pop("alike") & (frame["rests_on"] >= CARRIED)
    )
    if few:
        notes.append(f"{few:,} strata with fewer than {FEWEST} items rated by both are left out.")
    settings = {
        "by": by, "coefficients": kinds, "cluster": cluster, "alpha": alpha, "draws": draws,
        "seed": seed, "family": "all rows of a coefficient",
    }  # fmt: skip
    return Result(frame, "correlations", tuple(notes), settings)


def rests_on(people: Floats, model: Floats) -> int:
    """How many of n items differ from the most frequent value, on the side where these are fewer."""
    return min(len(side) - int(np.unique(side, return_counts=True)[1].max()) for side in (people, model))


def _pairs(made: Scores, dimension: str, judge: str, inside: np.ndarray) -> tuple[Floats, Floats, np.ndarray]:
    """Ratings by people and by a model of the items that both rated, and which items these are."""
    people, model = made.of(dimension, HUMAN), made.of(dimension, judge)
    used = inside & np.isfinite(people) & np.isfinite(model)
    return people[used], model[used], used


def _table(keys: pd.DataFrame, drawn: list[Floats], names: list[str], alpha: float) -> pd.DataFrame:
    n_clusters = keys["n_clusters"].to_numpy(dtype=np.int64)
    found = intervals(np.stack(drawn, axis=1), alpha, correlation=True, clusters=n_clusters)
    counts = ["n_items", "n_clusters", "rests_on"]
    frame = keys[names].assign(**columns_of(found), p_t=keys["p_t"], p=found.p, alike=found.alike)
    frame.loc[keys["rests_on"].to_numpy(dtype=float) < CARRIED, ["std_error", "lower", "upper", "p"]] = np.nan
    methods: tuple[Step, ...] = ("holm", "bh")
    for method in methods:
        name = f"p_{method}"
        frame[name] = np.nan
        for _, family in frame.dropna(subset="p").groupby("coefficient", sort=False):
            frame.loc[family.index, name] = adjusted(family["p"].to_numpy(dtype=float), method)
    frame[counts] = keys[counts]
    return ordered(frame, names)


def _unsure(frame: pd.DataFrame) -> list[str]:
    unsure = int((frame["estimate"].notna() & (frame["rests_on"] < CARRIED)).sum())
    return (
        [
            f"{unsure:,} correlations have no interval: fewer than {CARRIED} items differ from the rating "
            "that is given most, and resampling them cannot tell how sure the correlation is."
        ]
        if unsure
        else []
    )


def _undefined(frame: pd.DataFrame) -> list[str]:
    constant = int(frame["estimate"].isna().sum())
    return [f"{constant:,} correlations are not defined: one side does not vary."] if constant else []
