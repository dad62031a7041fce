"""How many answers change when the same requests are asked again."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import as_text
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.schema import INSTRUMENT

from ..numerics.intervals import check_alpha, wilson
from ..results import Result

CHANGES = {"parsed answer": "parsed_changed", "text": "text_changed"}  # by quantity


@any_frame
def determinism(pairs: pd.DataFrame, *, alpha: float = 0.05) -> Result:
    """Estimate the share of answers that change when identical requests are asked again.

    Answers of an engine at temperature 0 may change with what else is in a batch, with versions and with
    parallel sizes. The share is estimated from requests that were drawn at random among those answered.

    Parameters
    ----------
    pairs : DataFrame
        One row per request, as ``conjury collect --recheck`` writes them to ``rechecked.parquet``: judge,
        prompt, facets of an instrument, ``parsed_changed`` and ``text_changed``.
    alpha : float
        One minus the level of the intervals.

    Returns
    -------
    Result
        One row per ``judge, condition, level, quantity`` ("parsed answer" or "text"): ``n_changed, n,
        estimate, lower, upper``; the interval is Wilson's. Conditions are the prompt and the facets of an
        instrument, each that varies by itself; rows with an empty condition are about all requests of a
        judge.

    Raises
    ------
    InputError
        For an impossible ``alpha``.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of the
    American Statistical Association 22(158), 209-212. doi:10.1080/01621459.1927.10502953

    Examples
    --------
    >>> pairs = pd.DataFrame({"judge_id": "m", "prompt_id": "p", "parsed_changed": [True] + 99 * [False],
    ...     "text_changed": 10 * [True] + 90 * [False]})
    >>> determinism(pairs).frame[["quantity", "estimate", "lower", "upper"]].round(3).values.tolist()
    [['parsed answer', 0.01, 0.002, 0.054], ['text', 0.1, 0.055, 0.174]]
    """
    check_alpha(alpha)
    pairs = pairs.reset_index(drop=True)
    conditions = {"prompt": "prompt_id"} | {name: name for name in INSTRUMENT if name != "parser"}
    judges = as_text(pairs["judge_id"])
    tables = [_shares(pairs, judges, "", pd.Series("", index=pairs.index), alpha)]
    for condition, column in conditions.items():
        if column not in pairs:
            continue
        level = as_text(pairs[column]).fillna("")
        several = level.groupby(judges).transform("nunique") > 1
        if several.any():
            tables.append(_shares(pairs[several], judges, condition, level, alpha))
    frame = pd.concat(tables, ignore_index=True)
    order = frame["judge"].map({judge: place for place, judge in enumerate(dict.fromkeys(judges))})
    frame = frame.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)
    return Result(frame, "determinism", settings={"alpha": alpha})


def _shares(
    pairs: pd.DataFrame, judges: pd.Series, condition: str, level: pd.Series, alpha: float
) -> pd.DataFrame:
    """Count changed answers by judge and level of one condition, and bound their shares."""
    named = pairs[list(CHANGES.values())].assign(judge=judges, condition=condition, level=level)
    keys = ["judge", "condition", "level"]
    groups = named.groupby(keys, sort=False)
    parts = [
        groups[column].agg(n_changed="sum", n="size").reset_index().assign(quantity=quantity)
        for quantity, column in CHANGES.items()
    ]
    table = pd.concat(parts, ignore_index=True)[[*keys, "quantity", "n_changed", "n"]]
    share, n = (table["n_changed"] / table["n"]).to_numpy(float), table["n"].to_numpy(float)
    lower, upper = wilson(share, n, alpha)
    return table.assign(estimate=share, lower=lower, upper=upper)
