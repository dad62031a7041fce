"""Scores in evaluation logs of Inspect as judgments of the models or scorers that gave them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, listed
from ..readers.judged.inspect_samples import is_unread, samples_of
from .exclusion_rules import Rules
from .imported_ratings import Imported, finish_log_import
from .rating_columns import Layout

BY = ("grader", "scorer", "model")
GRADED = "model_graded"  # Inspect's scorers that ask a model begin so
ROLE = "grader"  # the role whose model they ask
SEPARATOR = "/"


def read_inspect(path: str | Path, layout: Layout | None = None, rules: Rules | None = None) -> Imported:
    """Read the scores of every sample in evaluation logs of Inspect.

    The item is the sample, ``sample`` the epoch, the dimension the score, or, where a score contains several
    values, the key of each. The judge is the model that a scorer asks (named in its options or in the role
    ``grader``; without either the model under evaluation grades itself), else the scorer. ``generator`` is
    the model under evaluation, and ``task`` the evaluation. Samples that ended with an error have status
    error, scores that are NaN status unparsed, and absent scores status missing. Of an evaluation that was
    retried the newest log counts.

    Parameters
    ----------
    path : str or Path
        An .eval or .json log, or a folder of them.
    layout : Layout, optional
        ``judge`` is ``grader`` (the rule above), ``scorer`` or ``model`` (the model under evaluation);
        ``dimensions`` and ``items`` choose and rename.
    rules : Rules, optional
        Anchors such as C=1,I=0, check items and marks.

    Returns
    -------
    Imported
        One judgment per sample, epoch and score.

    Raises
    ------
    MissingDependency
        inspect-ai is not installed.
    InputError
        There is no log, or its samples have no scores.

    Examples
    --------
    >>> read_inspect("logs", Layout(judge="scorer")).judgments  # doctest: +SKIP
    """
    source, layout = str(path), layout or Layout()
    by = layout.judge or BY[0]
    if by not in BY:
        raise InputError(f"--judge {by}: judges of a log are named by {listed(BY)}; use one of these.")
    frame, notes = _newest_logs(_samples(Path(path), source))
    items = _item_ids(frame, by)
    rows = [row for _, log in frame.groupby("log", sort=False) for row in _rows(log, items, by)]
    if not rows:
        raise InputError(f"{source}: no sample has a score; score the log with `inspect score` first.")
    if frame["model"].nunique() > 1 and by != "model":
        notes.append(
            "Several models were evaluated, so items are the answers of each model, named SAMPLE/MODEL."
        )
    if frame["task"].nunique() > 1:
        notes.append("There are several tasks, so items are named TASK/SAMPLE.")
    return finish_log_import(pd.DataFrame(rows), layout, rules, source, notes, "name a single log")


def _samples(path: Path, source: str) -> pd.DataFrame:
    """One row per sample, with the scorers and models of its evaluation."""
    if not path.exists():
        raise InputError(f"{source}: there is no such log or folder; check the path.")
    return samples_of(path, source, _columns)


def _columns() -> list[Any]:
    """The columns of a sample and of its evaluation that scores are read from."""
    from inspect_ai.analysis import EvalColumn, SampleColumn

    return [
        *(SampleColumn(name, path=name) for name in ("epoch", "scores", "error", "total_time")),
        *(SampleColumn(name, path=f"{name}_at") for name in ("started", "completed")),
        SampleColumn("id", path="id", required=True, type=str),
        *(EvalColumn(name, path=f"eval.{name}") for name in ("model", "scorers", "model_roles", "created")),
        *(EvalColumn(name, path=f"eval.{name}") for name in ("task", "task_id")),
    ]


def _newest_logs(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The newest log of each evaluation, since a retry copies what was finished before it."""
    newest = frame.groupby(["task_id", "model"])["created"].transform("max")
    rows = frame[frame["created"] == newest].reset_index(drop=True)
    older = frame["log"].nunique() - rows["log"].nunique()
    notes = [f"Logs that a newer one retries (excluded): {older:,}."] if older else []
    return rows, notes


def _item_ids(frame: pd.DataFrame, by: str) -> pd.Series[str]:
    items = frame["id"].astype(str)
    if frame["task"].nunique() > 1:
        items = frame["task"].astype(str) + SEPARATOR + items
    if frame["model"].nunique() > 1 and by != "model":
        items = items + SEPARATOR + frame["model"].astype(str)
    return items


