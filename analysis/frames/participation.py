"""How many people and choices there are: from recruited to analysed, and behind each estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.readers.aliases import exclusion_reasons
from conjury.inference.study.panel_section import PanelSection, Question, columns_of_question
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import KEYS

from .vocabulary import HUMAN

STARTED, RECORDED, NOT_FINISHED, FINISHED = "started", "recorded", "not finished", "finished"
EXCLUDED, ANALYSED = "excluded", "analysed"
MAIN = (STARTED, RECORDED, FINISHED, ANALYSED)
NO_ANSWER, ELSEWHERE = "no valid answer", "not in the data"
COMPLETE = "finished"  # state of a respondent
COLUMNS = ["step", "reason", "n"]
CHOICE = [name for name in KEYS["choices"] if name != "position"]  # columns that name a choice
RESPONDENT = "judge_id"


def people_flow(data: pd.DataFrame, respondents: pd.DataFrame | None = None) -> pd.DataFrame | None:
    """Count people from recruited to analysed."""
    # Returns: `step, reason, n` in order; None where there is nothing to show: fewer than two people, or data
    # of people who are all analysed and no record of others.
    people = data[as_text(data["judge_kind"]).eq(HUMAN).to_numpy(dtype=bool)]
    reasons = _reasons(people)
    rows: list[tuple[str, str, int]] = []
    if respondents is not None:
        state = as_text(respondents["state"])
        dropouts = state[state != COMPLETE].value_counts()
        rows = [(STARTED, "", len(respondents))]
        rows += [(NOT_FINISHED, str(name).replace("_", " "), int(n)) for name, n in dropouts.items()]
        rows.append((FINISHED, "", int((state == COMPLETE).sum())))
        finished = as_text(respondents.loc[(state == COMPLETE).to_numpy(dtype=bool), "judge_id"])
        absent = int((~finished.isin(reasons.index)).sum())
        reasons = reasons[reasons.index.isin(finished)]
        exclusions = [(EXCLUDED, ELSEWHERE, absent)] if absent else []
    else:
        rows, exclusions = [(RECORDED, "", len(reasons))], []
    exclusions += [(EXCLUDED, str(name), int(n)) for name, n in reasons[reasons != ""].value_counts().items()]
    rows += [*exclusions, (ANALYSED, "", int((reasons == "").sum()))]
    if len(reasons) < 2 or (respondents is None and not exclusions):
        return None
    return pd.DataFrame(rows, columns=COLUMNS).astype({"step": "string", "reason": "string", "n": "int64"})


def _reasons(people: pd.DataFrame) -> pd.Series[str]:
    """Why each person is not analysed, by ``judge_id``; empty for those who are."""
    person = as_text(people["judge_id"])
    marked = exclusion_reasons(people["excluded"]) if "excluded" in people else pd.Series(pd.NA, people.index)
    valid = as_text(people["status"]).eq("ok") if "status" in people else pd.Series(True, people.index)
    is_valid = valid.fillna(False).to_numpy(dtype=bool) & marked.isna().to_numpy(dtype=bool)
    analysed = set(person[is_valid])
    result = {}
    for name, marks in marked.groupby(person, sort=False):
        reasons = marks.dropna().astype(str)
        result[str(name)] = "" if name in analysed else (reasons.iloc[0] if len(reasons) else NO_ANSWER)
    return pd.Series(result, dtype="object").astype(str)


def design_effect(weights: np.ndarray, units: np.ndarray | None = None) -> float | None:
    """Kish's design effect of weights (n,) above 0: n sum(w^2) / sum(w)^2; None without any."""
    # Where each unit (n,), such as a respondent, has one weight, it counts once however many rows it has.
    counts = weights > 0
    weights = weights[counts]
    if not len(weights):
        return None
    if units is not None:
        by_unit = pd.Series(weights).groupby(units[counts], sort=False)
        if (by_unit.min() == by_unit.max()).all():
            weights = by_unit.first().to_numpy()
    return float(len(weights) * (weights**2).sum() / weights.sum() ** 2)


@dataclass(frozen=True)
class SampleSizes:
    """Choices and respondents with a row that an analysis uses; None where columns do not tell."""

    n_used: int = 0  # rows, one for each profile
    n_choices: int | None = None
    n_respondents: int | None = None  # None for a model, too


