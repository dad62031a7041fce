"""The models that answered, compared with those that were asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from conjury.inference.errors import counted, listed
from conjury.inference.tables.columns import as_text

from ...frames.rounding import percentage
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check, worst
from .naming import MADE_HERE, model_responses, plain_name, requested_models, same_model

MODEL_RETURNED = Question(
    code="CJ501",
    name="model_returned",
    title="Model that answered",
    text="Do answers come from the models that were asked?",
    consequence="Estimates are reported for one model, but some or all answers come from another.",
    remedy="Report the model that answered, or collect answers again with the full name and date of the "
    "model; exclude answers of others.",
    alarms="never",
)
NO_NAMES = "No response states which model answered (column model_returned)."


@check(MODEL_RETURNED)
def model_returned(
    responses: pd.DataFrame,
    requests: pd.DataFrame | None = None,
    asked: Mapping[str, Mapping[str, Any]] | None = None,
) -> Check:
    """Compare the model that each response names with the one that was asked, and count versions."""
    if "model_returned" not in responses:
        raise NotApplicableError(NO_NAMES)
    answered = model_responses(responses)
    answered = answered[answered["model_returned"].notna()]
    returned = as_text(answered["model_returned"])
    simulated = returned.str.casefold().isin(MADE_HERE)
    notes = [f"{counted(int(simulated.sum()), 'answer')} were simulated or replayed and name no model."]
    if simulated.all():
        raise NotApplicableError(NO_NAMES if answered.empty else notes[0])
    answered, returned = answered[~simulated], returned[~simulated]
    models = _requested_models(answered, requests, asked)
    frame = pd.DataFrame({"judge": as_text(answered["judge_id"]), "asked": models, "returned": returned})
    table = (
        frame.fillna({"asked": ""})
        .groupby(["judge", "asked", "returned"], sort=False)
        .size()
        .rename("n")
        .reset_index()
    )
    table["other"] = [
        bool(model) and not same_model(model, name)
        for model, name in zip(table["asked"], table["returned"], strict=True)
    ]
    table["name"] = table["returned"].map(plain_name)
    table["versions"] = table.groupby("judge")["name"].transform("nunique")
    total = table.groupby("judge")["n"].transform("sum")
    table = table.assign(prompt="", label=table["returned"], estimate=table["n"] / total)
    columns = ["judge", "prompt", "asked", "returned", "n", "other", "versions", "label", "estimate"]
    verdicts, sentences = zip(
        *(_assess_judge(str(j), mine) for j, mine in table.groupby("judge", sort=False)), strict=True
    )
    verdict = worst(verdicts)
    finding = " ".join(filter(None, sentences))
    if not finding:
        n_known = int(table.loc[table["asked"].ne(""), "n"].sum())
        finding = f"All {counted(n_known, 'answer')} name the model that was asked."
        if n_known < len(answered):
            statement = "All answers of a judge name one model; the model requested is not known"
            of = f" for {len(answered) - n_known:,} of them" if n_known else ""
            finding = f"{finding} {statement}{of}." if n_known else f"{statement}."
    strange = frame[frame["judge"].isin(table.loc[table["other"], "judge"])]
    pairs = set(table.loc[table["other"], ["judge", "returned"]].itertuples(index=False, name=None))
    strange = strange[[pair in pairs for pair in zip(strange["judge"], strange["returned"], strict=True)]]
    names = [name for name in ("judge_id", "prompt_id", "item_id", "task_id", "sample") if name in answered]
    rows = answered.loc[strange.index, [*names, "model_returned"]].reset_index(drop=True)
    return MODEL_RETURNED.answer(
        table[columns], verdict, finding, notes if simulated.any() else (), rows=rows if len(rows) else None
    )


def _requested_models(
    answered: pd.DataFrame, requests: pd.DataFrame | None, settings: Mapping[str, Mapping[str, Any]] | None
) -> pd.Series[str]:
    """The model that each response was asked of, by its request, else by its judge."""
    by_judge = as_text(answered["judge_id"]).map(requested_models(requests, settings)).astype("string")
    if requests is None or "request_key" not in answered or "request_key" not in requests:
        return by_judge
    sent = requests.drop_duplicates("request_key").set_index("request_key")["model"]
    return as_text(answered["request_key"]).map(sent).astype("string").fillna(by_judge)


def _assess_judge(judge: str, table: pd.DataFrame) -> tuple[Verdict, str]:
    errors = table[table["other"]]
    if len(errors):
        n, total = int(errors["n"].sum()), int(table["n"].sum())
        return "error", (
            f"{n:,} of {counted(total, 'answer')} of {judge} ({percentage(n / total, 1)}) name "
            f"{listed(errors['returned'].unique(), 3)}, where {listed(errors['asked'].unique(), 3)} was "
            f"asked."
        )
    if table["versions"].iloc[0] > 1:
        shares = [f"{row['returned']} ({int(row['n']):,})" for _, row in table.iterrows()]
        return "warning", f"Answers of {judge} name several versions: {listed(shares, 5)}."
    return "pass", ""