def _rows(log: pd.DataFrame, items: pd.Series[str], by: str) -> Iterator[dict[str, Any]]:
    """One row per sample and dimension of one log."""
    first = log.iloc[0]
    scores = [_json(cell) or {} for cell in log["scores"]]
    item_ids = items.loc[log.index].tolist()
    scorers = _scorers(_json(first["scorers"]) or [], scores)
    roles = _json(first["model_roles"]) or {}
    judges = {name: _judge(entry, roles, str(first["model"]), by) for name, entry in scorers.items()}
    keys = {name: _keys(name, entry, scores) for name, entry in scorers.items()}
    named = _dimensions(scorers, judges, keys)
    for row, (_, sample) in enumerate(log.iterrows()):
        for (name, key), dimension in named.items():
            raw, status = _value(scores[row].get(name), key, sample["error"])
            yield {
                "judge_id": judges[name],
                "judge_kind": "model",
                "item_id": item_ids[row],
                "dimension": dimension,
                "raw": raw,
                "status": status,
                "sample": int(sample["epoch"]),
                "row": row + 1,
                "column": dimension,
                "duration": sample["total_time"],
                "started": sample["started"],
                "ended": sample["completed"],
                "generator": str(sample["model"]),
                "task": str(sample["task"]),
            }


def _scorers(entries: list[Any], scores: Any) -> dict[str, Mapping[str, Any]]:
    """Scorers of a log by the names that its scores have; scores that no scorer explains follow."""
    named: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        short_name = str(entry.get("name", "")).rpartition(SEPARATOR)[2]
        name, count = short_name, 1
        while name in named:
            name, count = f"{short_name}{count}", count + 1
        named[name] = {**entry, "name": short_name}
    names = dict.fromkeys(name for scored in scores for name in scored)
    if names:  # an epoch may have been scored again, and a scorer may have given nothing
        named = {
            name: entry for name, entry in named.items() if name in names or not names.keys() & named.keys()
        }
    for name in names:
        named.setdefault(name, {"name": name})
    return named


def _judge(entry: Mapping[str, Any], roles: Mapping[str, Any], model: str, by: str) -> str:
    if by == "model":
        return model
    name, options = str(entry["name"]), entry.get("options") or {}
    if by == "scorer":
        return name
    grader = options.get("model")
    if isinstance(grader, list):
        return name
    grader = grader or roles.get(options.get("model_role") or (ROLE if name.startswith(GRADED) else ""))
    if isinstance(grader, Mapping):
        grader = grader.get("model") or grader.get("name")
    return str(grader) if grader else model if name.startswith(GRADED) else name


def _keys(name: str, entry: Mapping[str, Any], scores: Any) -> list[str]:
    """Keys of a score with several values; one empty key where it has one."""
    keys: dict[str, None] = {}
    for scored in scores:
        value = (scored.get(name) or {}).get("value")
        if isinstance(value, list):
            keys.update(dict.fromkeys(str(place) for place in range(1, len(value) + 1)))
        elif isinstance(value, dict):
            keys.update(dict.fromkeys(map(str, value)))
        elif value is not None:
            keys[""] = None
    metrics = entry.get("metrics")
    if not keys and isinstance(metrics, dict):
        keys = dict.fromkeys(key for key in metrics if "*" not in key)
    if len(keys) > 1:
        keys.pop("", None)
    return list(keys) or [""]


def _dimensions(
    scorers: Mapping[str, Mapping[str, Any]], judges: Mapping[str, str], keys: Mapping[str, list[str]]
) -> dict[tuple[str, str], str]:
    """Dimension of each score and key: shared by scorers of one name with different judges, else distinct."""
    short = {(name, key): key or str(scorers[name]["name"]) for name in scorers for key in keys[name]}
    pairs = [(judges[name], dimension) for (name, _), dimension in short.items()]
    return {
        (name, key): (
            dimension
            if pairs.count((judges[name], dimension)) == 1
            else f"{name}{SEPARATOR}{key}".rstrip(SEPARATOR)
        )
        for (name, key), dimension in short.items()
    }


def _value(score: Any, key: str, error: Any) -> tuple[str | None, str | None]:
    """Text of a score's value, or the status of what has none."""
    value = score.get("value") if isinstance(score, dict) else None
    if value is not None and is_unread(score):
        return None, "unparsed"
    if key and isinstance(value, dict):
        value = value.get(key)
    elif key and isinstance(value, list):
        value = value[int(key) - 1] if int(key) <= len(value) else None
    if value is None:
        return None, "error" if error else "missing"
    if isinstance(value, float) and math.isnan(value):
        return None, "unparsed"
    return str(int(value) if isinstance(value, bool) else value), None


def _json(cell: Any) -> Any:
    return json.loads(cell) if isinstance(cell, str) and cell else cell
