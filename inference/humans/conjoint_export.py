"""Qualtrics exports of conjoint surveys to choices, and a first study file for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy.special import chdtrc

from ..design.profiles import factor
from ..errors import InputError, listed
from ..tables.reading.reading_rules import ReadingRules
from ..tables.schema import POSITIONS, validate
from .conjoint_tasks import (
    TAKEN,
    UNANSWERED,
    UNPARSED,
    Export,
    Integers,
    Outcomes,
    Repeat,
    find_labels,
    find_repeat,
    find_sides,
    read_export,
    read_labels,
    read_picks,
    refuse_answers_without_task,
    shown_levels,
    task_outcomes,
)
from .exclusion_rules import Rules, counts, excluded_notes, row_exclusions
from .imported_ratings import Imported, anonymise
from .qualtrics import TIMES, exclusion_marks
from .text_tables import numbers_or_text, require_column
from .wide import read_seconds

PERSONAL = (
    *("IPAddress", "RecipientLastName", "RecipientFirstName", "RecipientEmail", "ExternalReference"),
    *("ExternalDataReference", "LocationLatitude", "LocationLongitude"),
)
_NOT_FLIPPED = re.compile(r"(not|non|un|no)[_.\- ]?flip", re.IGNORECASE)  # in the name of a repeated task
SURE = 0.001  # of the test that all levels were shown equally often
HEADER = """\
# Drafted from {source}. Check the following before any report:
# the question and the title; that the first level of each attribute is the reference you want; and how likely
# each level was to be shown (all levels of an attribute equally, unless each has a probability; those
# that this draft has are shares of the survey, which differ by more than chance).
# Standard errors and the bootstrap of people are clustered by respondent, those of models by pair.
"""


@dataclass(frozen=True)
class Survey:
    r"""Choices of a survey, and what was assumed in reading it.

    Parameters
    ----------
    choices : DataFrame
        The choices contract, then the attributes, ``attribute_order``, further outcomes and covariates.
    labels : DataFrame
        ``attribute, level, attribute_id, level_id``, in the order of the attributes and levels.
    respondents, tasks : int
        Respondents with choices or empty tasks who are not excluded, and tasks of each without the repeat.
    repeat_first : bool
        Whether the first task is shown again.
    notes : tuple of str
        What was assumed, renamed, excluded or missing, with counts.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "export.csv"
    >>> answers = ["R_1,Post B,Curse,no,yes", "R_2,Post A,Curse,no,yes"]
    >>> _ = file.write_text("\n".join(["ResponseId,choice1,K-1-1,K-1-1-1,K-1-2-1", *answers]))
    >>> survey = read_qualtrics(file)
    >>> survey.respondents, survey.tasks, survey.labels["level"].tolist()
    (2, 1, ['no', 'yes'])
    """

    choices: pd.DataFrame
    labels: pd.DataFrame
    respondents: int
    tasks: int
    repeat_first: bool
    notes: tuple[str, ...]


def read_qualtrics(
    path: str | Path,
    *,
    outcomes: Outcomes | None = None,
    repeated: str | None = None,
    flipped: bool = True,
    labels: str | Path | None = None,
    first: str | None = None,
    second: str | None = None,
    covariates: Sequence[str] | None = None,
    prefix: str | None = None,
    id: str = "ResponseId",
    rules: Rules | ReadingRules | None = None,
    duration: str | None = None,
    anonymous: bool = False,
) -> Survey:
    r"""Read a wide export of a conjoint survey with two profiles per task as choices.

    Column ``K-2-1`` contains the name of the attribute that task 2 shows in the first place, ``K-2-1-1`` its
    level in the first profile and ``K-2-2-1`` in the second; attributes may be in another order for each
    respondent. The first profile is position A. Answers name a profile, such as "Community A".

    Parameters
    ----------
    path : str or Path
        A text file with one respondent per row, with or without rows of question texts and import ids.
    outcomes : sequence or mapping, optional
        Outcome column of each task, or such columns by the name of the result, one of them ``chosen``; by
        default the only columns that are numbered like the tasks.
    repeated : str, optional
        Column of the task that was shown again, as NAME or NAME=TASK; by default found by its name.
    flipped : bool
        Whether the repeated task had its profiles swapped; the name of its column may say "not flipped".
    labels : str or Path, optional
        CSV with ``attribute`` and ``level`` in display order, the reference level first, and perhaps
        ``attribute_id`` and ``level_id``; by default "none" comes first, and others are by number or else
        in alphabetical order.
    first, second : str, optional
        The answers that mean the two profiles; by default they end in A and B, 1 and 2, left and right, or
        first and second. Other answers are an error, unless both are given: then they become status unparsed.
    covariates : sequence of str, optional
        Columns of respondents to keep; by default all but those that identify people.
    prefix : str, optional
        First part of the conjoint columns where there are several sets.
    id : str
        Column that identifies respondents.
    rules : Rules or ReadingRules, optional
        Attention checks, least seconds, and reasons of Qualtrics that do not count; or how the file is read.
    duration : str, optional
        Column with the seconds per respondent; by default that of Qualtrics.
    anonymous : bool
        Whether respondents are called r001, r002, ... in place of their ids.

    Returns
    -------
    Survey
        Two rows for each task that a respondent saw, in the order of the file. ``profile_id`` numbers
        the profiles shown; those of a repeated task carry the numbers of the first time and ``repeat`` is
        true. A task without an answer has status missing. Where respondents are excluded (previews, tests,
        spam, unfinished, probable bots, fraud and duplicates, speed, failed checks), ``excluded`` has the
        reason.

    Raises
    ------
    InputError
        With file, column, row (the first respondent is row 1) and remedy.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "export.csv"
    >>> header = "ResponseId,choice1,K-1-1,K-1-1-1,K-1-2-1"
    >>> answers = ["R_1,Post B,Curse,no,yes", "R_2,Post A,Curse,no,yes"]
    >>> _ = file.write_text("\n".join([header, *answers]))
    >>> choices = read_qualtrics(file).choices
    >>> choices[["judge_id", "position", "chosen", "curse"]].head(2).to_numpy().tolist()
    [['R_1', 'A', 0, 'no'], ['R_1', 'B', 1, 'yes']]
    """
    rules = Rules(reading=rules) if isinstance(rules, ReadingRules) else rules or Rules()
    export = read_export(path, id, prefix, rules.reading)
    excluded = _exclusions(export, rules, duration)
    table = find_labels(export) if labels is None else read_labels(labels)
    levels = shown_levels(export, table)
    named = task_outcomes(export, outcomes)
    outcome_columns = [name for columns in named.values() for name in columns]
    repeat = find_repeat(export, outcome_columns, repeated)
    flipped = flipped and (repeat is None or _NOT_FLIPPED.search(repeat.column) is None)
    columns = [*named.pop("chosen"), *([repeat.column] if repeat else [])]
    tasks = np.array([*range(len(export.tasks)), *([repeat.task] if repeat else [])])
    sides, picks = _read_answers(export, columns, tasks, first, second, excluded.isna())
    frame = _long_table(export, table, levels, tasks, picks, repeat is not None and flipped)
    row = frame.pop("_row").to_numpy()
    frame.insert(0, "judge_id", export.table[id].to_numpy()[row])
    if excluded.notna().any():
        frame["excluded"] = excluded.to_numpy()[row]
    for name, task_columns in named.items():
        frame[name] = _further_outcome(export, task_columns, frame, row)
    covariate_names, notes = _covariates(export, {id, *outcome_columns, *columns}, covariates)
    renamed = {name: f"respondent_{name}" for name in covariate_names if name in TAKEN or name in frame}
    for name in covariate_names:
        frame[renamed.get(name, name)] = numbers_or_text(export.table[name]).to_numpy()[row]
    notes += [
        f"Column {old} is renamed {new}, since choices have their own column {old}."
        for old, new in renamed.items()
    ]
    if anonymous:
        frame = anonymise(Imported(frame, ())).judgments
    for name in ("pair_id", "repeat_of"):
        frame[name] = frame["judge_id"].astype("string") + frame[name]
    valid = validate(frame, "choices", export.source)
    assumed = [
        f"{sides[0]!r} is the first profile (position A), {sides[1]!r} the second (position B).",
        _repeat_note(repeat, export, flipped),
    ]
    is_used = valid["excluded"].isna() if "excluded" in valid else pd.Series(True, index=valid.index)
    return Survey(
        valid,
        table,
        int(valid["judge_id"][is_used].nunique()),
        len(export.tasks),
        repeat is not None and repeat.task == 0,
        (*assumed, *_gaps(export, valid), *_excluded(valid), *notes, *export.notes),
    )


def draft_study(
    survey: Survey,
    name: str,
    source: str,
    *,
    restrictions: Sequence[Mapping[str, Any]] = (),
    joined: Sequence[tuple[str, str]] = (),
) -> str:
    """Write a study file with the attributes and levels of a survey, ready for ``conjury fit``.

    Parameters
    ----------
    survey : Survey
        Choices of a survey, as `read_qualtrics` returns them.
    name : str
        Id of the study.
    source : str
        What the survey was read from, for the first line.
    restrictions : sequence of mapping
        Combinations that never occur, as a study file has them.
    joined : sequence of pairs of str
        Attributes whose interaction the formula of the effects needs, each in one pair.

    Returns
    -------
    str
        YAML that ``load_study`` accepts: AMCEs, marginal means and frequencies of all attributes,
        clustered by respondent.

    Examples
    --------
    >>> labels = pd.DataFrame({"attribute": "Curse", "level": ["No", "Yes"]})
    >>> labels = labels.assign(attribute_id="curse", level_id=["no", "yes"])
    >>> survey = Survey(pd.DataFrame(), labels, 400, 8, True, ())
    >>> "name: posts" in draft_study(survey, "posts", "export.csv").splitlines()
    True
    """
    attributes = []
    for key, rows in survey.labels.groupby("attribute_id", sort=False):
        names = map(str, rows["level_id"])
        levels = list(zip(names, rows["level"], strict=True))
        shares = (
            {} if restrictions else _unequal_shares(survey.choices, str(key), [name for name, _ in levels])
        )
        entries = [
            {"id": name, "label": label, **({"probability": shares[name]} if shares else {})}
            for name, label in levels
        ]
        attributes.append({"id": key, "label": rows["attribute"].iloc[0], "levels": entries})
    formula = "chosen ~ " + " + ".join(part["id"] for part in attributes)
    partner, second = dict(joined), {name for _, name in joined}
    terms = [part["id"] for part in attributes if part["id"] not in second]
    effects = "chosen ~ " + " + ".join(
        f"{term} * {partner[term]}" if term in partner else term for term in terms
    )
    content: dict[str, Any] = {
        "name": name,
        "title": "Conjoint survey" if name == "survey" else f"Conjoint survey {name}",
        "kind": "conjoint",
        "question": "Which of the two do you choose?",
        "attributes": attributes,
        "design": {
            "pairs": survey.respondents * survey.tasks,
            "respondents": survey.respondents,
            "tasks": survey.tasks,
            "repeat_first": survey.repeat_first,
            **({"restrictions": [dict(part) for part in restrictions]} if restrictions else {}),
        },
        "judges": [{"id": "human", "label": "Respondents", "kind": "human"}],
        "clusters": {"human": "judge_id", "model": "pair_id"},
        "bootstrap": {"unit": "pair_id"},
        "analyses": [
            {"name": "amce", "verb": "amce", "title": "Effects of all attributes", "formula": effects},
            {"name": "mm", "verb": "mm", "title": "Marginal means", "formula": formula, "h0": 0.5},
            {"name": "frequencies", "verb": "cj_freqs", "title": "How often each level was shown"}
            | {"formula": formula},
        ],
    }
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)
    return HEADER.format(source=source) + body


def _unequal_shares(choices: pd.DataFrame, attribute: str, levels: Sequence[str]) -> dict[str, float]:
    """Shares of levels, which sum to 1, where they differ by more than chance; empty where they do not."""
    if attribute not in choices:
        return {}
    counts = (
        choices[attribute].astype("string").value_counts().reindex(list(levels), fill_value=0).to_numpy(int)
    )
    total, n_levels = int(counts.sum()), len(levels)
    if n_levels < 2 or not counts.all():
        return {}
    statistic = float(((counts - total / n_levels) ** 2).sum()) / (total / n_levels)
    if float(chdtrc(n_levels - 1, statistic)) >= SURE:
        return {}
    shares = [round(int(count) / total, 4) for count in counts]
    largest = int(counts.argmax())
    shares[largest] = round(1 - sum(shares[:largest] + shares[largest + 1 :]), 4)
    return dict(zip(levels, shares, strict=True))


def _read_answers(
    export: Export,
    columns: Sequence[str],
    tasks: Integers,
    first: str | None,
    second: str | None,
    is_used: pd.Series[bool],
) -> tuple[tuple[str, str], Integers]:
    if (first is None) != (second is None):
        raise InputError("Only one answer is given for two profiles; give both --first and --second.")
    sides = find_sides(export, columns, is_used) if first is None or second is None else (first, second)
    picks = read_picks(export, columns, sides)
    if first is not None and not (picks >= 0).any():
        raise InputError(
            f"{export.source}: no answer in {columns[0]} and so on is {sides[0]!r} or {sides[1]!r}; write "
            "them as in the file."
        )
    refuse_answers_without_task(export, columns, tasks.tolist(), picks)
    return sides, picks


def _long_table(
    export: Export,
    labels: pd.DataFrame,
    levels: pd.DataFrame,
    tasks: Integers,
    picks: Integers,
    flip_last: bool,
) -> pd.DataFrame:
    """Two rows for every presentation of a task that was shown; ``_row`` is the row of the respondent."""
    row, presentation = (np.repeat(part, len(POSITIONS)) for part in np.nonzero(export.shown[:, tasks]))
    position = np.tile(np.arange(len(POSITIONS)), len(row) // len(POSITIONS))
    task, is_repeat = tasks[presentation], presentation >= len(export.tasks)
    profile = np.where(is_repeat & flip_last, 1 - position, position)
    pick = picks[row, presentation]
    columns: dict[str, Any] = {
        "judge_kind": "human",
        "pair_id": _pair_of(presentation),
        "task": presentation + 1,
        "position": factor(position, POSITIONS),
        "profile_id": (row * len(export.tasks) + task) * len(POSITIONS) + profile + 1,
        "chosen": pd.Series(pick == position).astype("Int8").mask(pick < 0),
        "status": np.select([pick == UNANSWERED, pick == UNPARSED], ["missing", "unparsed"], "ok"),
        "repeat": is_repeat,
    }
    profile_levels = levels.reindex(pd.MultiIndex.from_arrays([profile, row, task]))
    for name, rows in labels.groupby("attribute_id", sort=False):
        columns[str(name)] = pd.Categorical(
            profile_levels[name], categories=pd.Index(rows["level_id"].tolist())
        )
    columns["attribute_order"] = profile_levels["attribute_order"].astype("string").array
    columns["repeated_task"] = pd.Series(task + 1).astype("Int64").where(pd.Series(is_repeat))
    columns["repeat_of"] = _pair_of(task).where(is_repeat)
    return pd.DataFrame(columns | {"_row": row})


def _pair_of(task: Integers) -> pd.Series[str]:
    """End of the pair_id of each task, numbered from 0."""
    return pd.Series(task + 1).astype("string").str.zfill(2).radd("_task_")


def _further_outcome(
    export: Export, columns: Sequence[str], frame: pd.DataFrame, row: Integers
) -> pd.Series[int]:
    """Whether each profile is the answer to a further question about its task; missing for the repeat."""
    picks = read_picks(export, columns, find_sides(export, columns))
    task = frame["task"].to_numpy() - 1
    main = task < len(export.tasks)
    pick = np.where(main, picks[row, np.where(main, task, 0)], UNANSWERED)
    return pd.Series(pick == frame["position"].cat.codes).astype("Int8").mask(pick < 0)


def _covariates(
    export: Export, answers: set[str], names: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    if names is not None:
        for name in names:
            require_column(export.table, name, export.source, "--covariates")
        return list(names), []
    candidates = [name for name in export.other_columns if name not in answers]
    personal = [name for name in candidates if name in PERSONAL]
    notes = [
        f"Columns that may identify people are excluded: {listed(personal)}; name them as covariates to "
        "keep them."
    ]
    return [name for name in candidates if name not in personal], notes if personal else []


def _exclusions(export: Export, rules: Rules, duration: str | None) -> pd.Series[Any]:
    """Why each respondent is excluded, missing for those who are not."""
    table, source = export.table, export.source
    if duration is not None:
        require_column(table, duration, source, "--duration")
    column = duration or TIMES["duration"]
    seconds = read_seconds(table[column], source) if column in table else None
    unknown = pd.Series(pd.NA, index=table.index, dtype="Float64")
    return row_exclusions(
        table, exclusion_marks(table), rules, source, unknown if seconds is None else seconds
    )


def _excluded(choices: pd.DataFrame) -> list[str]:
    """How many choices by how many respondents each reason excludes."""
    if "excluded" not in choices:
        return []
    first = choices[(choices["position"] == POSITIONS[0]).to_numpy(dtype=bool)]
    notes = excluded_notes(first["excluded"], first["judge_id"], unit="choice")
    return [
        *notes,
        "Excluded respondents stay in the table with the reason in column 'excluded', and no analysis "
        "uses them; --ignore REASON keeps those of a reason of Qualtrics.",
    ]


def _repeat_note(repeat: Repeat | None, export: Export, flipped: bool) -> str:
    if repeat is None:
        return "No task is repeated."
    how = "its profiles swapped" if flipped else "the same profiles in the same positions"
    return f"{repeat.column} repeats task {export.tasks[repeat.task]}, with {how}."


def _gaps(export: Export, choices: pd.DataFrame) -> list[str]:
    has_task = export.shown.any(axis=1)
    silent = ~choices["chosen"].notna().groupby(choices["judge_id"]).any()
    usable = choices["status"] if "excluded" not in choices else choices["status"][choices["excluded"].isna()]
    pairs = usable.value_counts() // len(POSITIONS)
    return counts(
        {
            "Respondents who saw no task (excluded)": (~has_task).sum(),
            "Tasks that their respondents did not see (excluded)": (~export.shown[has_task]).sum(),
            "Tasks without an answer (status missing)": pairs.get("missing", 0),
            "Answers that name neither of the two profiles (status unparsed)": pairs.get("unparsed", 0),
            "Respondents who answered no task": silent.sum(),
        }
    )
