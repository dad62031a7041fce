"""Published effects of the moderation study, compared with ours under the published and the correct join."""

from __future__ import annotations

import pandas as pd

from conjury.inference.errors import InputError

from ..figures.labels import refuse_repeats, rows_of_one_prompt

KEYS = ["judge", "feature", "level"]
PRINTED = "printed"  # source of published estimates


def compare_moderation(
    published: pd.DataFrame, estimates: pd.DataFrame, *, prompt: str | None = None
) -> pd.DataFrame:
    """Stack printed and recomputed estimates, with their difference from the printed ones.

    Parameters
    ----------
    published : DataFrame
        ``judge, feature, level, estimate, lower, upper``, as printed.
    estimates : DataFrame
        AMCEs with ``judge`` and ``variant`` (``""`` or ``"as_published"``), and ``prompt``.
    prompt : str, optional
        Which prompt to compare; by default ``baseline`` where there is one, else each judge's first.

    Returns
    -------
    DataFrame
        ``judge, feature, level, source, estimate, lower, upper, difference``, with ``source``
        ``"printed"`` or the variant, for judges and levels that occur in both tables.

    Raises
    ------
    InputError
        When no judge and level occurs in both.

    Examples
    --------
    >>> printed = pd.DataFrame({"judge": ["m"], "feature": ["curse"], "level": ["curse"],
    ...     "estimate": [0.02], "lower": [0.01], "upper": [0.03]})
    >>> both = compare_moderation(printed, printed.assign(variant="", prompt="", estimate=0.025))
    >>> both["difference"].round(3).tolist()
    [0.0, 0.005]
    """
    ours = rows_of_one_prompt(estimates, prompt)
    levels = pd.MultiIndex.from_frame(ours[KEYS].astype("string")).drop_duplicates()
    printed = published.assign(source=PRINTED, **{key: published[key].astype("string") for key in KEYS})
    printed = printed[pd.MultiIndex.from_frame(printed[KEYS]).isin(levels)]
    if printed.empty:
        raise InputError("The published table and the estimates share no judge and level to compare.")
    printed_keys = pd.MultiIndex.from_frame(printed[KEYS])
    ours = ours.assign(source=ours["variant"].fillna(""), **{key: ours[key].astype("string") for key in KEYS})
    order = list(levels[levels.isin(printed_keys)])
    ours = ours[pd.MultiIndex.from_frame(ours[KEYS]).isin(printed_keys)]
    columns = [*KEYS, "source", "estimate", "lower", "upper"]
    table = pd.concat([printed[columns], ours[columns]], ignore_index=True)
    place = {key: position for position, key in enumerate(order)}
    table["_place"] = [place[tuple(key)] for key in table[KEYS].itertuples(index=False)]
    table = table.sort_values("_place", kind="stable").drop(columns="_place").reset_index(drop=True)
    refuse_repeats(table[[*KEYS, "source"]], "keep one row for each judge, level and variant")
    at_print = printed.set_index(KEYS)["estimate"].astype(float)
    expected = at_print.reindex(pd.MultiIndex.from_frame(table[KEYS])).to_numpy()
    return table.assign(difference=table["estimate"].astype(float).to_numpy() - expected)
