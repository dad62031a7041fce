"""Answers that were read by several rules, perhaps from several files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.columns import UNPERTURBED, as_text
from conjury.inference.tables.schema import KEYS, require_columns

from ...frames.notes import note_under
from ...numerics.types import Codes
from ..parse_status import NO_ANSWER, check_policy
from .units import (
    BASE,
    CONDITION,
    ORIGIN,
    answers_table,
    bases,
    filled_text,
    gold_table,
    join_gold,
    origins_of,
    strata_table,
    with_origins,
)


def rule_of(judgments: pd.DataFrame) -> str:
    """Name of the rule by which answers were read, without form and version; "" where it is not known."""
    if "rule" not in judgments:
        return ""
    names = as_text(judgments["rule"]).dropna().str.extract(r"/(\w+)@", expand=False).dropna()
    return str(names.mode().iloc[0]) if len(names) else ""


def by_rule(main: pd.DataFrame, further_tables: Sequence[pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Judgments by the rule that read them, those of the main table first; files of one rule as one table."""
    tables: dict[str, list[pd.DataFrame]] = {}
    for table in (main, *further_tables):
        tables.setdefault(rule_of(table), []).append(table)
    return {rule: _stack_tables(parts, rule) for rule, parts in tables.items()}


def _stack_tables(tables: Sequence[pd.DataFrame], rule: str) -> pd.DataFrame:
    if len(tables) == 1:
        return tables[0]
    result = pd.concat(tables, ignore_index=True)
    names = [name for name in KEYS["judgments"] if name in result]
    repeats = result.duplicated(names).to_numpy(dtype=bool)
    if repeats.any():
        first = result[repeats].iloc[0]
        named = f"rule '{rule}'" if rule else "a rule that the column 'rule' does not name"
        raise InputError(
            f"readings: two tables contain the judgment of '{first['judge_id']}' on dimension "
            f"'{first['dimension']}' of item '{first['item_id']}' by {named}; give each answer once per rule."
        )
    return result


@dataclass(frozen=True)
class TaskCell:
    """Answers of one judge with one prompt to one task, in one stratum."""

    keys: Mapping[str, str]  # ``judge, judge_kind, prompt, task`` and the columns of the strata
    frame: pd.DataFrame  # the rows of `Scored.frame`
    classes: tuple[str, ...]  # of the task, as in `Scored`
    levels: tuple[str, ...]
    class_of: Codes  # shape (L,): class that covers each gold label

    def codes(self, column: str) -> Codes:
        """Codes in a column of the frame (gold, level, predicted), shape (n,)."""
        return self.frame[column].to_numpy(dtype=np.int64)


