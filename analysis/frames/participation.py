"""People of a study from recruited to analysed, counted by why they are not among the next."""

from __future__ import annotations

import pandas as pd

from conjury.inference.readers.aliases import exclusion_reasons
from conjury.inference.tables.columns import as_text

from .vocabulary import HUMAN

STARTED, RECORDED, NOT_FINISHED, FINISHED = "started", "recorded", "not finished", "finished"
EXCLUDED, ANALYSED = "excluded", "analysed"
MAIN = (STARTED, RECORDED, FINISHED, ANALYSED)
NO_ANSWER, ELSEWHERE = "no valid answer", "not in the data"
COMPLETE = "finished"  # state of a respondent
COLUMNS = ["step", "reason", "n"]


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
