"""Agreement coefficients next to krippendorff, statsmodels and pingouin, single and with bootstrap.

Prints a table and writes it to results/AGREEMENT.md. Before anything is timed, numbers that must
agree do. Bootstraps of peers are loops over few samples, scaled up; the page says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import krippendorff as peer_alpha
import numpy as np
import pandas as pd
import pingouin
from measure import best_of, machine, page, publish, seconds, table
from statsmodels.stats import inter_rater

from conjury.analysis.numerics.bootstrap import Samples
from conjury.analysis.numerics.rating_panel import RatingPanel, panel_from
from conjury.analysis.raters import agreement
from conjury.analysis.raters.agreement import chance_corrected as corrected
from conjury.analysis.raters.agreement import icc
from conjury.analysis.raters.agreement.chance_corrected import krippendorff

ITEMS, RATERS, DRAWS, LOOP = 3192, 100, 1000, 5
Numbers = Callable[[np.ndarray], np.ndarray]


def ratings(raters: int, per_item: int) -> np.ndarray:
    """Ratings 0 to 4 of all items, shape (items, raters), NaN where a rater was not asked."""
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(ITEMS, raters)) - 0.5 * rng.normal(size=raters)
    values = np.clip(np.round(2 + rng.normal(size=(ITEMS, 1)) + noise), 0, 4)
    asked = np.argsort(rng.random(values.shape), axis=1) < per_item
    return np.where(asked, values, np.nan)


def main() -> None:
    described = machine()
    ragged, complete = ratings(RATERS, 4), ratings(7, 7)
    rows = [
        *compared("Krippendorff's alpha, ordinal, ragged", ragged, ordinal, "krippendorff", by_krippendorff),
        *compared("Fleiss' kappa, complete", complete, fleiss, "statsmodels", by_statsmodels),
        *compared("six intraclass correlations, complete", complete, six_icc, "pingouin", by_pingouin),
        whole_call(ragged),
    ]
    facts = {
        "Data": f"{ITEMS:,} items rated 0 to 4; ragged: 4 of {RATERS} raters per item; complete: 7 raters",
        "Machine": described,
        "Bootstraps of peers": f"{LOOP} samples in a loop, times {DRAWS // LOOP}",
    }
    text = table(["what", "by", "seconds", "times ours"], rows)
    publish("AGREEMENT", page("Benchmarks of agreement coefficients", facts, text))


def compared(
    task: str, values: np.ndarray, ours: Callable[[RatingPanel], Numbers], name: str, peer: Numbers
) -> list[list[Any]]:
    """Rows of one coefficient: the estimate alone, and the bootstrap."""
    panel = panel_from(values, range(5))
    ones = np.ones((1, ITEMS))
    np.testing.assert_allclose(ours(panel)(ones)[0], peer(values), rtol=1e-8)
    single = best_of(
        {"ours": lambda: ours(panel_from(values, range(5)))(ones), "peer": lambda: peer(values)}, 3
    )
    rng = np.random.default_rng(1)

    def loop() -> None:
        for _ in range(LOOP):
            peer(values[rng.integers(ITEMS, size=ITEMS)])

    own = seconds(lambda: Samples(panel.cluster, DRAWS, 1).replicate(ours(panel)))
    other = seconds(loop) * DRAWS / LOOP
    return [
        [task, "conjury", f"{single['ours']:.3f}", "1.0"],
        ["", name, f"{single['peer']:.3f}", f"{single['peer'] / single['ours']:.1f}"],
        [f"{task}, {DRAWS:,} bootstrap samples", "conjury", f"{own:.2f}", "1.0"],
        ["", name, f"{other:.1f}", f"{other / own:,.0f}"],
    ]


def ordinal(panel: RatingPanel) -> Numbers:
    return lambda drawn: krippendorff(panel, None, drawn)[:, None]


def by_krippendorff(values: np.ndarray) -> np.ndarray:
    return np.array([peer_alpha.alpha(values.T, value_domain=range(5), level_of_measurement="ordinal")])


def fleiss(panel: RatingPanel) -> Numbers:
    return lambda drawn: corrected.coefficient(panel, np.eye(panel.q), drawn, "fleiss")[:, None]


def by_statsmodels(values: np.ndarray) -> np.ndarray:
    return np.array([inter_rater.fleiss_kappa(inter_rater.aggregate_raters(values)[0])])


def six_icc(panel: RatingPanel) -> Numbers:
    def of(drawn: np.ndarray) -> np.ndarray:
        single = icc.icc_from_mean_squares(icc.mean_squares(panel, drawn))
        return np.concatenate([single, icc.average_icc(single, panel.n_raters)], axis=1)

    return of


def by_pingouin(values: np.ndarray) -> np.ndarray:
    item, rater = np.nonzero(~np.isnan(values))
    long = pd.DataFrame({"item": item, "rater": rater, "value": values[item, rater]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pingouin.intraclass_corr(long, "item", "rater", "value")
    return np.asarray(found["ICC"], dtype=float)


def whole_call(values: np.ndarray) -> list[Any]:
    """Everything that `agreement` has, from judgments to intervals."""
    item, rater = np.nonzero(~np.isnan(values))
    judgments = pd.DataFrame(
        {
            "judge_id": np.char.add("p", rater.astype(str)),
            "judge_kind": "human",
            "item_id": item.astype(str),
            "value": values[item, rater],
        }
    )
    taken = seconds(lambda: agreement(judgments, draws=DRAWS))
    n = len(agreement(judgments, draws=0).frame)
    return [
        f"all {n} coefficients of the ragged panel, {DRAWS:,} bootstrap samples",
        "conjury",
        f"{taken:.1f}",
        "",
    ]


if __name__ == "__main__":
    main()
