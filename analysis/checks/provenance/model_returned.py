"""Models that answered in place of the one that was asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.readers.choices import SIMULATED
from conjury.inference.tables.columns import as_text

from ...frames.vocabulary import HUMAN
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check, highest
from ..shares import evidence, judge_and_prompt

MODEL_RETURNED = Question(
    "CJ501",
    "model_returned",
    "The model that answered",
    "Is the model that answered the one that was asked, and is it one model under each name?",
    "The results are those of another model, or a mixture of several.",
    "Report the model that answered; give each model a judge of its own, and name a dated version where "
    "there is one.",
    "never",
)
_DATE = re.compile(r"[-@:_]?(?:20\d{2}[-_]?\d{2}[-_]?\d{2}|\d{4}|latest|preview|exp|001|002|003)$")


@check(MODEL_RETURNED)
def model_returned(
    responses: pd.DataFrame, asked: Mapping[str, Mapping[str, Any]], requests: pd.DataFrame | None = None
) -> Check:
    """Compare the model that the server names with the one of the request or study."""
    if "model_returned" not in responses:
        raise NotApplicableError("The responses do not state which model answered.")
    rows = responses[
        as_text(responses["model_returned"]).notna().to_numpy()
        & as_text(responses["judge_kind"]).ne(HUMAN).to_numpy()
    ]
    rows = rows[as_text(rows["model_returned"]).ne(SIMULATED).to_numpy(dtype=bool)]
    if rows.empty:
        raise NotApplicableError("No response states which model answered.")
    wanted = as_text(rows["judge_id"]).map(
        {judge: str(settings.get("model", "")) for judge, settings in asked.items()}
    )
    if requests is not None and "model" in requests:
        sent = as_text(requests.drop_duplicates("request_key").set_index("request_key")["model"])
        wanted = as_text(rows["request_key"]).map(sent).fillna(wanted)
    frame = judge_and_prompt(rows).assign(
        label=as_text(rows["model_returned"]), asked=as_text(wanted).fillna("")
    )
    table = frame.groupby(["judge", "asked", "label"], sort=False).size().rename("n").reset_index()
    total = table.groupby("judge")["n"].transform("sum")
    other = [bool(a) and not same_model(a, b) for a, b in zip(table["asked"], table["label"], strict=True)]
    table = table.assign(prompt="", of=total, estimate=table["n"] / total, other=other)
    several = table.groupby("judge")["label"].nunique()
    mixed = int((several > 1).sum())
    substituted = table[table["other"]]
    verdict: Verdict = "error" if len(substituted) else "warning" if mixed else "pass"
    if len(substituted):
        most = highest(substituted, substituted["n"])
        finding = (
            f"{int(substituted['n'].sum()):,} answers are by another model than asked: {most['judge']} "
            f"asked {most['asked']!r} and {most['label']!r} answered {int(most['n']):,} times."
        )
    else:
        finding = f"Every model that answered is the one that was asked ({counted(len(several), 'judge')})."
    if mixed:
        named = str(several.idxmax())
        finding += f" Under the name {named}, {int(several.max())} models or versions answered."
    flags = pd.Series(False, index=rows.index)
    if len(substituted):
        pairs = set(zip(substituted["judge"], substituted["label"], strict=True))
        flags = pd.Series(
            [pair in pairs for pair in zip(frame["judge"], frame["label"], strict=True)], index=rows.index
        )
    shown = evidence(rows, flags.to_numpy(), ("model_returned", "request_key")) if len(substituted) else None
    columns = ["judge", "prompt", "label", "asked", "n", "of", "estimate"]
    return MODEL_RETURNED.answer(table[columns], verdict, finding, rows=shown)


def same_model(asked: str, answered: str) -> bool:
    """Whether two names can be one model: without the provider, and where one of them adds a date.

    Examples
    --------
    >>> same_model("gpt-4o", "gpt-4o-2024-08-06"), same_model("gpt-4o", "gpt-4o-mini")
    (True, False)
    """
    one, other = (name.rpartition("/")[2].casefold().strip() for name in (asked, answered))
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and _DATE.fullmatch(long[len(short) :]) is not None
