"""How many people and choices there are: from recruited to analysed, and behind each estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.readers.aliases import exclusion_reasons
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
    reasons = marked.astype("string").groupby(person, sort=False).first().fillna(NO_ANSWER)
    return reasons.mask(reasons.index.isin(list(analysed)), "").astype(str)


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
