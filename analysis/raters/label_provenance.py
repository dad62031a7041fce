"""Who wrote labels, whether blind, and how labelled rows were chosen; labels that are set aside for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, did_you_mean, listed
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.row_numbers import row_words
from conjury.inference.tables.schema import LABEL_COLUMNS, SAMPLING

from ..frames.kinds import limit_text
from ..numerics.intervals import SAME
from ..numerics.intervals.bounded import Flags
from ..numerics.types import Floats

COLUMNS = BY, BLIND, SAMPLED, SEEN = LABEL_COLUMNS
KEYS = {"by": BY, "blind": BLIND, "sampled": SAMPLED, "judge_saw": SEEN}  # of a statement about all labels
QUESTIONS = {
    BY: "who wrote the labels",
    BLIND: "whether people labelled without the judge's answer",
    SAMPLED: "how labelled rows were chosen",
}
_YES_NO = {"yes": "yes", "true": "yes", "1": "yes", "no": "no", "false": "no", "0": "no"}
# The first word of a cell decides, so that a name may follow: "person ann", "model gpt-5".
WORDS = {
    BY: {
        **dict.fromkeys(("person", "people", "human"), "person"),
        **dict.fromkeys(("model", "llm", "ai"), "model"),
    },
    BLIND: {**_YES_NO, "blind": "yes"},
    SAMPLED: {
        "random": "random", "all": "random", "judge": "judge", "verdict": "judge", "chosen": "chosen",
        "self-selected": "chosen", "hand-picked": "chosen", "volunteered": "chosen",
    },
    SEEN: _YES_NO,
}  # fmt: skip
REASONS = {  # why a judgment is excluded
    "model_labels": "written by a model",
    "judge_saw_labels": "seen by the judge before it answered",
    "self_selected": "of an item that people chose themselves",
}
FEWEST_RANDOM = 10  # labelled rows that people did not choose, with which the others are set aside
FEWEST_EQUAL, FEWEST_VALUES = 20, 5  # labels, and distinct ones, from which equality of all is no chance


@dataclass(frozen=True)
class LabelAccount:
    """What is known of the labels of n rows."""

    answers: Mapping[str, np.ndarray]  # by column, (n,): what is stated of a row, "" where nothing is
    labelled: Flags  # (n,): rows with a label before any was set aside

    def rows(self, column: str, answer: str) -> Flags:
        """Labelled rows of which something is stated."""
        return np.asarray(self.labelled & (self.answers[column] == answer))

    @property
    def lacking(self) -> list[str]:
        """Questions to which no row has an answer."""
        is_stated = {name: (self.answers[name][self.labelled] != "").any() for name in QUESTIONS}
        return [text for name, text in QUESTIONS.items() if not is_stated[name]]

    def record(
        self, more: Mapping[str, Mapping[str, Any]] | None = None, *, weighted: bool = True
    ) -> dict[str, Any]:
        """Counts by answer, and what the labels take from what may be claimed."""
        # Where rows are drawn by the judge's answer, most estimates are ``weighted`` by it.
        counts = {
            name: {
                answer: int(self.rows(name, answer).sum())
                for answer in dict.fromkeys(WORDS[name].values())
                if self.rows(name, answer).any()
            }
            for name in COLUMNS
        }
        limits: dict[str, Mapping[str, Any]] = {}
        for limit, column, answer in (
            ("model_labels", BY, "model"),
            ("judge_saw_labels", SEEN, "yes"),
            ("not_blind", BLIND, "no"),
            ("drawn_by_judge" if weighted else "drawn_unweighted", SAMPLED, "judge"),
        ):
            n = int(self.rows(column, answer).sum())
            if n:
                limits[limit] = {"n": n}
        limits |= more or {}
        if self.lacking:
            limits["unstated"] = {"lacking": listed(self.lacking)}
        return {"labels": int(self.labelled.sum()), **counts, "limits": limits}


def read_provenance(
    table: pd.DataFrame, people: Sequence[str], statement: Mapping[str, str] | None, source: str
) -> LabelAccount:
    """What columns of the table or a statement about all labels say of each labelled row."""
    statement = dict(statement or {})
    for key, value in statement.items():
        if key not in KEYS:
            raise InputError(
                f"--labelled {key}={value}: there is no {key!r}{did_you_mean(key, KEYS)}; there are "
                f"{listed(KEYS)}."
            )
        if KEYS[key] in table:
            raise InputError(
                f"{source}: column '{KEYS[key]}' and --labelled {key}={value} are about the same; give one."
            )
    labelled = np.zeros(len(table), dtype=bool)
    for name in people:
        labelled |= as_text(table[name]).str.strip().fillna("").ne("").to_numpy(dtype=bool)
    answers = {}
    for key, column in KEYS.items():
        if key in statement:
            what = f"--labelled {key}={statement[key]}"
            answers[column] = np.full(len(table), _meaning(column, statement[key], what))
        elif column in table:
            answers[column] = _column(table[column], column, source)
        else:
            answers[column] = np.full(len(table), "", dtype=object)
    account = LabelAccount(answers, labelled)
    return replace(account, answers={**answers, SAMPLED: _without_certain(account, table)})


def refuse_unreadable(table: pd.DataFrame, source: str) -> None:
    """Refuse what columns say of labels in words that are none, while rows are those of their table."""
    for column in COLUMNS:
        if column in table:
            _column(table[column], column, source)


def _without_certain(account: LabelAccount, table: pd.DataFrame) -> np.ndarray:
    """How rows were chosen; beside drawn labels, chosen ones of probability 1 stand for their rows alone."""
    answers, chosen = account.answers[SAMPLED], account.rows(SAMPLED, "chosen")
    if SAMPLING not in table or not chosen.any() or not (account.labelled & ~chosen).any():
        return answers
    certain = pd.to_numeric(table[SAMPLING], errors="coerce").eq(1).fillna(False).to_numpy(dtype=bool)
    return np.where(chosen & certain, "random", answers)


def without_others_labels(
    table: pd.DataFrame, people: Sequence[str], account: LabelAccount, source: str
) -> tuple[pd.DataFrame, list[str]]:
    """Set aside labels that a model wrote or the judge saw, with notes; InputError where none is left."""
    written, witnessed = account.rows(BY, "model"), account.rows(SEEN, "yes")
    if not (written | witnessed).any():
        return table, []
    columns, n = listed(map(repr, people)), int(account.labelled.sum())
    if not (account.labelled & ~written).any():
        raise InputError(
            f"{source}: all {counted(n, 'label')} of {columns} were written by a model, so they are "
            "no people's; name that column as a judge with --judge, and add labels of people."
        )
    if not (account.labelled & ~written & ~witnessed).any():
        raise InputError(
            f"{source}: the judge saw all labels of {columns} before it answered, so they do not show how it "
            "answers elsewhere; label rows that it has not seen."
        )
    notes = [
        limit_text(name, {"n": int(rows.sum())})
        for name, rows in (("model_labels", written), ("judge_saw_labels", witnessed))
        if rows.any()
    ]
    return without_labels(table, people, written | witnessed), notes


def without_labels(table: pd.DataFrame, people: Sequence[str], rows: Flags) -> pd.DataFrame:
    """The table without people's labels of some rows."""
    emptied = {name: table[name].astype(object).where(~rows, None) for name in people}
    return table.assign(**emptied) if rows.any() else table