@dataclass(frozen=True)
class Scored:
    """Answers to units that have a gold label; n is the number of answers.

    Parameters
    ----------
    frame : DataFrame of n rows
        ``judge, judge_kind, prompt`` ("" for people), ``task`` (a dimension, or "line"), ``item_id, line``
        (from 1; 0 for whole items), ``sample, gold`` (code in ``classes[task]``), ``level`` (code of the
        gold label itself in ``levels[task]``), ``predicted`` (code; `NO_ANSWER` for none,
        ``len(classes[task])`` for a label outside of the classes), ``status, correct, unit`` (a number for
        each item, or line, of a task), and columns of items and answers.
    classes : dict of str to tuple of str
        By task: the labels that answers give.
    levels : dict of str to tuple of str
        By task: the labels of gold, which are the classes unless a class covers several.
    covers : dict of str to tuple of str
        By class: the gold labels that count as it; empty where each class is its own gold label.
    policy : dict of str to str
        What an answer with a status other than ok counts as for the study: "wrong", "missing" or a class;
        a status that is not named is "missing". "JUDGE: STATUS" is the rule of one judge.
    notes : tuple of str
        What was excluded or found.
    real_judges : tuple of str, optional
        As in `conjury.analysis.results.Result`.

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j2"],
    ...     "dimension": "harm", "value": ["yes", "no"]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2"], "label_set": "harm", "label": ["yes", "yes"]})
    >>> scored = score(judged, gold)
    >>> scored.classes["harm"], scored.frame["correct"].tolist()
    (('yes', 'no'), [True, False])
    """

    frame: pd.DataFrame
    classes: Mapping[str, tuple[str, ...]]
    levels: Mapping[str, tuple[str, ...]]
    covers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    policy: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    real_judges: tuple[str, ...] | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks, in order of appearance."""
        return tuple(self.classes)

    @property
    def cover_settings(self) -> dict[str, dict[str, list[str]]]:
        """Setting of results: the gold labels of each class, where a class covers several."""
        return {"covers": {name: list(labels) for name, labels in self.covers.items()}} if self.covers else {}

    @property
    def is_perturbed(self) -> NDArray[np.bool_]:
        """Whether each answer is to a perturbed copy of an item, shape (n,)."""
        if CONDITION not in self.frame:
            return np.zeros(len(self.frame), dtype=bool)
        condition = filled_text(self.frame[CONDITION]).fillna(UNPERTURBED)
        return condition.ne(UNPERTURBED).to_numpy(dtype=bool)

    def sizes_in_engine(self, cluster: str) -> NDArray[np.int64] | None:
        """Answers of each value of a column, where they lie in an engine; None in memory."""
        return None

    def unperturbed(self) -> Scored:
        """The answers to items that are no perturbed copies: all answers need to be scored only once."""
        return self.where(~self.is_perturbed)

    def where(self, mask: NDArray[np.bool_]) -> Scored:
        """The answers where ``mask``, shape (n,), is true."""
        return replace(self, frame=self.frame[np.asarray(mask)].reset_index(drop=True))

    def of(self, **values: object) -> Scored:
        """The answers whose columns have these values, as in ``scored.of(task="line", sample=1)``."""
        mask = np.ones(len(self.frame), dtype=bool)
        for column, value in values.items():
            require_columns(self.frame, [column], "scored judgments")
            here = (self.frame[column] == value).to_numpy(dtype=bool, na_value=False)
            if not here.any():
                levels = [str(name) for name in self.frame[column].dropna().unique()]
                raise InputError(
                    f"scored judgments: column '{column}' does not contain '{value}'"
                    f"{did_you_mean(str(value), levels)}; it contains {listed(levels)}."
                )
            mask &= here
        return self.where(mask)

    def cells(self, by: Sequence[str] = (), *, judges: bool = True) -> Iterator[TaskCell]:
        """One cell a judge, prompt, task and stratum, in order of appearance."""
        require_columns(self.frame, list(by), "scored judgments")
        frame = self.frame.dropna(subset=list(by)) if by else self.frame
        if by and frame.empty:
            raise InputError(
                f"scored judgments: no answer has all of {listed(by)}; name columns that are filled."
            )
        names = [*(["judge", "judge_kind"] if judges else []), "prompt", "task", *by]
        blank = {} if judges else {"judge": "", "judge_kind": ""}
        for values, rows in frame.groupby(names, sort=False, observed=True):
            keys = {**blank, **{name: str(value) for name, value in zip(names, values, strict=True)}}
            names_of, levels = self.classes[keys["task"]], self.levels[keys["task"]]
            yield TaskCell(keys, rows, names_of, levels, class_codes(names_of, levels, self.covers))


def tasks_with_labels(tasks: Sequence[str], gold: pd.DataFrame) -> list[str]:
    """Tasks that have gold labels; InputError where none has."""
    labelled = [task for task in tasks if (gold["task"] == task).any()]
    if not labelled:
        raise InputError(
            f"labels: no label_set is a dimension of the judgments ({listed(tasks)}); labels are of "
            f"{listed(gold['task'].unique())}."
        )
    return labelled


def score_rows(
    judgments: pd.DataFrame,
    labels: pd.DataFrame,
    classes: Sequence[str] | Mapping[str, Sequence[str]] | None,
    covers: Mapping[str, Sequence[str]],
    items: pd.DataFrame | None,
    policy: Mapping[str, str],
) -> Scored:
    """Put judgments in memory beside gold labels; see `score`."""
    strata = strata_table(items)
    answers = with_origins(answers_table(judgments), strata)
    gold = gold_table(labels, bases(answers, strata))
    covered = covered_labels(covers)
    tasks = tasks_with_labels(answers["task"].unique().tolist(), gold)
    notes: list[str] = []
    frames, all_classes, all_levels = [], {}, {}
    for task in tasks:
        task_answers, units = answers[answers["task"] == task], gold[gold["task"] == task]
        judged = units["item_id"].isin(task_answers["item_id"].unique())
        names = classes_of(task, task_answers["value"], units["label"][judged], classes, covered)
        levels = levels_of(names, covered)
        mask = units["label"].isin(levels)
        notes += note_on_other_labels(task, units["label"][~mask])
        frame = join_gold(task_answers, units[mask], notes, task)
        frames.append(_coded(frame, names, levels, covered))
        all_classes[task], all_levels[task] = names, levels
    frame = pd.concat(frames, ignore_index=True)
    if frame.empty:
        raise InputError("labels: no judged unit has a gold label among the classes; nothing can be scored.")
    return Scored(
        _with_strata(frame, strata),
        all_classes,
        all_levels,
        covered,
        check_policy(policy, {**classes, **all_classes} if isinstance(classes, Mapping) else all_classes),
        tuple(notes),
    )


def covered_labels(covers: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Gold labels by class; InputError where two classes cover one."""
    owner: dict[str, str] = {}
    for name, labels in covers.items():
        for label in labels:
            if owner.setdefault(str(label), name) != name:
                raise InputError(
                    f"covers: '{label}' counts as '{owner[str(label)]}' and as '{name}'; keep one."
                )
    return {name: tuple(map(str, labels)) for name, labels in covers.items()}


