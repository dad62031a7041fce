"""Which answers a list shows, and in which order: filters by name and value, from a command or an address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ...design.subjects import UNSHOWN
from ...errors import InputError, did_you_mean, listed
from ...study.asking import Choice
from ...study.models import ItemStudy, Study
from ...tables.columns import as_text
from ...tables.schema import POSITIONS, STATUSES
from .answer_marks import MARKS, marks_of
from .run_sources import RunSources
from .viewed_answers import Answers, Mask, Numbers

NAMES = ("judge", "prompt", "status", "mark", "level", "check", "task", "text", "value")
KINDS = {"people": "human", "models": "model"}  # judges as a group
ORDERS = ("asked", "judge", "task", "value", "length", "seconds")
APART = "\x1f"  # between texts that are joined
NAMED = {  # columns by which evidence names answers, where answers have another name for them
    "judge": "judge_id",
    "prompt": "prompt_id",
    "request_key": "key",
    **dict.fromkeys(("task_id", "pair_id", "item_id"), "subject"),
}
FEW = 30  # values of a column of items that can be chosen
Filter = tuple[str, str]


@dataclass(frozen=True)
class CheckAlarm:
    """A check that alarmed: its code, title and finding, the rows of its evidence, and their run if known."""

    code: str
    title: str
    finding: str
    rows: pd.DataFrame
    run: int | None = None


@dataclass(frozen=True)
class Query:
    """Filters that all have to hold, and an order."""

    filters: tuple[Filter, ...] = ()
    order: str = ORDERS[0]
    descending: bool = False

    def values(self, name: str) -> list[str]:
        """Values of a filter, all of which have to hold."""
        return [value for filter_name, value in self.filters if filter_name == name]


@dataclass(frozen=True)
class Collection:
    """Answers with all that filters ask about them."""

    sources: RunSources
    answers: Answers
    fired: tuple[CheckAlarm, ...] = ()
    _found: dict[Query, Numbers] = field(default_factory=dict)

    @property
    def study(self) -> Study | ItemStudy | None:
        """The study, where it is known."""
        return self.sources.study

    @cached_property
    def marks(self) -> dict[str, Mask]:
        """Which answers have each mark."""
        runs = enumerate(self.sources.runs)
        tasks = {number: table for number, run in runs if (table := run.design_tasks) is not None}
        response = self.study.response if self.study is not None else None
        return marks_of(self.answers, tasks, response.options if isinstance(response, Choice) else POSITIONS)

    @cached_property
    def checks(self) -> dict[str, Mask]:
        """Which answers are evidence of each check, by its code; checks without such answers are absent."""
        masks: dict[str, Mask] = {}
        for result, mask in zip(self.fired, self.evidence, strict=True):
            if mask.any():
                masks[result.code] = masks[result.code] | mask if result.code in masks else mask
        return masks

    @cached_property
    def evidence(self) -> list[Mask]:
        """Which answers are evidence of each result of ``fired``."""
        return [evidence_mask(self.answers, result.rows, result.run) for result in self.fired]

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """Attributes of profiles or fields of items by which can be filtered, with values in words."""
        if isinstance(self.study, Study):
            labels = self.study.level_labels
            return {name: labels[name] for name in labels}
        if self.study is None or self._items is None:
            return {}
        items, labels = self._items, self.study.level_labels
        named: dict[str, dict[str, str]] = {}
        for name in items:
            if name in UNSHOWN or name == "text":
                continue
            values = [str(value) for value in as_text(items[name]).dropna().unique()]
            if 1 < len(values) <= FEW:
                named[str(name)] = {value: labels.get(str(name), {}).get(value, value) for value in values}
        return named

    @property
    def _items(self) -> pd.DataFrame | None:
        return self.sources.items

    def numbers(self, query: Query) -> Numbers:
        """Numbers of the answers that a query selects, in its order."""
        if query not in self._found:
            if len(self._found) > 100:
                self._found.clear()
            mask = np.ones(len(self.answers), dtype=bool)
            for name, value in query.filters:
                mask &= self._mask(name, value)
            self._found[query] = self._ordered(np.flatnonzero(mask), query)
        return self._found[query]

    def _mask(self, name: str, value: str) -> Mask:
        frame = self.answers.frame
        if name == "judge":
            column, target = ("judge_kind", KINDS[value]) if value in KINDS else ("judge_id", value)
            return np.asarray((frame[column] == target).to_numpy(dtype=bool, na_value=False))
        if name == "prompt":
            return np.asarray((frame["prompt_id"] == value).to_numpy(dtype=bool, na_value=False))
        if name == "status":
            bit = STATUSES.index(value) if value in STATUSES else len(STATUSES)
            return np.asarray((self.answers.statuses >> bit) & 1 == 1)
        if name == "mark":
            return self.marks.get(value, np.zeros(len(frame), dtype=bool))
        if name == "check":
            return self.checks.get(value, np.zeros(len(frame), dtype=bool))
        if name == "task":
            return np.asarray((frame["task"] == value).to_numpy(dtype=bool, na_value=False))
        if name == "value":
            is_given = (as_text(self.answers.judged["value"]) == value).to_numpy(dtype=bool, na_value=False)
            mask = np.zeros(len(frame), dtype=bool)
            mask[self.answers.judged["answer"].to_numpy()[is_given]] = True
            return mask
        if name == "level":
            attribute, _, level = value.partition("=")
            return self._level(attribute, level)
        return self._search(value)

    def _level(self, attribute: str, level: str) -> Mask:
        """Answers to tasks that show a level, or to items with a value."""
        frame = self.answers.frame
        mask = np.zeros(len(frame), dtype=bool)
        if self._items is not None and attribute in self._items:
            same = (as_text(self._items[attribute]) == level).to_numpy(dtype=bool, na_value=False)
            return np.asarray(frame["subject"].isin(self._items["item_id"][same].astype("string")).to_numpy())
        for number, run in enumerate(self.sources.runs):
            if run.design is None or run.design_tasks is None or attribute not in run.design.profiles:
                continue
            profiles, tasks = run.design.profiles, run.design_tasks
            same = (as_text(profiles[attribute]) == level).to_numpy(dtype=bool, na_value=False)
            has_level = tasks["profile_id"].isin(profiles["profile_id"][same]).to_numpy()
            subjects = pd.Index(tasks["task_id"][has_level].unique())
            profile = "profile_" + profiles["profile_id"][same].astype("string")
            all_subjects = subjects.union(pd.Index(profile))
            mask |= (frame["run"] == number).to_numpy() & (all_subjects.get_indexer(frame["subject"]) >= 0)
        return mask

    def _search(self, text: str) -> Mask:
        """Answers whose text, task or shown content contains a text, whatever its case."""
        frame = self.answers.frame
        mask = _contains(frame["text"], text) if "text" in frame else np.zeros(len(frame), dtype=bool)
        return mask | _contains(frame["subject"], text) | self._shown(text)

    def _shown(self, text: str) -> Mask:
        """Answers to tasks whose content contains a text."""
        frame = self.answers.frame
        mask = np.zeros(len(frame), dtype=bool)
        if self._items is not None:
            hit = self._items["item_id"][_any_contains(self._items, text)].astype("string")
            return np.asarray(frame["subject"].isin(hit).to_numpy())
        for number, run in enumerate(self.sources.runs):
            if run.design is None or run.design_tasks is None:
                continue
            posts = run.design.posts
            hit = posts["profile_id"][_any_contains(posts, text)]
            subjects = run.design_tasks["task_id"][run.design_tasks["profile_id"].isin(hit).to_numpy()]
            all_subjects = pd.Index(subjects.unique()).union(pd.Index("profile_" + hit.astype("string")))
            mask |= (frame["run"] == number).to_numpy() & (all_subjects.get_indexer(frame["subject"]) >= 0)
        return mask

    def _ordered(self, numbers: Numbers, query: Query) -> Numbers:
        if query.order != ORDERS[0]:
            keys = self._sort_keys[query.order][numbers]
            last = np.where(np.isfinite(keys), -keys if query.descending else keys, np.inf)
            numbers = numbers[np.argsort(last, kind="stable")]
        elif query.descending:
            numbers = numbers[::-1]
        return numbers

    @cached_property
    def _sort_keys(self) -> dict[str, Any]:
        frame, judged = self.answers.frame, self.answers.judged
        first = self.answers.starts[:-1].clip(max=max(len(judged) - 1, 0))
        has = self.answers.starts[:-1] < self.answers.starts[1:]
        value = np.where(has, _ranks(judged["value"])[first], np.inf) if len(judged) else np.zeros(len(frame))
        length = frame["text"].str.len() if "text" in frame else pd.Series(0, index=frame.index)
        waited = [frame[name] for name in ("seconds", "latency") if name in frame]
        seconds = waited[0].fillna(waited[-1]) if waited else pd.Series(0.0, index=frame.index)
        return {
            "judge": _ranks(frame["judge_id"]),
            "task": _ranks(frame["task"]),
            "value": value,
            "length": length.fillna(0).to_numpy(dtype=float, na_value=0),
            "seconds": seconds.to_numpy(dtype=float, na_value=np.nan),
        }


def _ranks(values: pd.Series[Any]) -> Any:
    """Places of values in order, numbers as numbers; of missing ones infinity."""
    codes, unique = pd.factorize(values)
    numbers = pd.to_numeric(pd.Series(unique, dtype="object"), errors="coerce").to_numpy(dtype=float)
    order = np.lexsort((np.asarray(unique, dtype=str), np.where(np.isnan(numbers), np.inf, numbers)))
    ranks = np.empty(len(unique) + 1)
    ranks[order], ranks[-1] = np.arange(len(unique)), np.inf
    return ranks[codes]


def _contains(values: pd.Series[Any], text: str) -> Mask:
    column = pa.array(as_text(values), type=pa.large_string(), from_pandas=True)
    hits = pc.match_substring(column, text, ignore_case=True)
    return np.asarray(pc.fill_null(hits, False).to_numpy(zero_copy_only=False), dtype=bool)


def _any_contains(table: pd.DataFrame, text: str) -> Mask:
    mask = np.zeros(len(table), dtype=bool)
    for name in table:
        if name not in UNSHOWN and not pd.api.types.is_numeric_dtype(table[name].dtype):
            mask |= _contains(table[name], text)
    return mask


def evidence_mask(answers: Answers, rows: pd.DataFrame, run: int | None = None) -> Mask:
    """Which answers the evidence of a check names, those of one run or of all, shape (answers,)."""
    # A row names answers by all values that it has; one without a task and without a key names none.
    evidence_columns: dict[str, pd.Series[Any]] = {}
    for name in rows:
        column, key = as_text(rows[name]), NAMED.get(str(name), str(name))
        evidence_columns[key] = evidence_columns[key].fillna(column) if key in evidence_columns else column
    keys = [
        name for name in ("key", "subject", "judge_id", "prompt_id", "sample") if name in evidence_columns
    ]
    answer_columns = {name: as_text(answers.frame[name]) for name in keys}
    key_bits = np.zeros(len(rows), dtype=np.int64)  # bits of the keys that each row has
    for bit, name in enumerate(keys):
        key_bits |= evidence_columns[name].notna().to_numpy(dtype=np.int64) << bit
    mask = np.zeros(len(answers), dtype=bool)
    for bits in np.unique(key_bits):
        names = [name for bit, name in enumerate(keys) if bits >> bit & 1]
        if "key" in names or "subject" in names:
            evidence_keys = _join_columns([evidence_columns[name][key_bits == bits] for name in names])
            mask |= (
                _join_columns([answer_columns[name] for name in names])
                .isin(evidence_keys.unique())
                .to_numpy(dtype=bool)
            )
    return mask if run is None else mask & (answers.frame["run"] == run).to_numpy()


def _join_columns(columns: Sequence[pd.Series[Any]]) -> pd.Series[Any]:
    """Values of columns side by side as one text per row."""
    return pd.Series(
        [APART.join(row) for row in zip(*(column.fillna("") for column in columns), strict=True)]
    )


def read_filters(texts: Iterable[str], collection: Collection) -> tuple[Filter, ...]:
    """Read filters of the command line: NAME=VALUE, or the name of a mark or status alone."""
    filters: list[Filter] = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals and name in MARKS:
            name, value = "mark", name
        elif not equals and name in STATUSES:
            name, value = "status", name
        elif name in collection.columns:
            name, value = "level", text
        elif name not in NAMES or not value:
            choices = [
                *(f"{filter_name}=..." for filter_name in (*NAMES, *collection.columns)),
                *MARKS,
                *STATUSES,
            ]
            raise InputError(
                f"--filter {text}: there is no such filter"
                f"{did_you_mean(name, [*NAMES, *collection.columns])}; use {listed(choices, 30)}."
            )
        _check_value(text, name, value, collection)
        filters.append((name, value))
    return tuple(filters)


def _check_value(text: str, name: str, value: str, collection: Collection) -> None:
    frame = collection.answers.frame
    option_sources: Mapping[str, Callable[[], Iterable[str]]] = {
        "judge": lambda: [*frame["judge_id"].unique(), *KINDS],
        "prompt": lambda: frame["prompt_id"].unique(),
        "status": lambda: STATUSES,
        "mark": lambda: MARKS,
        "check": lambda: [result.code for result in collection.fired],
        "level": lambda: [f"{name}={level}" for name, all in collection.columns.items() for level in all],
    }
    if name not in option_sources:
        return
    options = [option for option in option_sources[name]() if option]
    if value not in options:
        remedy = f"use {listed(options, 20)}" if options else "there are none in what was read"
        raise InputError(
            f"--filter {text}: no answer has this {name}{did_you_mean(value, options)}; {remedy}."
        )
