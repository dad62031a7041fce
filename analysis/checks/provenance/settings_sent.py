"""Settings that were sent, compared with those that the study asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import listed
from conjury.inference.tables.columns import as_text

from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check
from ..shares import MOST

SETTINGS_SENT = Question(
    "CJ502",
    "settings_sent",
    "Settings that were sent",
    "Were temperature, top_p and the limit of tokens sent as the study states them, and alike for all "
    "requests?",
    "The study reports settings under which the judge did not answer, or a mixture of several.",
    "Correct the settings of the judge in the study file and ask again, or report what was sent.",
    "never",
)
SETTINGS = ("temperature", "top_p", "max_tokens")


@check(SETTINGS_SENT)
def settings_sent(requests: pd.DataFrame, asked: Mapping[str, Mapping[str, Any]]) -> Check:
    """Compare settings of requests with those of the judge, and of requests of one judge with each other."""
    rows = []
    for judge, own in requests.groupby(as_text(requests["judge_id"]), sort=False):
        settings = asked.get(str(judge)) or {}
        wanted_all = {**settings, **(settings.get("settings") or {})}
        for name in SETTINGS:
            if name not in own:
                continue
            sent = pd.to_numeric(own[name], errors="coerce")
            by_prompt = sent.groupby(
                as_text(own["prompt_id"]).fillna("") if "prompt_id" in own else pd.Series("", index=own.index)
            )
            several = int(by_prompt.nunique(dropna=False).max())
            wanted = wanted_all.get(name)
            differ = (
                0
                if wanted is None
                else int((~np.isclose(sent.to_numpy(dtype=float, na_value=np.nan), float(wanted))).sum())
            )
            rows.append(
                (
                    str(judge),
                    "",
                    name,
                    differ,
                    len(own),
                    differ / len(own),
                    several,
                    listed(f"{v:g}" for v in sent.dropna().unique()[:5]),
                )
            )
    if not rows or (all(row[7] == "" for row in rows)):
        raise NotApplicableError("The requests state none of these settings.")
    table = pd.DataFrame(
        rows, columns=["judge", "prompt", "label", "n", "of", "estimate", "different", "sent"]
    )
    wrong, mixed = table[table["n"] > 0], table[(table["n"] == 0) & (table["different"] > 1)]
    verdict: Verdict = "error" if len(wrong) else "warning" if len(mixed) else "pass"
    parts = [
        f"{row.judge}: {row.label} was sent as {row.sent} in {row.n:,} of {row.of:,} requests, where the "
        "study states another value."
        for row in wrong.head(3).itertuples()
    ]
    parts += [
        f"{row.judge}: requests of one prompt have {row.different} values of {row.label} ({row.sent})."
        for row in mixed.head(3).itertuples()
    ]
    finding = (
        " ".join(parts) or f"The settings of {len(requests):,} requests are those that the study states."
    )
    return SETTINGS_SENT.answer(
        table, verdict, finding, rows=pd.concat([wrong, mixed]).head(MOST) if parts else None
    )
