"""Who took part: answers to background questions, time and pay of the people who finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.study.panel_section import PanelSection, Question, columns_of_question
from conjury.inference.tables.columns import as_text

from ...frames.participation import COMPLETE

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
    for low, high in zip(starts, [*starts[1:], None], strict=False):  # without groups there is none
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