def without_chosen(
    table: pd.DataFrame, people: Sequence[str], account: LabelAccount
) -> tuple[pd.DataFrame, str]:
    """Set aside labels of rows that people chose themselves, unless there are hardly any others."""
    chosen = account.rows(SAMPLED, "chosen")
    if not chosen.any():
        return table, ""
    if (account.labelled & ~chosen).sum() < FEWEST_RANDOM:
        return table, "self_selected_only"
    return without_labels(table, people, chosen), "self_selected"


def usable_labels(
    table: pd.DataFrame, people: Sequence[str], labelled: Mapping[str, str] | None, source: str
) -> tuple[pd.DataFrame, dict[str, Any], list[str]]:
    """Rows without labels that are not used as people's, how the others came about, and notes on it."""
    account = read_provenance(table, people, labelled, source)
    table, notes = without_others_labels(table, people, account, source)
    table, chosen = without_chosen(table, people, account)
    weighted = SAMPLING in table
    limits = limits_of_judge(account, chosen, 0)
    drawn_by_judge = int(account.rows(SAMPLED, "judge").sum())
    if drawn_by_judge and not weighted:
        limits["drawn_unweighted"] = {"n": drawn_by_judge}
    notes += [limit_text(name, values) for name, values in limits.items()]
    return table, account.record(limits, weighted=weighted), notes


