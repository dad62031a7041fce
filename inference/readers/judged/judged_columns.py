"""Which columns of a table are those of a judge, of people and of items, where they are not named."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from ...errors import InputError, as_argument, listed, option_of
from ...tables.columns import plain
from ...tables.reading.account import AccountEntry
from ...tables.reading.cell_rules import is_refusal
from ...tables.reading.table_reading import require_named
from ..raters.alike_columns import columns_like
from .judged_table import Judged

JUDGE = (
    ("judge", "verdict", "judge label", "judge verdict", "llm", "llm label", "llm judge", "model label",
     "judged"),
    ("prediction", "predicted", "pred", "predicted label", "model", "model verdict", "ai label", "answer",
     "output", "y pred", "modell", "modele", "modelo", "modello"),
)  # fmt: skip
HUMAN = (
    ("human", "human label", "label", "gold", "gold label", "ground truth", "truth", "expert", "majority"),
    ("reference", "target", "expected", "annotation", "true label", "y true", "mensch", "humain", "humano",
     "umano"),
)  # fmt: skip
WORDS = {
    "judge": ("judge", "verdict", "llm", "gpt", "claude", "gemini", "llama", "mistral", "qwen", "grader"),
    "human": ("human", "annotator", "rater", "expert", "coder", "gold", "person", "reviewer", "crowd"),
}  # fmt: skip
MOST_REFUSALS = 8  # texts that a suggested command calls missing
FEW = 50  # distinct labels of a column that may be one of labels
PERSON = re.compile(r"^(.*?)[ _.-]*(\d{1,3}|[a-z])$", re.IGNORECASE)


@dataclass(frozen=True)
class JudgedColumns:
    """The columns of a judge and of people, and which of them were guessed."""

    judge: str
    human: tuple[str, ...]
    guessed: tuple[str, ...]


def columns_of(
    judged: Judged, judge: str | None, human: Sequence[str], needs_human: bool = True
) -> JudgedColumns:
    """The columns that are named, else those that the format or their names determine."""
    guessed = []
    if judge is None:
        if judged.remedy and not judged.judge:
            raise InputError(f"{judged.source}: {judged.remedy}.")
        if len(judged.models) > 1:
            raise InputError(_refusal(judged, "judge", judged.models))
        human_columns = {*human, judged.human or "", *judged.people}
        judge = judged.judge
        if judge is None:
            candidates = label_columns(judged, human_columns)
            is_only = not needs_human and len(candidates) == 1  # scores of a test, whatever they are called
            judge = candidates[0] if is_only else _find_column(judged, "judge", JUDGE, candidates)
            _refuse_guess(judged, f"column '{judge}' is that of the judge", "--judge")
        guessed.append(f"judge: column '{judge}'")
    if judge in judged.scores:
        judged = replace(judged, frame=judged.frame.drop(columns=[str(judged.human)]), human=None)
    if not human and needs_human and judged.models and not judged.people:
        raise InputError(
            f"{judged.source}: all answers are those of {listed(judged.models)}; name one of them with "
            "--human to compare it with another, or add answers of people; `conjury compare-runs` compares "
            "two files."
        )
    if not human and needs_human:
        human = [name for name in judged.people or (judged.human or "",) if name not in (judge, "")]
        if not human:
            human = _people(judged, judge)
            _refuse_guess(judged, f"people are in {listed(map(repr, human))}", "--human")
        guessed.append(f"people: {'column' if len(human) == 1 else 'columns'} {listed(map(repr, human))}")
    return JudgedColumns(judge, tuple(human), tuple(guessed))


def columns_by_name(frame: pd.DataFrame, source: str) -> JudgedColumns | None:
    """The columns of a judge and of people in a table, where their names say so without doubt; else None."""
    try:
        return columns_of(Judged(frame, source), None, ())
    except InputError:
        return None


def judge_by_name(names: Iterable[str]) -> tuple[str, ...]:
    """The one of some columns that is called as judges are; none where there is none, or several."""
    matches = tuple(name for name in names if plain(name) in JUDGE[0])
    return matches if len(matches) == 1 else ()


def guessed_people(judged: Judged, judge: str, relabelled: bool = False) -> tuple[str, ...]:
    """The columns of people, where there are some without doubt; none else."""
    # A column without a label of the judge is none of them, unless labels are `relabelled`: the targets of an
    # evaluation are answers, and its judge gives grades.
    require_named(judged.frame, {judge: "--judge"}, judged.source)
    try:
        people = columns_of(replace(judged, table=None), judge, ()).human
    except InputError:
        return ()
    labels = _labels(judged.frame[judge])
    label_sets = [_labels(judged.frame[name]) for name in people]
    alike = all(not labels or not person_labels or labels & person_labels for person_labels in label_sets)
    return columns_of(judged, judge, ()).human if relabelled or alike else ()


def _labels(column: pd.Series[Any]) -> set[str]:
    """The labels of a column without regard to case and spaces; none where all are numbers."""
    texts = column.dropna().astype("string").str.strip().str.casefold()
    distinct = texts.unique()
    return set() if _are_numbers(distinct) else set(distinct)


def _people(judged: Judged, judge: str) -> list[str]:
    """The columns of people: a family such as rater_1, rater_2, or the one column that is called so."""
    families: dict[str, list[str]] = {}
    for name in map(str, judged.frame.columns):
        match = PERSON.match(name)
        if match and name != judge and _has_word(match[1], WORDS["human"]) and _is_label(judged.frame[name]):
            families.setdefault(match[1], []).append(name)
    several = {stem: names for stem, names in families.items() if len(names) > 1}
    if len(several) == 1:
        return next(iter(several.values()))
    if several:
        raise InputError(_refusal(judged, "human", [name for names in several.values() for name in names]))
    return [_find_column(judged, "human", HUMAN, label_columns(judged, {judge}), judge)]


def label_columns(judged: Judged, exclusions: Iterable[str]) -> list[str]:
    """The columns that may contain labels or ratings."""
    left_out = set(exclusions)
    return [
        str(name)
        for name in judged.frame.columns
        if str(name) not in left_out and _is_label(judged.frame[name])
    ]


def _refuse_guess(judged: Judged, sentence: str, option: str) -> None:
    """Refuse a column that nobody named, where the table is read without guesses."""
    if judged.table is not None:
        judged.table.account.adding([AccountEntry("roles", f"{judged.source}: {sentence}", option=option)])


def _find_column(
    judged: Judged, role: str, names: Sequence[Sequence[str]], free: Sequence[str], judge: str | None = None
) -> str:
    """The one column that may have a role: by usual names, a word in its name, then other names."""
    other_words = WORDS["human" if role == "judge" else "judge"]
    spoken = [name for name in free if _has_word(name, WORDS[role]) and not _has_word(name, other_words)]
    for usual_names, sure in zip(names, (True, False), strict=True):
        if not sure and len(spoken) == 1:  # metadata_human rather than the reference answer
            return spoken[0]
        matches = [name for name in free if plain(name) in usual_names]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise InputError(_refusal(judged, role, matches))
    alike = [name for name in columns_like(judged.frame, judge) if name in free] if judge else []
    if spoken or not alike:
        raise InputError(_refusal(judged, role, spoken or free))
    example = f"--judge {shlex.quote(str(judge))} --human {shlex.quote(option_of(alike))}"
    cells = [str(cell) for name in (judge, *alike) for cell in judged.frame[name].dropna().unique()]
    refusals = [cell for cell in dict.fromkeys(cells) if is_refusal(cell)][:MOST_REFUSALS]
    example += "".join(f" --missing {as_argument(cell)}" for cell in refusals)
    raise InputError(f"{_refusal(judged, role, alike).removesuffix('.')}, such as {example}.")


def _refusal(judged: Judged, role: str, candidates: Sequence[str]) -> str:
    if not candidates:
        return f"{judged.source}: no column looks like labels; name that of the {role} with --{role}."
    phrase = "could be" if len(candidates) > 1 else "might be"
    what = "that of the judge" if role == "judge" else "that of people"
    return (
        f"{judged.source}: {listed(candidates)} {phrase} {what}; name "
        f"{'it' if role == 'judge' else 'one or more'} with --{role}."
    )


def _has_word(name: str, words: Sequence[str]) -> bool:
    parts = plain(name).replace(".", " ").split()
    return any(part.startswith(word) for part in parts for word in words)


def _is_label(column: pd.Series[Any]) -> bool:
    """Whether a column may contain labels or ratings: few values, or numbers."""
    values = column.dropna()
    try:
        distinct = values.unique()
    except TypeError:  # lists and other nested values
        return False
    if len(distinct) <= FEW:
        return not values.empty
    return len(distinct) < len(values) and _are_numbers(distinct)


def _are_numbers(values: Any) -> bool:
    """Whether all values are numbers, or texts of numbers."""
    if pd.api.types.is_numeric_dtype(values):
        return True
    return bool(pd.to_numeric(pd.Series(values).astype("string"), errors="coerce").notna().all())
