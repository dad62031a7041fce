"""The contract between collecting and analysing: which tables there are and what a valid one looks like.

All tables are long, one observation a row. Columns beyond the declared ones (attributes, strata,
covariates) are free. In every error a row is a data row counted from 1, the header not included.

A model may be asked the same pair in the same positions several times: ``sample`` counts its answers, and
where it is absent or missing there is one. Choices between the two profiles of an earlier pair have a
``pair_id`` of their own, ``repeat`` true, and the earlier ``pair_id`` in ``repeat_of``, for people and models
alike. A repeat without ``repeat_of`` is linked by its ``pair_id``, which may be the earlier one or end in
``_swapped`` after it, and only without such a link by the profiles that it shows.

Where the study file has a section ``instrument``, judgments and choices have six further columns, and
``pair_kind`` marks such tables. ``option_order``, ``option_labels`` and ``scale_direction`` state how the
question was put (missing where the form of answer has no such thing). ``parser`` is the rule by which the
answer was read: one answer has a row for each parser. ``occasion`` counts from 1 when it was asked.
``pair_kind`` states why: as part of the design, as an anchor (part of the design that is asked again on
later occasions), or as a vacuum or same-quality pair.

Where the tasks of people were sampled from those of models, ``sampling_probability`` is the probability with
which a task was sampled, above 0 and up to 1; it is missing where tasks were drawn otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, Problems, did_you_mean, listed, unknown_name
from .columns import coerce, refuse
from .frames import any_frame, value_in_words

STATUSES = ("ok", "refused", "empty", "truncated", "unparsed", "error", "missing")
POSITIONS = ("A", "B")
SWAPPED_SUFFIX = "_swapped"  # ends the pair_id of a repeat whose sides are swapped, after the first pair_id
OPTION_ORDERS = ("given", "swapped")
OPTION_LABELS = ("letters", "numbers", "first_second")
SCALE_DIRECTIONS = ("ascending", "descending")
PAIR_KINDS = ("design", "vacuum", "same_quality", "anchor")
PAIR_KIND = "pair_kind"  # column that marks answers of a study with an instrument
SYNONYMS = {  # names that columns often have elsewhere
    "judge_id": ("rater", "rater_id", "annotator", "annotator_id", "judge", "worker_id", "participant_id"),
    "item_id": ("item", "id", "question_id", "sample_id", "text_id"),
    "value": ("rating", "score", "label", "answer"),
    "pair_id": ("pair", "task_id", "contest_id", "choice_set"),
    "position": ("profile", "side", "alternative", "alt"),
    "chosen": ("choice", "selected", "picked"),
}
PROBABILITY = "probability"  # column of choices: how likely the profile of the row was to be chosen
CHOICE_OUTCOMES = frozenset({"chosen", PROBABILITY})  # means are percentages, changes percentage points
LABEL_COLUMNS = ("label_by", "label_blind", "label_sampled", "judge_saw_label")  # how labels came about
SAMPLING = "sampling_probability"  # how likely the task was to be among those that people judge
SUM_TOLERANCE = 1e-6  # how far the probabilities of a pair's two profiles may be from 1 together
JUDGE_KINDS = ("human", "model")


@dataclass(frozen=True)
class Field:
    """One declared column: its kind (see ``columns.coerce``) and its valid values."""

    kind: str
    required: bool = False
    nullable: bool = True
    levels: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: bool = False  # whether values are above the minimum instead of at least it


def _key(kind: str = "string") -> Field:
    return Field(kind, required=True, nullable=False)


def _label(levels: tuple[str, ...]) -> Field:
    return Field("label", required=True, nullable=False, levels=levels)


_COUNT = Field("integer", minimum=0)
_AMOUNT = Field("number", minimum=0)
_TEXT = Field("string")
_SAMPLED = Field("number", minimum=0, maximum=1, above=True)
INSTRUMENT: dict[str, Field] = {
    "option_order": Field("label", levels=OPTION_ORDERS),
    "option_labels": Field("label", levels=OPTION_LABELS),
    "scale_direction": Field("label", levels=SCALE_DIRECTIONS),
    "parser": _TEXT,
    "occasion": Field("integer", minimum=1),
    PAIR_KIND: Field("label", levels=PAIR_KINDS),
}
_ASKED = {
    "judge_id": _key(),
    "judge_kind": _label(JUDGE_KINDS),
    "item_id": _TEXT,
    "task_id": Field("id"),
    "prompt_id": _TEXT,
    "sample": Field("integer", required=True, nullable=False, minimum=0),
}

TABLES: dict[str, dict[str, Field]] = {
    "items": {
        "item_id": _key(),
        "modality": Field("label", nullable=False, levels=("text", "image", "video")),
        "text": _TEXT,
        "media": _TEXT,
        "media_sha256": _TEXT,
    },
    "labels": {"item_id": _key(), "label_set": _key(), "label": _key("free")},
    "profiles": {"profile_id": _key("integer")},
    "tasks": {
        "task_id": _key("id"),
        "position": _label(POSITIONS),
        "profile_id": _key("integer"),
        SAMPLING: _SAMPLED,
    },
    "panel_tasks": {
        "judge_id": _key(),
        "task_id": _key("id"),
        "task": Field("integer", required=True, nullable=False, minimum=1),
        "position": _label(POSITIONS),
        "profile_id": _key("integer"),
        "repeat": Field("boolean", required=True, nullable=False),
        "repeat_of": Field("id", required=True),
        SAMPLING: _SAMPLED,
    },
    "responses": {
        "study": _key(),
        **_ASKED,
        "text": Field("string", required=True),
        "finish_reason": _TEXT,
        "logprobs": Field("free"),
        "model_returned": _TEXT,
        "system_fingerprint": _TEXT,
        "prompt_tokens": _COUNT,
        "completion_tokens": _COUNT,
        "cost": _AMOUNT,
        "latency": _AMOUNT,
        "request_key": _key(),
        "created": Field("timestamp", required=True),
        "error": _TEXT,
    },
    "judgments": {
        **_ASKED,
        "dimension": _key(),
        "value": Field("free", required=True),
        "status": _label(STATUSES),
        SAMPLING: _SAMPLED,
    },
    "choices": {
        "judge_id": _key(),
        "judge_kind": _label(JUDGE_KINDS),
        "prompt_id": _TEXT,
        "pair_id": _key("id"),
        "task": Field("integer", minimum=1),
        "position": _label(POSITIONS),
        "profile_id": Field("integer"),
        "text": _TEXT,
        "user": _TEXT,
        "chosen": Field("binary", required=True),
        "status": _label(STATUSES),
        "repeat": Field("boolean", nullable=False),
        "repeat_of": Field("id"),
        "sample": Field("integer", minimum=0),
        PROBABILITY: Field("number", minimum=0, maximum=1),
        SAMPLING: _SAMPLED,
    },
}

KEYS: dict[str, tuple[str, ...]] = {
    "items": ("item_id",),
    "labels": ("item_id", "label_set"),
    "profiles": ("profile_id",),
    "tasks": ("task_id", "position"),
    "panel_tasks": ("judge_id", "task_id", "position"),
    "responses": ("request_key", "sample"),
    "judgments": ("judge_id", "prompt_id", "item_id", "task_id", "dimension", "sample"),
    "choices": ("judge_id", "prompt_id", "pair_id", "repeat", "sample", "position"),
}


@any_frame
def validate(frame: pd.DataFrame, table: str, source: str | None = None) -> pd.DataFrame:
    """Check a table against the contract and bring its declared columns to their types.

    Text becomes ``string``, times UTC, ``chosen`` Int8, and labels (``status``, ``position``, ...)
    unordered categoricals. Beyond types it checks required and empty cells, allowed levels, duplicates of
    the table's key, and, for ``choices``, that each forced choice has two rows in different positions
    with exactly one chosen where both answers are ok, and probabilities of being chosen that sum to 1
    where both are there.

    Parameters
    ----------
    frame : DataFrame
        The table of n rows; it is not changed.
    table : str
        Name of the table, see ``TABLES``.
    source : str, optional
        What errors call it, such as a file name; by default the table's name.

    Returns
    -------
    DataFrame
        The n rows with the same columns and a fresh row index.

    Raises
    ------
    InputError
        One sentence with table or file, column, first offending row, number of further rows, remedy.

    Examples
    --------
    >>> labels = pd.DataFrame({"item_id": ["j1"], "label_set": ["gold"], "label": ["safe"]})
    >>> str(validate(labels, "labels")["item_id"].dtype)
    'string'
    """
    source = source or f"table '{table}'"
    fields = fields_of(table)
    require_columns(frame, [name for name, field in fields.items() if field.required], source)
    typed = frame.reset_index(drop=True)
    kinds = {name: field for name, field in fields.items() if name in typed}
    kinds |= {name: INSTRUMENT[name] for name in instrument_columns(typed, table)}
    problems = Problems()
    for name, field in kinds.items():
        with problems.also():
            typed[name] = coerce(typed[name], field.kind, source, field.levels)
    problems.refuse()
    _check_values(typed, kinds, source)
    _check_subject(typed, table, source)
    _check_key(typed, table, source)
    if table == "choices":
        _check_forced_choices(typed, source)
    return typed


def instrument_columns(frame: pd.DataFrame, table: str = "choices") -> list[str]:
    """Name the columns of a table that state how and why an instrument was put; none without `pair_kind`."""
    if table not in ("choices", "judgments") or PAIR_KIND not in frame:
        return []
    return [name for name in INSTRUMENT if name in frame]


def _key_of(frame: pd.DataFrame, table: str) -> list[str]:
    further = [name for name in instrument_columns(frame, table) if name != PAIR_KIND]
    return [name for name in (*KEYS[table], *further) if name in frame]


def fields_of(table: str) -> dict[str, Field]:
    """Return the declared columns of a table.

    Parameters
    ----------
    table : str
        Name of the table, see ``TABLES``.

    Returns
    -------
    dict of str to Field
        Fields by column.

    Raises
    ------
    InputError
        There is no such table.

    Examples
    --------
    >>> [name for name, field in fields_of("labels").items() if field.required]
    ['item_id', 'label_set', 'label']
    """
    if table not in TABLES:
        raise unknown_name("table", table, TABLES)
    return TABLES[table]


def require_columns(frame: pd.DataFrame, columns: list[str], source: str, option: str = "") -> None:
    """Refuse a table that lacks a column.

    Parameters
    ----------
    frame : DataFrame
        The table.
    columns : list of str
        Columns that it must have.
    source : str
        What errors call it, such as a file name.
    option : str
        The option that renames columns of this table, if there is one.

    Raises
    ------
    InputError
        For the first column that is missing, with the closest name that the table has.

    Examples
    --------
    >>> table = pd.DataFrame({"item": ["j1"]})
    >>> require_columns(table, ["item_id"], "labels.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    conjury.inference.errors.InputError: labels.csv: column 'item_id' is missing (did you mean 'item'?); ...
    """
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"{source}: {value_in_words(frame)} is no table; give a DataFrame.")
    duplicates = frame.columns[frame.columns.duplicated()]
    if len(duplicates):
        raise InputError(f"{source}: column '{duplicates[0]}' occurs twice; rename or drop one of them.")
    for column in columns:
        if column not in frame:
            other_names = [str(name) for name in frame.columns if name not in columns]
            hint = did_you_mean(column, other_names)
            likely = next(
                (name for name in other_names if name.casefold() in SYNONYMS.get(column, ())), "THEIRS"
            )
            rename_hint = f", as {option} {likely}={column}" if option else ""
            raise InputError(
                f"{source}: column '{column}' is missing{hint}; add or rename it{rename_hint} (there are: "
                f"{listed(frame.columns)})."
            )


def _check_values(frame: pd.DataFrame, fields: dict[str, Field], source: str) -> None:
    """Refuse empty cells where every row needs one, and values outside the bounds of their field."""
    problems = Problems()
    for column, field in fields.items():
        with problems.also():
            if not field.nullable and (empty := frame[column].isna().to_numpy()).any():
                refuse(source, column, empty, "is empty", "fill it in, every row needs one")
        with problems.also():
            if field.minimum is not None:
                _check_bounds(frame[column], field, field.minimum, source)
    problems.refuse()


def _check_bounds(column: pd.Series[Any], field: Field, minimum: float, source: str) -> None:
    values = column.to_numpy(dtype=float, na_value=np.nan)
    bad = (values <= minimum) if field.above else (values < minimum)
    able = f"of at least {minimum}"
    if field.maximum is not None:
        bad |= values > field.maximum
        start = f"above {minimum:g} and up" if field.above else f"from {minimum:g}"
        able = f"{start} to {field.maximum:g}"
    if bad.any():
        value = column.iloc[int(np.flatnonzero(bad)[0])]
        refuse(source, str(column.name), bad, f"contains {value}", f"write a value {able}")


def _check_subject(frame: pd.DataFrame, table: str, source: str) -> None:
    if table not in ("responses", "judgments"):
        return
    subjects = [name for name in ("item_id", "task_id") if name in frame]
    if not subjects:
        raise InputError(f"{source}: column 'item_id' is missing; add it, or 'task_id' for a conjoint.")
    bad = frame[subjects].isna().all(axis=1).to_numpy()
    if bad.any():
        refuse(source, subjects[0], bad, "is empty", "name the item or the task that was judged")


def _check_key(frame: pd.DataFrame, table: str, source: str) -> None:
    key = _key_of(frame, table)
    bad = frame.duplicated(key).to_numpy()
    if bad.any():
        cells = frame.loc[int(np.flatnonzero(bad)[0]), key]
        row_text = ", ".join(f"{name} {value}" for name, value in cells.items() if not pd.isna(value))
        refuse(
            source,
            key[-1],
            bad,
            f"repeats an earlier row ({row_text})",
            f"keep one row for each{_hint_on_dimension(frame, key)}",
        )


def _hint_on_dimension(frame: pd.DataFrame, key: list[str]) -> str:
    """A further column of few values that tells judgments of one dimension apart: it may name dimensions."""
    if "dimension" not in key or frame["dimension"].nunique() > 1:
        return ""
    further = frame[[name for name in frame if name not in TABLES["judgments"]]].astype("string")
    for name in further:
        has_few_values = 1 < further[name].nunique() <= len(frame) / 2
        if has_few_values and not frame[key].assign(apart=further[name]).duplicated().any():
            return f"; if column '{name}', in which they differ, names what was rated, call it 'dimension'"
    return ""


def _check_forced_choices(frame: pd.DataFrame, source: str) -> None:
    ok = (frame["status"] == "ok").to_numpy()
    unanswered = ok & frame["chosen"].isna().to_numpy()
    if unanswered.any():
        remedy = "write 0 or 1, or a status that says why there is no answer"
        refuse(source, "chosen", unanswered, "is empty although its status is ok", remedy)
    keys = [name for name in _key_of(frame, "choices") if name != "position"]
    pairs = frame.groupby(keys, dropna=False, observed=True, sort=False).ngroup().to_numpy()
    sizes = np.bincount(pairs)
    lone = sizes[pairs] != len(POSITIONS)
    if lone.any():
        pair = frame["pair_id"].iloc[int(np.flatnonzero(lone)[0])]
        problem = f"belongs to pair {pair}, which has one row"
        refuse(source, "pair_id", lone, problem, "keep both profiles, one in position A and one in B")
    chosen = frame["chosen"].fillna(0).to_numpy(dtype=np.int64)
    both_ok = np.bincount(pairs, weights=ok) == len(POSITIONS)
    wrong = (both_ok & (np.bincount(pairs, weights=chosen) != 1))[pairs]
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        which = "both profiles are chosen" if chosen[row] else "neither profile is chosen"
        problem = f"belongs to pair {frame['pair_id'].iloc[row]}, where {which}"
        remedy = "mark one of the two as chosen, or set a status other than ok"
        refuse(source, "chosen", wrong, problem, remedy)
    _check_probabilities(frame, pairs, source)


def _check_probabilities(frame: pd.DataFrame, pairs: np.ndarray, source: str) -> None:
    """Refuse pairs whose two probabilities of being chosen do not sum to 1; ``pairs`` numbers them by row."""
    if PROBABILITY not in frame or frame[PROBABILITY].isna().all():
        return
    sums = np.bincount(pairs, weights=frame[PROBABILITY].to_numpy(dtype=float))
    wrong = (np.abs(sums - 1) > SUM_TOLERANCE)[pairs]
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        problem = (
            f"belongs to pair {frame['pair_id'].iloc[row]}, whose probabilities sum to {sums[pairs[row]]:.6g}"
        )
        remedy = "write the probability of choosing the profile of the row, so that those of a pair sum to 1"
        refuse(source, PROBABILITY, wrong, problem, remedy)
