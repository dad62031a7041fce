"""The models that answered, compared with those that were asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note, join_notes
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
    notes = [
        Note.of(
            "{answers} were simulated or replayed and name no model.",
            answers=counted(int(simulated.sum()), "answer"),
        )
    ]
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
    finding = join_notes(sentences)
    if not finding:
        n_known = int(table.loc[table["asked"].ne(""), "n"].sum())
        finding = Note.of("All {answers} name the model that was asked.", answers=counted(n_known, "answer"))
        if n_known < len(answered):
            one_model = "All answers of a judge name one model; the model requested is not known"
            of = Note.of(" for {n:,} of them", n=len(answered) - n_known) if n_known else ""
            unknown = Note.of("{statement}{of}.", statement=one_model, of=of)
            finding = join_notes([finding, unknown]) if n_known else unknown
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
            Note.of(
                "{n:,} of {answers} of {judge} ({share}) name {returned:3}, where {asked:3} was asked.",
                n=n,
                answers=counted(total, "answer"),
                judge=judge,
                share=percentage(n / total, 1),
                returned=list(errors["returned"].unique()),
                asked=list(errors["asked"].unique()),
            )
        )
    if table["versions"].iloc[0] > 1:
        shares = [f"{row['returned']} ({int(row['n']):,})" for _, row in table.iterrows()]
        return "warning", Note.of(
            "Answers of {judge} name several versions: {versions:5}.", judge=judge, versions=shares
        )
    return "pass", ""
