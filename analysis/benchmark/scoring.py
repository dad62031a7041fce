"""Judgments beside gold labels, unit by unit: what every analysis of a benchmark starts from.

A unit is what has one gold label: an item, or a line of an item. What has no gold label is left out and
counted; what has one and no answer stays, with the status that says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.columns import as_text, did_you_mean, listed, refuse
from conjury.inference.errors import InputError
from conjury.inference.tables import require_columns

from ..raters.ratings import Codes, Floats

Flags = NDArray[np.bool_]

NO_ANSWER = -1  # predicted code of a unit without an answer
LINE = "line"  # task of the dimensions line_1, line_2, ...
WRONG, MISSING, STUDY = "wrong", "missing", "study"
POLICIES = (WRONG, MISSING, STUDY)
KEYS = ("judge", "prompt", "task")
_LINE = re.compile(r"line_(\d+)")
_GROUP = ["judge", "judge_kind", "prompt", "task", "item_id", "sample"]
_KEPT = ("condition", "base_item_id", "position", "rule", "finish_reason")  # of the answer, if it is there
_NUMBERS = ("probability", "outside")  # of the unit, if it is there


@dataclass(frozen=True)
class Cell:
    """Answers of one judge with one prompt to one task, in one stratum.

    Attributes
    ----------
    keys : dict
        ``judge, judge_kind, prompt, task`` and the columns of the strata.
    frame : DataFrame
        The rows of `Scored.frame`.
    classes, levels : tuple of str
        Of the task, as in `Scored`.
    """

    keys: Mapping[str, str]
    frame: pd.DataFrame
    classes: tuple[str, ...]
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Scored:
    """n answers to units that have a gold label.

    Attributes
    ----------
    frame : DataFrame of n rows
        ``judge, judge_kind, prompt`` ("" for people), ``task`` (a dimension, or "line"), ``item_id, line``
        (from 1; 0 for whole items), ``sample, gold`` (code in ``classes[task]``), ``level`` (code of the
        gold label itself in ``levels[task]``), ``predicted`` (code; `NO_ANSWER` for none,
        ``len(classes[task])`` for a label outside of the classes), ``status, correct``, and columns of
        items and answers.
    classes : dict of str to tuple of str
        By task: the labels that answers give.
    levels : dict of str to tuple of str
        By task: the labels of gold, which are the classes unless a class covers several.
    covers : dict of str to tuple of str
        By class: the gold labels that count as it; empty where each class is its own gold label.
    policy : dict of str to str
        What an answer with a status other than ok counts as for the study: "wrong", "missing" or a class;
        a status that is not named is "missing".
    notes : tuple of str
        What was left out or found.
    """

    frame: pd.DataFrame
    classes: Mapping[str, tuple[str, ...]]
    levels: Mapping[str, tuple[str, ...]]
    covers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    policy: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks, in order of appearance."""
        return tuple(self.classes)

    def where(self, kept: Flags) -> Scored:
        """The answers where ``kept``, shape (n,), is true."""
        return replace(self, frame=self.frame[np.asarray(kept)].reset_index(drop=True))

    def of(self, **values: object) -> Scored:
        """The answers whose columns have these values, as in ``scored.of(task="line", sample=1)``."""
        kept = np.ones(len(self.frame), dtype=bool)
        for column, value in values.items():
            require_columns(self.frame, [column], "scored judgments")
            here = (self.frame[column] == value).to_numpy(dtype=bool, na_value=False)
            if not here.any():
                known = [str(name) for name in self.frame[column].dropna().unique()]
                raise InputError(
                    f"scored judgments: column '{column}' never holds '{value}'"
                    f"{did_you_mean(str(value), known)}; it holds {listed(known)}."
                )
            kept &= here
        return self.where(kept)

    def cells(self, by: Sequence[str] = (), *, judges: bool = True) -> Iterator[Cell]:
        """One cell a judge, prompt, task and stratum, in order of appearance.

        ``by`` names columns of the frame; rows where one is missing are in no cell. ``judges=False`` puts
        all judges of a prompt, task and stratum into one cell with an empty judge.
        """
        require_columns(self.frame, list(by), "scored judgments")
        frame = self.frame.dropna(subset=list(by)) if by else self.frame
        names = [*(["judge", "judge_kind"] if judges else []), "prompt", "task", *by]
        blank = {} if judges else {"judge": "", "judge_kind": ""}
        for values, rows in frame.groupby(names, sort=False, observed=True):
            keys = {**blank, **{name: str(value) for name, value in zip(names, values, strict=True)}}
            yield Cell(keys, rows, self.classes[keys["task"]], self.levels[keys["task"]])


