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
EVERY = ""  # prompt of a row about all prompts of a judge


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
        One row per ``judge, prompt``, facets that vary, and ``quantity`` ("parsed answer" or "text"):
        ``n_changed, n, estimate, lower, upper``; the interval is Wilson's. Rows with an empty prompt are
        about all requests of a judge, where these have several conditions.

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
    facets = [
        name
        for name in INSTRUMENT
        if name in pairs and name != "parser" and pairs[name].nunique(dropna=False) > 1
    ]
    rows = pd.DataFrame(
        {"judge": as_text(pairs["judge_id"]), "prompt": as_text(pairs["prompt_id"]).fillna(EVERY)}
    )
    rows = rows.assign(**{name: as_text(pairs[name]).fillna("") for name in facets})
    keys = list(rows.columns)
    rows = rows.assign(**{name: pairs[name].to_numpy(bool) for name in CHANGES.values()})
    tables = [_shares(rows.assign(**dict.fromkeys(keys[1:], EVERY)), keys, alpha), _shares(rows, keys, alpha)]
    several = rows[keys].drop_duplicates().groupby("judge").size() > 1
    tables[0] = tables[0][tables[0]["judge"].map(several).to_numpy(bool)]
    frame = pd.concat(tables, ignore_index=True)
    order = frame["judge"].map({judge: place for place, judge in enumerate(dict.fromkeys(rows["judge"]))})
    frame = frame.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)
    return Result(frame, "determinism", settings={"alpha": alpha})


def _shares(rows: pd.DataFrame, keys: list[str], alpha: float) -> pd.DataFrame:
    """Count changed answers by the keys, and bound their shares."""
    groups = rows.groupby(keys, sort=False, dropna=False)
    parts = [
        groups[column].agg(n_changed="sum", n="size").reset_index().assign(quantity=quantity)
        for quantity, column in CHANGES.items()
    ]
    table = pd.concat(parts, ignore_index=True)[[*keys, "quantity", "n_changed", "n"]]
    share, n = (table["n_changed"] / table["n"]).to_numpy(float), table["n"].to_numpy(float)
    lower, upper = wilson(share, n, alpha)
    return table.assign(estimate=share, lower=lower, upper=upper)