def sample_sizes(rows: pd.DataFrame, outcome: str, kind: str, weights: str | None = None) -> SampleSizes:
    """Count the choices with an outcome and a weight above 0, and who made them."""
    has_answer = rows[outcome].notna()
    if weights is not None and kind == HUMAN:
        has_answer &= rows[weights] > 0
    rows = rows[has_answer.to_numpy(dtype=bool)]
    keys = [name for name in CHOICE if name in rows]
    n_choices = None if "pair_id" not in keys else int((~rows.duplicated(keys)).sum())
    counted = kind == HUMAN and RESPONDENT in rows
    return SampleSizes(len(rows), n_choices, int(rows[RESPONDENT].nunique()) if counted else None)


NO_ANSWER_TO = "No answer"
PARTICIPANTS = ["variable", "level", "n", "share"]


def participants_table(respondents: pd.DataFrame, section: PanelSection) -> pd.DataFrame | None:
    """Describe the people who finished: their answers to background questions, their time and pay."""
    # Returns: `variable, level, n, share` (of all who finished); None where nobody finished, or nothing was
    # asked. Several answers of one person count once each, so their shares may sum to more than one.
    people = respondents[as_text(respondents["state"]).eq(COMPLETE).to_numpy(dtype=bool)]
    rows = [row for question in section.questions for row in _rows_of_question(people, question)]
    if not rows or people.empty:
        return None
    rows += _time_and_pay(people, section)
    frame = pd.DataFrame(rows, columns=["variable", "level", "n"]).astype({"n": "Int64"})
    counted = frame["n"].astype("Float64") / len(people)
    return frame.assign(share=counted.astype(float)).astype({"variable": "string", "level": "string"})


def _rows_of_question(people: pd.DataFrame, question: Question) -> Iterator[tuple[str, str, int | None]]:
    """Rows of one background question; texts have none."""
    columns = [name for name in columns_of_question(question) if name in people]
    if question.form == "text" or not columns:
        return
    if question.form == "several":
        counts = [int(people[name].eq(True).sum()) for name in columns]
        answered = people[columns].notna().any(axis=1)
    elif question.form == "options":
        answers = as_text(people[columns[0]])
        counts = [int(answers.eq(option.id).sum()) for option in question.options]
        answered = answers.notna()
    else:
        yield from _rows_of_number(pd.to_numeric(people[columns[0]]), question)
        return
    for option, count in zip(question.options, counts, strict=True):
        yield question.label, option.label, count
    if not answered.all():
        yield question.label, NO_ANSWER_TO, int((~answered).sum())


def _rows_of_number(values: pd.Series[Any], question: Question) -> Iterator[tuple[str, str, int | None]]:
    """Groups of a number where the study has some, then its mean and range."""
    numbers = values.dropna().astype(float)
    starts = sorted(set(question.groups))
    for low, high in zip(starts, [*starts[1:], None], strict=True):
        in_group = numbers.ge(low) if high is None else numbers.ge(low) & numbers.lt(high)
        last = question.maximum if high is None else high - 1
        name = f"{low} or more" if last is None else f"{low} to {last}"
        yield question.label, name, int(in_group.sum())
    if starts and numbers.lt(starts[0]).any():
        yield question.label, f"below {starts[0]}", int(numbers.lt(starts[0]).sum())
    if len(numbers):
        spread = f", SD {numbers.std():.1f}" if len(numbers) > 1 else ""
        text = f"mean {numbers.mean():.1f}{spread}, range {numbers.min():g} to {numbers.max():g}"
        yield question.label, text, len(numbers)
    if len(numbers) < len(values):
        yield question.label, NO_ANSWER_TO, len(values) - len(numbers)


def _time_and_pay(people: pd.DataFrame, section: PanelSection) -> Iterator[tuple[str, str, int | None]]:
    minutes = pd.to_numeric(people["seconds"]).dropna().astype(float) / 60
    minutes = minutes[minutes > 0]
    if not len(minutes):
        return
    low, middle, high = np.quantile(minutes, [0.25, 0.5, 0.75])
    yield "Minutes", f"median {middle:.1f}, middle half {low:.1f} to {high:.1f}", len(minutes)
    if section.pay is not None:
        amount, currency = float(section.pay.amount), section.pay.currency
        text = f"{amount:.2f} {currency}; {60 * amount / middle:.2f} {currency} per hour at the median time"
        yield "Pay", text, None
