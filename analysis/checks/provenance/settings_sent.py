"""Settings of requests as they were sent, compared with those that the study states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import counted, listed
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note, join_notes
from ..judge_shares import judge_and_prompt
from ..judged import NotApplicableError
from ..registry import Check, Question, check, worst
from .naming import same_model

SETTINGS_SENT = Question(
    code="CJ502",
    name="settings_sent",
    title="Settings that were sent",
    text="Were requests sent with the settings that the study states, and with the same settings for all "
    "requests to a judge?",
    consequence="Answers depend on these settings, so the study does not describe the answers collected, "
    "and answers under different settings are pooled.",
    remedy="Report the settings that were sent, or collect answers again with those of the study (`conjury "
    "collect` keeps one set of settings per judge).",
    alarms="never",
)
NO_SETTINGS = "No request has a setting to compare."
SETTINGS = ("model", "temperature", "top_p", "max_tokens", "seed")
OTHER_NAMES = {"max_tokens": ("max_tokens", "max_completion_tokens")}
GRAVE = ("model", "temperature", "top_p")
NOT_SENT = "not sent"


@check(SETTINGS_SENT)
def settings_sent(requests: pd.DataFrame, asked: Mapping[str, Mapping[str, Any]] | None = None) -> Check:
    """Compare each setting of each judge's requests with the one asked, and count its values."""
    parts = [
        row
        for judge, mine in requests.groupby(as_text(requests["judge_id"]), sort=False)
        for row in _judge_rows(str(judge), mine, (asked or {}).get(str(judge)))
    ]
    if not parts:
        raise NotApplicableError(NO_SETTINGS)
    table = pd.DataFrame(parts)
    table = table.assign(label=table["setting"], estimate=table["n_differ"] / table["n"])
    wrong, mixed = table[table["n_differ"] > 0], table[(table["n_values"] > 1) & table["n_differ"].eq(0)]
    sentences = [
        Note.of(
            "{n_differ:,} of {requests} to {judge} have another {column} than the study states "
            "({sent} sent, {asked} stated).",
            n_differ=int(row["n_differ"]),
            requests=counted(int(row["n"]), "request"),
            judge=row["judge"],
            column=row["setting"],
            sent=row["sent"],
            asked=row["asked"],
        )
        for _, row in wrong.iterrows()
    ]
    sentences += [
        Note.of(
            "Requests to {judge} have {n_values} values of {column} ({sent}).",
            judge=row["judge"],
            n_values=int(row["n_values"]),
            column=row["setting"],
            sent=row["sent"],
        )
        for _, row in mixed.iterrows()
    ]
    alarms = pd.concat([wrong, mixed])
    verdict = worst("error" if name in GRAVE else "warning" for name in alarms["setting"])
    if not sentences:
        flags = table.assign(stated=table["asked"].ne("")).groupby("setting", sort=False)["stated"].all()
        parts_of = [
            Note.of("{what} ({columns})", what=what, columns=list(flags.index[flags == value]))
            for what, value in (("that the study states", True), ("of one value per judge", False))
            if (flags == value).any()
        ]
        n = counted(len(requests), "request has", "requests have")
        finding = Note.of("All {n} settings {stated}.", n=n, stated=join_notes(parts_of, " and "))
        return SETTINGS_SENT.answer(table, "pass", finding)
    rows = _rows(requests, alarms, asked or {})
    return SETTINGS_SENT.answer(table, verdict, join_notes(sentences[:6]), rows=rows)


def _judge_rows(
    judge: str, sent: pd.DataFrame, settings: Mapping[str, Any] | None
) -> Iterator[dict[str, Any]]:
    for setting in SETTINGS:
        if setting not in sent:
            continue
        value = _stated_value(settings, setting)
        if sent[setting].isna().all() and value is None:
            continue
        values = [NOT_SENT if pd.isna(value) else _text(value) for value in sent[setting].drop_duplicates()]
        yield {
            "judge": judge,
            "prompt": "",
            "setting": setting,
            "asked": "" if value is None else _text(value),
            "sent": listed(values, 4) if setting != "seed" else counted(len(values), "value"),
            "n": len(sent),
            "n_values": _max_values_per_prompt(sent, setting),
            "n_differ": int(is_different(sent[setting], setting, value).sum()) if settings is not None else 0,
        }


def _stated_value(settings: Mapping[str, Any] | None, setting: str) -> Any:
    return next(
        (
            settings[name]
            for name in OTHER_NAMES.get(setting, (setting,))
            if settings and settings.get(name) is not None
        ),
        None,
    )


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _max_values_per_prompt(sent: pd.DataFrame, setting: str) -> int:
    """Most distinct values of a setting within one prompt; each request has a seed of its own."""
    if setting == "seed":
        return int(sent["seed"].isna().any()) + int(sent["seed"].notna().any())
    filled = sent[setting].astype("string").fillna(NOT_SENT)
    return int(filled.groupby(judge_and_prompt(sent)["prompt"]).nunique().max())


def is_different(sent: pd.Series, setting: str, value: Any) -> np.ndarray:
    """Whether each value that was sent is not the one stated, shape (n,)."""
    # A seed may be any, since each request draws its own; limits of tokens and other values that the study
    # does not state may be the form's or the server's default.
    missing = sent.isna().to_numpy(dtype=bool)
    if value is None:
        return ~missing if setting in ("temperature", "top_p") else np.zeros(len(sent), dtype=bool)
    if setting == "seed":
        return missing
    if setting == "model":
        return np.array([pd.isna(v) or not same_model(str(value), str(v)) for v in sent], dtype=bool)
    numbers = pd.to_numeric(sent, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    return missing | ~np.isclose(numbers, float(value), rtol=1e-9, atol=0.0)


def _rows(requests: pd.DataFrame, alarms: pd.DataFrame, judge_settings: Mapping[str, Any]) -> pd.DataFrame:
    names = ["judge_id", "prompt_id", "item_id", "task_id", "sample"]
    parts: list[pd.DataFrame] = []
    for _, alarm in alarms.iterrows():
        mine = requests[as_text(requests["judge_id"]) == alarm["judge"]]
        setting = str(alarm["setting"])
        wrong = is_different(
            mine[setting], setting, _stated_value(judge_settings.get(alarm["judge"]), setting)
        )
        if not alarm["n_differ"]:
            usual = mine[setting].mode(dropna=False).iloc[0]
            same = mine[setting].isna() if pd.isna(usual) else mine[setting].eq(usual).fillna(False)
            wrong = ~same.to_numpy(dtype=bool)
        rows = mine.loc[wrong, [name for name in names if name in mine]]
        parts.append(rows.assign(setting=setting, sent=mine.loc[wrong, setting].astype("string")))
    return pd.concat(parts, ignore_index=True)