def reasons_of_judgments(judgments: pd.DataFrame, is_label: Flags, source: str) -> tuple[Any, list[str]]:
    """Why labels of people among judgments are not used, (n,), missing where they are; what is said of it."""
    reasons: pd.Series[Any] = pd.Series(pd.NA, index=judgments.index, dtype="string")
    if not any(name in judgments for name in COLUMNS):
        return reasons, []
    nothing = np.full(len(judgments), "", dtype=object)
    answers = {
        name: _column(judgments[name], name, source) if name in judgments else nothing for name in COLUMNS
    }
    account, limits = LabelAccount(answers, is_label), dict[str, Flags]()
    for limit, column, answer in (("model_labels", BY, "model"), ("judge_saw_labels", SEEN, "yes")):
        limits[limit] = account.rows(column, answer)
        reasons = reasons.mask(limits[limit], REASONS[limit])
    remaining = is_label & reasons.isna().to_numpy(dtype=bool)
    chosen = remaining & account.rows(SAMPLED, "chosen")
    is_set_aside = judgments["item_id"][remaining & ~chosen].nunique() >= FEWEST_RANDOM
    limits["self_selected" if is_set_aside else "self_selected_only"] = chosen
    if is_set_aside:
        reasons = reasons.mask(chosen, REASONS["self_selected"])
    limits["not_blind"] = remaining & account.rows(BLIND, "no")
    limits["drawn_unweighted"] = remaining & account.rows(SAMPLED, "judge")
    return reasons, [limit_text(name, {"n": int(rows.sum())}) for name, rows in limits.items() if rows.any()]


def limits_of_judge(account: LabelAccount, chosen: str, equal: int) -> dict[str, dict[str, int]]:
    """What self-selected labels, informed people and a judge that equals all labels take from its claims."""
    counts = {
        chosen: int(account.rows(SAMPLED, "chosen").sum()),
        "not_blind": int(account.rows(BLIND, "no").sum()),
        "as_if_seen": equal,
    }
    return {name: {"n": n} for name, n in counts.items() if name and n}


def equals_all_labels(judged: Floats, rated: Floats) -> int:
    """How many labels of a person, or means of people, a judge equals, where it equals all; else 0."""
    # Of several people a judge may have copied one, or their mean.
    rated_rows = np.isfinite(rated)
    n_people = rated_rows.sum(axis=0)
    total = np.where(rated_rows, rated, 0.0).sum(axis=0)
    mean = np.divide(total, n_people, out=np.full(len(total), np.nan), where=n_people > 0)
    counts = [_equal(scores, labels) for scores in judged for labels in (*rated, mean)]
    return max(counts, default=0)


def _equal(scores: Floats, labels: Floats) -> int:
    compared = np.isfinite(scores) & np.isfinite(labels)
    n = int(compared.sum())
    if n < FEWEST_EQUAL or len(np.unique(labels[compared])) < FEWEST_VALUES:
        return 0
    return n if np.allclose(scores[compared], labels[compared], rtol=0, atol=SAME) else 0


def _column(column: pd.Series[Any], name: str, source: str) -> np.ndarray:
    texts = as_text(column).str.strip().fillna("")
    first = ~texts.duplicated()
    meanings = {
        text: _meaning(name, str(text), f"{source}: row {row_words(source, row)} of '{name}'")
        for text, row in zip(texts[first], np.flatnonzero(first), strict=True)
        if text
    }
    return texts.map({**meanings, "": ""}).to_numpy(dtype=object)


def _meaning(column: str, text: str, where: str) -> str:
    words = text.strip().casefold().replace("_", "-").split()
    word = words[0].rstrip(":,") if words else ""
    if word not in WORDS[column]:
        question = QUESTIONS.get(column, "whether the judge saw the label")
        raise InputError(
            f"{where}: {text!r} is no answer to {question}; begin with {listed(WORDS[column])}, or leave it "
            "empty."
        )
    return WORDS[column][word]