def classes_of(
    task: str,
    values: pd.Series[str],
    labels: pd.Series[str],
    classes: Sequence[str] | Mapping[str, Sequence[str]] | None,
    covers: Mapping[str, tuple[str, ...]],
) -> tuple[str, ...]:
    """Labels that answers to a task may give, by the values that were given and the gold labels."""
    names = classes.get(task) if isinstance(classes, Mapping) else classes
    if names is not None:
        return tuple(dict.fromkeys(map(str, names)))
    if covers:
        return tuple(covers)
    return tuple(dict.fromkeys([*sorted(labels.dropna().unique()), *sorted(values.dropna().unique())]))


def levels_of(names: tuple[str, ...], covers: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Gold labels that the classes cover."""
    return tuple(dict.fromkeys(level for name in names for level in covers.get(name, (name,))))


def note_on_other_labels(task: str, labels: pd.Series[str]) -> list[str]:
    """State which gold labels are none of the classes."""
    if labels.empty:
        return []
    counts = labels.fillna("(none)").value_counts()
    named = listed([f"'{label}' ({n:,})" for label, n in counts.items()])
    text = f"{len(labels):,} gold labels are not among the classes and are excluded: {named}."
    return [note_under({"task": task}, text)]


def _coded(
    frame: pd.DataFrame,
    names: tuple[str, ...],
    levels: tuple[str, ...],
    covers: Mapping[str, tuple[str, ...]],
) -> pd.DataFrame:
    level = pd.Index(levels).get_indexer(pd.Index(frame["label"]))
    predicted = pd.Index(names).get_indexer(pd.Index(frame["value"].astype(object)))
    answered = frame["value"].notna().to_numpy(dtype=bool)
    predicted = np.where(answered, np.where(predicted < 0, len(names), predicted), NO_ANSWER)
    gold = class_codes(names, levels, covers)[level]
    return frame.drop(columns=["label", "value"]).assign(
        gold=gold, level=level, predicted=predicted, correct=gold == predicted
    )


def _with_strata(frame: pd.DataFrame, strata: pd.DataFrame | None) -> pd.DataFrame:
    if strata is not None:
        fresh = [name for name in strata if name == "item_id" or name not in frame]
        frame = frame.merge(_in_categories(strata[fresh], ("item_id",)), on="item_id", how="left")
    unit = frame.groupby(["task", "item_id", "line"], sort=False).ngroup().to_numpy()
    result = _in_categories(frame).assign(unit=unit)
    return result.assign(**{ORIGIN: origins_of(result)}) if BASE in result else result


def _in_categories(frame: pd.DataFrame, text_columns: Sequence[str] = ()) -> pd.DataFrame:
    """Texts as categories in order of appearance, so that long ones are held once."""
    result = frame.copy(deep=False)
    for name in result:
        if name not in text_columns and isinstance(result[name].dtype, pd.StringDtype):
            result[name] = pd.Categorical(result[name], result[name].dropna().unique().tolist())
    return result


def class_codes(names: Sequence[str], levels: Sequence[str], covers: Mapping[str, Sequence[str]]) -> Codes:
    """Class that covers each gold label, shape (L,)."""
    owner = {level: code for code, name in enumerate(names) for level in covers.get(name, (name,))}
    return np.array([owner[level] for level in levels], dtype=np.int64)
