"""One row per decision of a judge, from tables of choices, ratings or labels whose columns name facets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.readers.prepare import judge_of
from conjury.inference.tables.schema import POSITIONS

from ..conjoint.reliability.repeats import presentations
from ..frames.variables import require_column

FACETS = (
    "prompt_id",
    "option_order",
    "option_labels",
    "scale_direction",
    "sample",
    "parser",
    "occasion",
)
PAIR_KIND, ORDER, POSITION = "pair_kind", "option_order", "position"
REPETITION = "sample"
PAIR_UNIT = "pair in either order"  # column of clusters of profiles
CHOICE, RATING, LABEL = "choice", "rating", "label"
ADDED = ("vacuum", "same_quality")  # kinds of pairs that only test judges


@dataclass(frozen=True)
class Decisions:
    """Decisions with their facets."""

    # one row per decision: `judge`, `object` (the two profiles of a pair in either order, or the item),
    # `cluster`, the facets as strings (of choices, `position` is that of the reference profile), and `value`.
    # Of a choice, `value` is 1 if the reference profile of the pair was chosen, `first` is 1 if the first
    # profile shown was chosen, `reference_first` is 1 if the reference profile was shown first, `vacuum`
    # flags pairs of identical profiles, which have no value, `designed` those whose effects are estimated
    # (neither vacuum nor same-quality pairs), and `row_a, row_b` are rows of the data; of other judgments it
    # is `row`. A missing answer has a missing value
    frame: pd.DataFrame
    facets: tuple[str, ...]  # columns of facets that have two levels or more
    kind: str  # "choice", "rating" or "label"


def is_choices(data: pd.DataFrame) -> bool:
    """Whether a table contains choices between two profiles."""
    return "position" in data and "pair_id" in data


def varying_facets(data: pd.DataFrame) -> list[str]:
    """Facets with two levels or more, as `decisions` counts them: a missing value is an empty one."""
    return [name for name in FACETS if name in data and data[name].astype("string").fillna("").nunique() > 1]


def decisions(
    data: pd.DataFrame,
    outcome: str | None = None,
    facets: Sequence[str] | None = None,
    *,
    object: str | None = None,
    cluster: str | None = None,
    features: Sequence[str] | None = None,
) -> Decisions:
    """Bring a table to one row per decision; by default facets are all of `FACETS` that vary."""
    if not isinstance(data, pd.DataFrame) or data.empty:
        raise InputError("The data have no rows; give a table of choices, ratings or labels.")
    for name in [*(facets or ()), *([cluster] if cluster else [])]:
        require_column(data, name)
    names = [name for name in FACETS if name in data] if facets is None else list(dict.fromkeys(facets))
    if is_choices(data):
        facet_columns = list(
            dict.fromkeys(name for name in (*names, *FACETS) if name in data and name != POSITION)
        )
        frame = _choices(data, outcome or "chosen", facet_columns, features)
        kind, rows = CHOICE, frame["row_a"].to_numpy()
    else:
        frame = _judgments(data, outcome or "value", object or "item_id")
        kind = RATING if frame["value"].dtype == np.float64 else LABEL
        rows = np.arange(len(data))
    for name in names:
        if kind == CHOICE and name == POSITION:
            frame[name] = np.where(frame["reference_first"], *POSITIONS)
            continue
        frame[name] = data[name].astype("string").fillna("").to_numpy(dtype=str)[rows]
    if cluster is not None:
        frame["cluster"] = data[cluster].astype("string").fillna("").to_numpy(dtype=str)[rows]
    varying = tuple(name for name in names if frame[name].nunique() > 1)
    if facets is not None and len(varying) < len(names):
        constant = next(name for name in names if name not in varying)
        raise InputError(
            f"Facet {constant!r} has one level in the data; name facets with two levels or more."
        )
    return Decisions(frame, varying, kind)


def _choices(
    data: pd.DataFrame, outcome: str, facets: Sequence[str], features: Sequence[str] | None
) -> pd.DataFrame:
    """Decisions between two profiles."""
    # The reference profile of a pair is the one that is first where the data show the pair first, among
    # presentations in the order of options that the data name first.
    rows = presentations(data, outcome, features, facets)
    vacuum = (rows["key_a"] == rows["key_b"]).to_numpy()
    pair = rows.groupby(["low", "high"], sort=False).ngroup().astype(str).to_numpy()
    order = pd.factorize(rows[ORDER])[0] if ORDER in rows else np.zeros(len(rows))
    earliest = rows.assign(pair=pair, order=order).sort_values(["order", "row_a"]).drop_duplicates("pair")
    reference = earliest.set_index("pair")["key_a"].reindex(pair).to_numpy()
    reference_first = rows["key_a"].to_numpy() == reference
    first = rows["answer"].to_numpy(dtype=float)
    return pd.DataFrame(
        {
            "judge": rows["judge"].to_numpy(),
            "object": pair,
            "cluster": np.where(rows["is_human"], "judge " + rows["judge_id"], "pair " + pair),
            "value": np.where(vacuum, np.nan, np.where(reference_first, first, 1 - first)),
            "first": first,
            "reference_first": reference_first,
            "vacuum": vacuum,
            "designed": ~vacuum & ~_is_added(data)[rows["row_a"].to_numpy()],
            "row_a": rows["row_a"].to_numpy(),
            "row_b": rows["row_b"].to_numpy(),
        }
    )


def _is_added(data: pd.DataFrame) -> np.ndarray:
    """Flag rows of pairs that only test judges and are no part of the design."""
    if PAIR_KIND not in data:
        return np.zeros(len(data), dtype=bool)
    return np.asarray(data[PAIR_KIND].astype("string").isin(ADDED).to_numpy(dtype=bool))


def _judgments(data: pd.DataFrame, outcome: str, object: str) -> pd.DataFrame:
    """Ratings, or labels where the outcome is no number."""
    for name in ("judge_id", object, outcome):
        require_column(data, name)
    if data[object].isna().any():
        row = int(data[object].isna().to_numpy().argmax()) + 1
        raise InputError(f"Row {row} has no {object}; fill it or drop the row.")
    if "dimension" in data and data["dimension"].nunique() > 1:
        dimensions = listed(data["dimension"].astype("string").dropna().unique().tolist())
        raise InputError(f"The judgments are of several dimensions ({dimensions}); give those of one.")
    item = data[object].astype("string").to_numpy(dtype=str)
    return pd.DataFrame(
        {
            "judge": _judges(data),
            "object": item,
            "cluster": item,
            "value": _values(data, outcome),
            "row": np.arange(len(data)),
        }
    )


def _judges(data: pd.DataFrame) -> np.ndarray:
    if "judge_kind" not in data:
        return data["judge_id"].astype("string").fillna("").to_numpy(dtype=str)
    return judge_of(data).astype("string").to_numpy(dtype=str)


def _values(data: pd.DataFrame, outcome: str) -> np.ndarray:
    """Numbers as floats; other values as strings, missing ones as None."""
    column = data[outcome]
    is_missing = column.isna().to_numpy(dtype=bool)
    if "status" in data:
        is_missing = is_missing | (data["status"].astype("string") != "ok").fillna(True).to_numpy(dtype=bool)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    if not np.isnan(numbers[~is_missing]).any():
        return np.where(is_missing, np.nan, numbers)
    texts = column.astype("string").to_numpy(dtype=object)
    texts[is_missing] = None
    return np.asarray(texts)


def by_judge(answers: Decisions) -> list[tuple[str, pd.DataFrame]]:
    """Decisions of each judge, in order of appearance."""
    return [
        (str(name), rows.reset_index(drop=True)) for name, rows in answers.frame.groupby("judge", sort=False)
    ]


def profile_rows(data: pd.DataFrame, decided: pd.DataFrame) -> pd.DataFrame:
    """Both rows of the data of each decision, with its cluster in a column."""
    places = decided[["row_a", "row_b"]].to_numpy(dtype=np.int64).ravel()
    rows = data.iloc[places].reset_index(drop=True)
    return rows.assign(**{PAIR_UNIT: np.repeat(decided["cluster"].to_numpy(), 2)})
