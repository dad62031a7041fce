"""Which versions of models and servers answered in a run, and notes where there was more than one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import counted
from ...ledger import Ledger
from ...tables.frames import SIMULATED
from ...tables.records import PROVENANCE, PROVENANCE_FILE, read_record
from ...tables.writing import write_text
from .answer_account import read_rereads
from .probing import read_probes

VERSION = ("model_returned", "system_fingerprint")
_KEYS = ["judge_id", *VERSION]


def remember_engine(ledger: Ledger, judge_id: str, settings: dict[str, Any]) -> None:
    """Note the settings that a judge is asked with from now on, if they are others than before."""
    history = engine_history(ledger, judge_id)
    if not history or history[-1]["settings"] != settings:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        ledger.set(f"engine:{judge_id}", [*history, {"since": since, "settings": settings}])


def engine_history(ledger: Ledger, judge_id: str) -> list[dict[str, Any]]:
    """Return all settings that a judge was asked with: ``since`` (UTC) and ``settings``, the newest last."""
    return list(ledger.get(f"engine:{judge_id}") or [])


class ServedVersions:
    """Answers by judge and version, with the times of the first and the last, counted part by part."""

    # `model_returned` and `system_fingerprint` are as the provider states them, None where it does not.

    def __init__(self) -> None:
        self._parts: list[pd.DataFrame] = []
        self._judges: dict[str, None] = {}

    def add(self, responses: pd.DataFrame) -> None:
        """Count the versions of a part."""
        self._judges |= dict.fromkeys(responses["judge_id"].unique())
        answered = responses[responses["text"].notna().to_numpy(dtype=bool)]
        groups = answered.groupby(_KEYS, dropna=False, observed=True, sort=False)["created"]
        self._parts.append(groups.agg(n="size", first="min", last="max").reset_index())

    def records(self) -> list[dict[str, Any]]:
        """Return a record of each version, oldest first."""
        groups = pd.concat(self._parts).groupby(_KEYS, dropna=False, observed=True, sort=False)
        table = groups.agg(n=("n", "sum"), first=("first", "min"), last=("last", "max")).reset_index()
        table = table.sort_values(["judge_id", "first", *VERSION], kind="stable")
        return [
            {name: None if pd.isna(row[name]) else str(row[name]) for name in _KEYS}
            | {"n": int(row["n"])}
            | {name: row[name].isoformat(timespec="seconds") for name in ("first", "last")}
            for row in table.to_dict("records")
        ]

    def write(self, ledger: Ledger, folder: Path, accounts: Sequence[Mapping[str, Any]] = ()) -> None:
        """Write the versions, the settings of each judge since when they held, and an account of answers."""
        facts = {
            "served": self.records(),
            "settings": {judge: engine_history(ledger, judge) for judge in self._judges},
            "answers": [
                {name: value for name, value in each.items() if name != "unread"} for each in accounts
            ],
        }
        facts |= {"probes": probes} if (probes := read_probes(folder)) else {}
        facts |= {"rereads": rereads} if (rereads := read_rereads(folder)) else {}
        write_text(folder / PROVENANCE_FILE, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def check_records(folder: Path) -> None:
    """Refuse a run whose probes or second readings are damaged, before anything is sent for it."""
    read_probes(folder)
    read_rereads(folder)


def read_provenance(folder: Path) -> dict[str, Any]:
    """Read what a run recorded of its versions; without a record, no versions and no settings."""
    path = folder / PROVENANCE_FILE
    if not path.exists():
        return {"served": [], "settings": {}}
    return read_record(path, PROVENANCE, "restore it, or run `conjury run parse`, which writes it again")


def write_rereads(folder: Path) -> None:
    """Take what second readers read into the record of a run that has one."""
    if (folder / PROVENANCE_FILE).exists():
        facts = read_provenance(folder) | {"rereads": read_rereads(folder)}
        write_text(folder / PROVENANCE_FILE, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def version_notes(folder: Path) -> list[str]:
    """Report judges of a run under whose name several versions answered."""
    served = read_provenance(folder)["served"]
    notes = []
    for judge in dict.fromkeys(version["judge_id"] for version in served):
        records = [
            version
            for version in served
            if version["judge_id"] == judge and version["model_returned"] != SIMULATED
        ]
        if len(records) > 1:
            notes.append(
                f"Answers of judge {judge} come from {len(records)} versions: "
                f"{'; '.join(map(_version, records))}. Differences between these answers may be due to the "
                "version."
            )
    return notes


ENGINE = {  # settings that may change answers of vLLM, with their names in words
    **{name: name for name in ("vllm", "ray")},
    **{f"{how}_parallel_size": f"{how} parallel size" for how in ("tensor", "pipeline", "data")},
    "replicas": "replicas",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
}


def engine_notes(folder: Path) -> list[str]:
    """Describe the engines of a run that state whether their answers depend on the batch."""
    notes = []
    for judge, entries in read_provenance(folder)["settings"].items():
        for settings in (entry["settings"] for entry in entries if "batch_invariant" in entry["settings"]):
            features = [f"{words} {settings[name]}" for name, words in ENGINE.items() if settings.get(name)]
            invariance = "on" if settings["batch_invariant"] else "off"
            notes.append(f"Engine of {judge}: batch invariance {invariance}; {', '.join(features)}.")
    return notes


def _version(version: dict[str, Any]) -> str:
    name = version["model_returned"] or "no model stated"
    fingerprint = version["system_fingerprint"] or "no fingerprint"
    dates = f"{version['first'][:10]} to {version['last'][:10]}"
    return f"{name}, {fingerprint} ({counted(version['n'], 'answer')}, {dates})"
