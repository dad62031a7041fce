"""Judgments beside gold labels: the public function, for rows in memory and for tables in their engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.schema import SAMPLING

from ...frames.stored import is_stored, read_rows
from .scoring import Scored, score_rows
from .stored_answers import in_memory, score_stored


@any_frame
def score(
    judgments: pd.DataFrame | str | Path,
    labels: pd.DataFrame | str | Path,
    *,
    classes: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    covers: Mapping[str, Sequence[str]] | None = None,
    items: pd.DataFrame | None = None,
    policy: Mapping[str, str] | None = None,
) -> Scored:
    """Put judgments beside gold labels.

    A judge who answered for an item in a task is scored on every unit of it that has a gold label: lines
    without an answer are rows of status missing. Items that a judge was not asked are none of its units.

    Parameters
    ----------
    judgments : DataFrame, path or Ibis table
        The judgments contract: ``judge_id, judge_kind, item_id, dimension, value, status`` and, where there
        are any, ``prompt_id, sample, condition, base_item_id, position, rule, probability``. Without
        ``status``, rows with a value are ok. A table of Ibis, and a folder, glob or address of Parquet
        files, stay where they are: `scores` and `confusion` send queries there, and other analyses refuse
        them. They are labels of whole original items, not of lines or perturbed copies.
    labels : DataFrame, path or Ibis table
        ``item_id, label_set, label``: the gold labels; ``label_set`` is the dimension. Items without labels
        of their own take those of their ``base_item_id``.
    classes : sequence, or mapping of task to sequence, optional
        Labels that answers may give; by default those that gold contains, then further ones that were given.
    covers : mapping of class to sequence, optional
        Gold labels that count as each class, such as ``{"harmful": ["implicit", "explicit"]}``.
    items : DataFrame, optional
        ``item_id`` and columns to score by: language, modality and the like.
    policy : mapping of status to str, optional
        See `Scored`.

    Returns
    -------
    Scored
        Answers next to gold labels, for `scores` and the other analyses.

    Raises
    ------
    InputError
        For missing columns, sampling probabilities among the labels, a unit with two gold labels, a judgment
        given twice, conditions of judgments that are not those of the items, or nothing to score.

    Examples
    --------
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j2"],
    ...     "dimension": "harm", "value": ["harmful", "safe"]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2"], "label_set": "harm", "label": ["implicit", "implicit"]})
    >>> scored = score(judged, gold, covers={"harmful": ["implicit", "explicit"], "safe": ["safe"]})
    >>> scored.frame["correct"].tolist()
    [True, False]
    """
    gold = in_memory(labels)
    if SAMPLING in gold:
        raise InputError(f"labels: {SAMPLING!r} is a column of the table of items; move it there (items=).")
    if is_stored(judgments):
        return score_stored(judgments, gold, classes, covers or {}, items, policy or {})
    return score_rows(read_rows(judgments), gold, classes, covers or {}, items, policy or {})
