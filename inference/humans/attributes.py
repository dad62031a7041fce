"""Attributes and levels of a survey: their words, their order, and ids that a study file can use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError
from ..study.checks import CHOICE_COLUMNS
from ..tables.columns import did_you_mean, listed, refuse
from ..tables.files import load_text
from ..tables.schema import TABLES
from .export import PROFILES, Export, Texts

Integers = NDArray[np.int64]

LONGEST = 48
LABELS = ["attribute", "level", "attribute_id", "level_id"]
TAKEN = {*CHOICE_COLUMNS, *TABLES["choices"], "origin", "panel"}


def find_labels(export: Export) -> pd.DataFrame:
    """Attributes and levels of an export in order of first appearance.

    Returns
    -------
    DataFrame
        ``attribute, level`` in the words of the survey, ``attribute_id, level_id``; one row a level.
    """
    names = np.broadcast_to(export.names[:, :, None], export.levels.shape)
    found = pd.DataFrame({"attribute": names.reshape(-1), "level": export.levels.reshape(-1)})
    found = found.dropna().drop_duplicates(ignore_index=True)
    rank = pd.factorize(found["attribute"])[0]
    return _with_ids(found.iloc[np.argsort(rank, kind="stable")].reset_index(drop=True))


def read_labels(path: str | Path) -> pd.DataFrame:
    """Read a labels table: attributes and levels in display order, the reference level first.

    Parameters
    ----------
    path : a CSV with columns ``attribute`` and ``level``, one row a level; ``attribute_id`` and ``level_id``
        are made from the words where they are absent.

    Raises
    ------
    InputError
        A column is missing, a cell is empty, or a level is listed twice.
    """
    table, source = load_text(path), str(path)
    for column in LABELS[:2]:
        if column not in table:
            raise InputError(
                f"{source}: column '{column}' is missing{did_you_mean(column, table.columns)}; add it."
            )
    for column in table.columns.intersection(LABELS):
        empty = table[column].isna().to_numpy()
        if empty.any():
            refuse(source, column, empty, "is empty", "fill it in, every row needs one")
    table = table.apply(lambda column: column.str.strip())
    twice = table.duplicated(LABELS[:2]).to_numpy()
    if twice.any():
        level = table["level"].iloc[int(twice.argmax())]
        refuse(source, "level", twice, f"lists '{level}' again", "list each level once")
    rank = pd.factorize(table["attribute"])[0]
    return _with_ids(table.iloc[np.argsort(rank, kind="stable")].reset_index(drop=True))


def attribute_codes(export: Export, labels: pd.DataFrame) -> Integers:
    """Which attribute of ``labels`` each place shows, shape (n, T, A); -1 where no task was shown.

    Raises
    ------
    InputError
        A name is none of the attributes, or occurs twice in a task.
    """
    known = labels["attribute"].unique().tolist()
    codes = _codes(export.names, known)
    for task in range(len(export.tasks)):
        for place in range(codes.shape[2]):
            column, own = export.name_column(task, place), codes[:, task, place]
            unknown = (own < 0) & export.shown[:, task]
            _refuse_unknown(export, column, export.names[:, task, place], unknown, known, "attribute")
            twice = (own >= 0) & (codes[:, task, :place] == own[:, None]).any(axis=1)
            if twice.any():
                name = export.names[int(twice.argmax()), task, place]
                remedy = "show each attribute once in a task"
                refuse(export.source, column, twice, f"repeats attribute '{name}'", remedy)
    if len(known) != codes.shape[2]:
        raise InputError(
            f"{export.source}: there are {len(known)} attributes ({listed(known)}), but every task shows "
            f"{codes.shape[2]}; keep the attributes that all tasks show, or correct their names."
        )
    return codes


def level_codes(export: Export, labels: pd.DataFrame, attributes: Integers) -> Integers:
    """Level of each attribute of ``labels``, shape (n, T, 2, attributes); -1 where no task was shown.

    Raises
    ------
    InputError
        A level is not among the levels of its attribute.
    """
    place_of = np.argsort(attributes, axis=2)
    texts = np.take_along_axis(export.levels, place_of[:, :, None], axis=3)
    codes = np.empty(texts.shape, dtype=np.int64)
    for index, (name, rows) in enumerate(labels.groupby("attribute", sort=False)):
        known = rows["level"].tolist()
        codes[..., index] = _codes(texts[..., index], known)
        unknown = (codes[..., index] < 0) & export.shown[:, :, None]
        for task, profile in np.ndindex(len(export.tasks), PROFILES):
            bad = unknown[:, task, profile]
            if bad.any():
                place = int(place_of[int(bad.argmax()), task, index])
                column = export.level_column(task, profile, place)
                texts_here = texts[:, task, profile, index]
                _refuse_unknown(export, column, texts_here, bad, known, f"level of '{name}'")
    return codes


def make_ids(texts: Iterable[str], prefix: str, taken: Iterable[str] = ()) -> list[str]:
    """Turn words into distinct ids of lower-case letters, digits and underscores.

    Parameters
    ----------
    prefix : what goes before an id that would begin with a digit
    taken : ids that are not free

    Examples
    --------
    >>> make_ids(["Housing Cost", "15% of income", "15 % of income"], "level")
    ['housing_cost', 'level_15_of_income', 'level_15_of_income_2']
    """
    used, ids = set(taken), []
    for text in texts:
        plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
        words = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
        words = words if re.match("[a-z]", words) else f"{prefix}_{words}".rstrip("_")
        base = words if len(words) <= LONGEST else words[: LONGEST + 1].rpartition("_")[0] or words[:LONGEST]
        name, number = base, 2
        while name in used:
            name, number = f"{base}_{number}", number + 1
        used.add(name)
        ids.append(name)
    return ids


def _with_ids(labels: pd.DataFrame) -> pd.DataFrame:
    attributes = labels.drop_duplicates("attribute")
    words = attributes["attribute_id" if "attribute_id" in labels else "attribute"].tolist()
    ids = make_ids(words, "attribute", TAKEN)
    by_name = dict(zip(attributes["attribute"], ids, strict=True))
    levels = labels["level_id" if "level_id" in labels else "level"]
    level_ids = [
        name
        for _, rows in levels.groupby(labels["attribute"], sort=False)
        for name in make_ids(rows, "level")
    ]
    return labels.assign(attribute_id=labels["attribute"].map(by_name), level_id=level_ids)[LABELS]


def _codes(texts: Texts, known: Sequence[str]) -> Integers:
    flat = pd.Index(known).get_indexer(pd.Index(texts.reshape(-1)))
    return flat.reshape(texts.shape).astype(np.int64)


def _refuse_unknown(
    export: Export, column: str, texts: Texts, bad: NDArray[np.bool_], known: Sequence[str], what: str
) -> None:
    if bad.any():
        text = str(texts[int(bad.argmax())])
        problem = f"holds '{text}', which is no {what}{did_you_mean(text, known)}"
        refuse(export.source, column, bad, problem, f"use one of: {listed(known)}; or mend the labels table")