def score(
    judgments: pd.DataFrame,
    labels: pd.DataFrame,
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
    judgments : DataFrame
        The judgments contract: ``judge_id, judge_kind, item_id, dimension, value, status`` and, where there
        are any, ``prompt_id, sample, condition, base_item_id, position, rule, probability``. Without
        ``status``, rows with a value are ok.
    labels : DataFrame
        ``item_id, label_set, label``: the gold labels; ``label_set`` is the dimension. Items without labels
        of their own take those of their ``base_item_id``.
    classes : sequence, or mapping of task to sequence, optional
        Labels that answers may give; by default those that gold holds, then further ones that were given.
    covers : mapping of class to sequence, optional
        Gold labels that count as each class, such as ``{"harmful": ["implicit", "explicit"]}``.
    items : DataFrame, optional
        ``item_id`` and columns to score by: language, modality and the like.
    policy : mapping of status to str, optional
        See `Scored`.

    Returns
    -------
    Scored

    Raises
    ------
    InputError
        For missing columns, a unit with two gold labels, a judgment given twice, or nothing to score.

    Examples
    --------
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j2"],
    ...     "dimension": "harm", "value": ["harmful", "safe"]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2"], "label_set": "harm", "label": ["implicit", "implicit"]})
    >>> scored = score(judged, gold, covers={"harmful": ["implicit", "explicit"], "safe": ["safe"]})
    >>> scored.frame["correct"].tolist()
    [True, False]
    """
    answers = _answers(judgments)
    strata = _strata(items)
    gold = _gold(labels, _bases(answers, strata))
    covered = {name: tuple(map(str, gold_labels)) for name, gold_labels in (covers or {}).items()}
    tasks = [task for task in dict.fromkeys(answers["task"]) if (gold["task"] == task).any()]
    if not tasks:
        raise InputError(
            f"labels: no label_set is a dimension of the judgments ({listed(dict.fromkeys(answers['task']))}"
            f"); labels are of {listed(dict.fromkeys(gold['task']))}."
        )
    notes: list[str] = []
    frames, all_classes, all_levels = [], {}, {}
    for task in tasks:
        asked, units = answers[answers["task"] == task], gold[gold["task"] == task]
        names = _classes(task, asked, units, classes, covered)
        levels = _levels(names, covered)
        kept = units["label"].isin(levels)
        notes += _outside(task, units["label"][~kept])
        frame = _joined(asked, units[kept], notes, task)
        frames.append(_coded(frame, names, levels, covered))
        all_classes[task], all_levels[task] = names, levels
    frame = pd.concat(frames, ignore_index=True)
    if frame.empty:
        raise InputError("labels: no judged unit has a gold label among the classes; nothing can be scored.")
    _check_policy(policy or {}, all_classes)
    return Scored(
        _with_strata(frame, strata), all_classes, all_levels, covered, dict(policy or {}), tuple(notes)
    )


def _answers(judgments: pd.DataFrame) -> pd.DataFrame:
    """Judgments with the columns of `Scored.frame`, text as text."""
    source = "judgments"
    require_columns(judgments, ["judge_id", "judge_kind", "item_id", "dimension", "value"], source)
    if judgments.empty:
        raise InputError(f"{source}: there are no rows; give judgments.")
    frame = judgments.reset_index(drop=True)
    value = as_text(frame["value"])
    status = as_text(frame["status"]) if "status" in frame else pd.Series("ok", index=frame.index)
    status = status.mask((status == "ok") & value.isna(), "missing")
    dimension = as_text(frame["dimension"])
    line = dimension.str.extract(f"^{_LINE.pattern}$", expand=False)
    made = pd.DataFrame(
        {
            "judge": as_text(frame["judge_id"]),
            "judge_kind": as_text(frame["judge_kind"]),
            "prompt": as_text(frame["prompt_id"]).fillna("") if "prompt_id" in frame else "",
            "task": dimension.mask(line.notna(), LINE),
            "item_id": as_text(frame["item_id"]),
            "sample": frame["sample"].astype("int64") if "sample" in frame else 1,
            "line": line.fillna("0").astype("int64"),
            "value": value.where(status == "ok"),
            "status": status,
            **{name: frame[name] for name in (*_KEPT, *_NUMBERS) if name in frame},
            **{name: frame[name] for name in frame if str(name).startswith("probability_")},
        }
    )
    for name in ("judge", "task", "item_id"):
        bad = made[name].isna().to_numpy(dtype=bool)
        if bad.any():
            refuse(
                source,
                {"judge": "judge_id", "task": "dimension"}.get(name, name),
                bad,
                "is empty",
                "fill it in",
            )
    again = made.duplicated([*_GROUP, "line"]).to_numpy()
    if again.any():
        refuse(source, "item_id", again, "repeats an earlier judgment", "keep one row for each sample")
    return made


def _strata(items: pd.DataFrame | None) -> pd.DataFrame | None:
    if items is None:
        return None
    require_columns(items, ["item_id"], "items")
    made = items.assign(item_id=as_text(items["item_id"])).reset_index(drop=True)
    again = made.duplicated("item_id").to_numpy()
    if again.any():
        refuse("items", "item_id", again, "repeats an earlier item", "keep one row an item")
    return made


def _bases(answers: pd.DataFrame, strata: pd.DataFrame | None) -> dict[str, str]:
    """Original of each item that is a copy of another."""
    found: dict[str, str] = {}
    for frame in (strata, answers):
        if frame is not None and "base_item_id" in frame:
            pairs = frame[["item_id", "base_item_id"]].dropna().drop_duplicates("item_id")
            found |= dict(zip(as_text(pairs["item_id"]), as_text(pairs["base_item_id"]), strict=True))
    return {item: base for item, base in found.items() if item != base}


def _gold(labels: pd.DataFrame, bases: Mapping[str, str]) -> pd.DataFrame:
    """Gold labels by ``task, item_id, line``; copies of items have those of the original."""
    require_columns(labels, ["item_id", "label_set", "label"], "labels")
    frame = labels.reset_index(drop=True)
    dimension = as_text(frame["label_set"])
    line = dimension.str.extract(f"^{_LINE.pattern}$", expand=False)
    gold = pd.DataFrame(
        {
            "task": dimension.mask(line.notna(), LINE),
            "item_id": as_text(frame["item_id"]),
            "line": line.fillna("0").astype("int64"),
            "label": as_text(frame["label"]),
        }
    )
    again = gold.duplicated(["task", "item_id", "line"]).to_numpy()
    if again.any():
        refuse("labels", "item_id", again, "has a second label of the same set", "keep one label for each")
    own = set(gold["item_id"])
    copies = pd.DataFrame(
        [(item, base) for item, base in bases.items() if item not in own],
        columns=["copy", "item_id"],
        dtype="string",
    )
    lent = copies.merge(gold, on="item_id").drop(columns="item_id").rename(columns={"copy": "item_id"})
    return pd.concat([gold, lent[gold.columns]], ignore_index=True) if len(lent) else gold


def _classes(
    task: str,
    asked: pd.DataFrame,
    units: pd.DataFrame,
    classes: Sequence[str] | Mapping[str, Sequence[str]] | None,
    covers: Mapping[str, tuple[str, ...]],
) -> tuple[str, ...]:
    given = classes.get(task) if isinstance(classes, Mapping) else classes
    if given is not None:
        return tuple(map(str, given))
    if covers:
        return tuple(covers)
    judged = units[units["item_id"].isin(set(asked["item_id"]))]
    return tuple(
        dict.fromkeys([*sorted(judged["label"].dropna().unique()), *sorted(asked["value"].dropna().unique())])
    )


def _levels(names: tuple[str, ...], covers: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(level for name in names for level in covers.get(name, (name,))))


def _outside(task: str, left: pd.Series[str]) -> list[str]:
    """Say which gold labels are none of the classes."""
    if left.empty:
        return []
    counts = left.fillna("(none)").value_counts()
    told = listed([f"'{label}' ({n:,})" for label, n in counts.items()])
    return [f"{task}: {len(left):,} gold labels are none of the classes and are left out: {told}."]


def _joined(asked: pd.DataFrame, units: pd.DataFrame, notes: list[str], task: str) -> pd.DataFrame:
    """Every answer beside every gold unit of its item."""
    kept = [name for name in _KEPT if name in asked]
    answered = asked.drop_duplicates(_GROUP)[[*_GROUP, *kept]]
    wanted = answered.merge(units[["item_id", "line", "label"]], on="item_id")
    values = asked.drop(columns=["judge_kind", "task", *kept])
    keys = ["judge", "prompt", "item_id", "sample", "line"]
    frame = wanted.merge(values, on=keys, how="left")
    unknown = len(asked) - int(frame["status"].notna().sum())
    if unknown:
        notes.append(f"{task}: {unknown:,} judgments are of units without a gold label and are left out.")
    lacking = frame["status"].isna()
    if lacking.any():
        notes.append(
            f"{task}: {int(lacking.sum()):,} units have a gold label and no judgment; they count as missing."
        )
    return frame.assign(status=frame["status"].fillna("missing"))


def _coded(
    frame: pd.DataFrame,
    names: tuple[str, ...],
    levels: tuple[str, ...],
    covers: Mapping[str, tuple[str, ...]],
) -> pd.DataFrame:
    owner = {level: k for k, name in enumerate(names) for level in covers.get(name, (name,))}
    class_of = np.array([owner[level] for level in levels], dtype=np.int64)
    level = pd.Index(levels).get_indexer(pd.Index(frame["label"]))
    predicted = pd.Index(names).get_indexer(pd.Index(frame["value"].astype(object)))
    answered = frame["value"].notna().to_numpy(dtype=bool)
    predicted = np.where(answered, np.where(predicted < 0, len(names), predicted), NO_ANSWER)
    gold = class_of[level]
    return frame.drop(columns=["label", "value"]).assign(
        gold=gold, level=level, predicted=predicted, correct=gold == predicted
    )


def _with_strata(frame: pd.DataFrame, strata: pd.DataFrame | None) -> pd.DataFrame:
    if strata is not None:
        fresh = [name for name in strata if name == "item_id" or name not in frame]
        frame = frame.merge(strata[fresh], on="item_id", how="left")
    texts = [*KEYS, "judge_kind", "item_id", "status"]
    return frame.assign(**{name: pd.Categorical(frame[name], dict.fromkeys(frame[name])) for name in texts})


def _check_policy(policy: Mapping[str, str], classes: Mapping[str, tuple[str, ...]]) -> None:
    known = {WRONG, MISSING, *(name for names in classes.values() for name in names)}
    for status, meaning in policy.items():
        if meaning not in known:
            raise InputError(
                f"policy: '{status}' counts as '{meaning}'{did_you_mean(meaning, known)}; use {WRONG}, "
                f"{MISSING} or a class."
            )


def outcome(cell: Cell, policy: str, study: Mapping[str, str]) -> tuple[Codes, Flags]:
    """Predicted codes of a cell under a policy for missing answers, and which rows it keeps.

    Parameters
    ----------
    cell : Cell of n rows
    policy : "wrong" (no answer is a wrong answer), "missing" (it is left out) or "study"
    study : `Scored.policy`

    Returns
    -------
    predicted : ndarray, shape (n,); `NO_ANSWER` where an answer is missing and kept
    kept : ndarray of bool, shape (n,)
    """
    predicted = cell.frame["predicted"].to_numpy(dtype=np.int64)
    none = predicted == NO_ANSWER
    if policy == WRONG or not none.any():
        return predicted, np.ones(len(predicted), dtype=bool)
    if policy == MISSING:
        return predicted, ~none
    status = cell.frame["status"].astype(str)
    meaning = status.map(study).fillna(MISSING).to_numpy(dtype=object)
    place = {name: k for k, name in enumerate(cell.classes)}
    codes = np.array([place.get(name, NO_ANSWER) for name in meaning], dtype=np.int64)
    return np.where(none, codes, predicted), ~(none & (meaning == MISSING))


__all__ = ["NO_ANSWER", "POLICIES", "Cell", "Floats", "Scored", "outcome", "score"]
