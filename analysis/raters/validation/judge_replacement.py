"""The alternative annotator test on the rows of a table: whether the judge may replace a person."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.errors import counted

from ...frames.vocabulary import HUMAN
from ...numerics.intervals.bounded import BoundedEstimate, Flags, n_clusters
from ..ratings import Ratings
from ..replacement.alt_test import alt_test
from ..replacement.decide import FEW_ANNOTATORS, FEW_INSTANCES
from .coding import CodedRows
from .validation_rows import REPLACEMENT, TestRows

JUDGE = "judge"
DRAWN = 2_000_000  # draws times items, beyond which fewer draws are made
LEAST, MOST = 200, 1000  # draws


def add_replacement(
    rows: TestRows, coded: CodedRows, epsilon: float, alpha: float, notes: list[str]
) -> dict[str, pd.DataFrame]:
    """Add winning rate and advantage probability where people are enough; the tests of each as a table."""
    is_rated = np.isfinite(coded.rated)
    mask = np.isfinite(coded.judged[0]) & (is_rated.sum(axis=0) > 1)
    each = (is_rated & mask).sum(axis=1)
    people = int((each >= FEW_INSTANCES).sum())
    if len(coded.rated) < 2:
        return {}
    if people < FEW_ANNOTATORS:
        notes.append(
            f"No replacement test: it needs {FEW_ANNOTATORS} people with {FEW_INSTANCES} judged items each "
            f"that another person rated, too; there {'is' if people == 1 else 'are'} "
            f"{counted(people, 'such person', 'such people')}."
        )
        return {}
    ratings = ratings_of(coded, mask)
    draws = int(np.clip(DRAWN // max(int(mask.sum()), 1), LEAST, MOST))
    clustered = n_clusters(coded.cluster) < coded.n
    test = alt_test(
        ratings, JUDGE, epsilon=epsilon, cluster="cluster" if clustered else None, alpha=alpha, draws=draws
    )
    row = test.frame.iloc[0]
    n, clusters = int(row["n_items"]), n_clusters(coded.cluster[mask])
    for measure in ("winning_rate", "advantage_probability"):
        numbers = (float(row[column]) for column in (measure, f"{measure}_lower", f"{measure}_upper"))
        estimate, lower, upper = numbers
        if lower <= 0 and upper >= 1:  # draws of items gave every result
            lower = upper = np.nan
        rows.add(REPLACEMENT, measure, BoundedEstimate(estimate, np.nan, lower, upper, n, clusters))
    rows.number(REPLACEMENT, "smallest_epsilon", float(row["smallest_epsilon"]), n)
    notes += [note for note in test.notes if note not in notes]
    return {"annotators": test.extra["annotators"].drop(columns="dimension")}


def ratings_of(coded: CodedRows, mask: Flags) -> Ratings:
    """The answers of people and of the judge to the rows used, as the test takes them."""
    values = np.vstack([coded.rated, coded.judged[:1]])[:, mask]
    rater, item = np.nonzero(np.isfinite(values))
    value = values[rater, item]
    categories, category = np.unique(value, return_inverse=True)
    names = np.array([*coded.people_names, JUDGE], dtype=object)
    kinds = np.array([*[HUMAN] * len(coded.people_names), "model"], dtype=object)
    numeric = coded.scale != "nominal"
    labels = (
        tuple(coded.classes[int(code)] for code in categories) if not numeric else tuple(categories.tolist())
    )
    frame = pd.DataFrame(
        {
            "judge": names[rater],
            "kind": kinds[rater],
            "item": item,
            "item_id": item,
            "sample": np.ones(len(item), dtype=np.int64),
            "value": value if numeric else np.array(labels, dtype=object)[category],
            "cluster": coded.cluster[mask][item],
        }
    )
    judges = tuple(str(name) for name in names)
    return Ratings(
        frame=frame,
        category=category.astype(np.int64),
        item=item.astype(np.int64),
        judge=rater.astype(np.int64),
        categories=labels,
        items=tuple(map(str, range(int(mask.sum())))),
        judges=judges,
        kinds=tuple(kinds),
        groups=(*[HUMAN] * len(coded.people_names), JUDGE),
        numeric=numeric,
        exclusions=pd.DataFrame(),
    )
