"""An account of a judge's answers: how many are missing, cut, refused or unread, why, and what to do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from ...backends.openai.failures import SETTLED
from ...errors import counted
from ...ledger import Count
from ...ledger.exchanges import TRANSIENT
from ...parsing.answer_rules import ALONE, BOUND
from ...tables.columns import as_text
from ...tables.records import SECOND_READING, read_record
from ...tables.safe_text import shortened

EXAMPLES, REASONS = 3, 5  # examples of each reason, and reasons that are printed
LONGEST = 100  # characters of an example
WITH_LOGPROBS = ("token", "choice")  # ways of asking that ask for log-probabilities
NO_REASON = "no reason is noted"
REMEDIES = {  # of requests without an answer, by the kind of their last error
    "pending": "`conjury collect` with the same options sends them",
    "waiting": "`conjury collect` with the same options fetches them when their batches have ended",
    **dict.fromkeys(TRANSIENT, "`conjury collect` with the same options sends them again"),
    "rejected": f"{SETTLED}; where the server was the cause, `conjury run retry STUDY --status error`, and "
    "collect again",
    "too_large": "they are longer than the model accepts; shorten what is shown, or choose another model",
}


class AnswerAccounts:
    """Counts of the answers of each judge of a run, whose tables come part by part."""

    # `judges` has the settings of each; the judgments of an answer are in the part that has its response

    def __init__(self, judges: Mapping[str, Mapping[str, Any]]) -> None:
        self._judges = judges
        self._endings: dict[str, dict[str, Any]] = {}
        self._errors: dict[str, dict[str, Counter[str]]] = {}

    def add(self, responses: pd.DataFrame, judgments: pd.DataFrame) -> None:
        """Count the answers of a part."""
        for judge in responses["judge_id"].unique():
            of_judge = responses[(responses["judge_id"] == judge).to_numpy(dtype=bool)]
            parsed = judgments[(judgments["judge_id"] == judge).to_numpy(dtype=bool)]
            endings = _endings(of_judge, parsed, self._judges.get(judge, {}))
            before = self._endings.get(judge)
            self._endings[judge] = endings if before is None else _sum_of(before, endings)
            failed = of_judge[of_judge["error_kind"].notna().to_numpy(dtype=bool)]
            errors = self._errors.setdefault(judge, {})
            for kind, error in zip(failed["error_kind"], as_text(failed["error"]), strict=True):
                errors.setdefault(kind, Counter())[error] += 1

    def records(self, counts: Sequence[Count]) -> list[dict[str, Any]]:
        """Return a record of each judge; ``counts`` are those of the ledger."""
        nothing = [pd.DataFrame(columns=list(columns)) for columns in COLUMNS.values()]
        return [
            {
                **_requests(judge, counts, self._errors.get(judge, {})),
                **(self._endings.get(judge) or _endings(nothing[0], nothing[1], self._judges.get(judge, {}))),
            }
            for judge in dict.fromkeys(count.judge_id for count in counts)
        ]


def _sum_of(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Add the counts of two parts."""
    total: dict[str, Any] = {}
    for name, value in first.items():
        if isinstance(value, bool):
            total[name] = value or second[name]
        elif isinstance(value, int):
            total[name] = value + second[name]
    reasons: dict[str, dict[str, Any]] = {}
    for entry in (*first["unread"], *second["unread"]):
        reason = reasons.setdefault(entry["reason"], {"reason": entry["reason"], "n": 0, "examples": []})
        reason["n"] += entry["n"]
        reason["examples"] = list(dict.fromkeys([*reason["examples"], *entry["examples"]]))[:EXAMPLES]
    return {**total, "unread": sorted(reasons.values(), key=lambda entry: -entry["n"])}


def _requests(judge: str, counts: Sequence[Count], errors: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """Count a judge's requests, and those without an answer by kind, with the commonest error of each."""
    states: Counter[str] = Counter()
    for count in counts:
        if count.judge_id == judge:
            states["waiting" if count.batch else count.state] += count.n
    missing = []
    for kind, n in sorted(states.items(), key=lambda state: -state[1]):
        if kind != "answered":
            error = errors[kind].most_common(1)[0][0] if errors.get(kind) else ""
            remedy = REMEDIES.get(kind, REMEDIES["rejected"])
            missing.append({"kind": kind, "n": n, "error": error, "remedy": remedy})
    return {
        "judge": judge,
        "requests": states.total(),
        "answered": states["answered"],
        "without_answer": missing,
    }


def _endings(responses: pd.DataFrame, judgments: pd.DataFrame, ask: Mapping[str, Any]) -> dict[str, Any]:
    """Count what became of a judge's answers; an answer counts where any of its dimensions does."""
    answered = responses[responses["text"].notna().to_numpy(dtype=bool)]
    keys = set(answered["request_key"])
    read = judgments[judgments["request_key"].isin(keys).to_numpy(dtype=bool)]
    status = as_text(read["status"])
    notes = as_text(read["note"]).fillna("")
    by_status = {
        name: int(read.loc[(status == name).to_numpy(dtype=bool), "request_key"].nunique())
        for name in ("refused", "empty", "truncated", "unparsed", "error")
    }
    is_read = (status == "ok").to_numpy(dtype=bool)
    keys_read = set(read.loc[is_read, "request_key"])
    is_unread = (status == "unparsed").to_numpy(dtype=bool)
    settings = ask.get("settings") or {}
    with_logprobs = int(answered["logprobs"].notna().sum())
    is_asked = ask.get("answer") in WITH_LOGPROBS and ask.get("logprobs", True)
    asks = is_asked or bool(settings.get("logprobs")) or with_logprobs > 0
    return {
        "read": len(keys_read),
        "read_in_part": len(keys_read & set(read.loc[~is_read, "request_key"])),
        **by_status,
        "reasoning_only": _with_note(read, notes, ALONE),
        "logprobs_asked": asks,
        "with_logprobs": with_logprobs,
        "with_bound": _with_note(read, notes, BOUND),
        "unread": _unread(read[is_unread], notes[is_unread], answered),
    }


def _with_note(read: pd.DataFrame, notes: pd.Series[str], note: str) -> int:
    noted = notes.str.contains(note, regex=False).to_numpy(dtype=bool)
    return int(read.loc[noted, "request_key"].nunique())


def _unread(unread: pd.DataFrame, notes: pd.Series[str], answered: pd.DataFrame) -> list[dict[str, Any]]:
    """List the reasons for which answers are not read, the commonest first, with examples."""
    if unread.empty:
        return []
    reasons = notes.map(reason_without_quotes)
    rows = unread.assign(reason=reasons.to_numpy()).drop_duplicates(["request_key", "reason"])
    texts = dict(zip(answered["request_key"], answered["text"], strict=True))
    sizes = rows["reason"].value_counts(sort=False)
    order = sizes.index[np.argsort(-sizes.to_numpy(), kind="stable")]
    entries = []
    for reason in order:
        keys = rows["request_key"][(rows["reason"] == reason).to_numpy(dtype=bool)]
        examples = list(dict.fromkeys(shortened(texts.get(key, ""), LONGEST) for key in keys))[:EXAMPLES]
        entries.append({"reason": reason, "n": int(sizes[reason]), "examples": examples})
    return entries


def reason_without_quotes(note: str) -> str:
    """Return the reason of a note without what it quotes of an answer, so that equal reasons are counted."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\b\d+(?:\.\d+)?\b", "…", note)
    return re.sub(r"…(?:, …)+", "…", text) or NO_REASON


COLUMNS = {
    "responses": ("judge_id", "request_key", "text", "logprobs", "error_kind", "error"),
    "judgments": ("judge_id", "request_key", "status", "note"),
}


def read_accounts(
    folder: Path, counts: Sequence[Count], judges: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Count the answers of a run by its tables, which may not be there yet."""
    accounts = AnswerAccounts(judges)
    files = [folder / f"{name}.parquet" for name in COLUMNS]
    if all(file.is_file() for file in files):
        with pq.ParquetFile(files[0]) as responses, pq.ParquetFile(files[1]) as judgments:
            opened = tuple(zip((responses, judgments), map(list, COLUMNS.values()), strict=True))
            # the groups of both have the same answers where they were written part by part
            numbers = {file.num_row_groups for file, _ in opened}
            if len(numbers) == 1:
                for number in range(numbers.pop()):
                    accounts.add(*(file.read_row_group(number, names).to_pandas() for file, names in opened))
            else:
                accounts.add(*(file.read(names).to_pandas() for file, names in opened))
    records, rereads = accounts.records(counts), read_rereads(folder)
    of_judge = {
        each["judge"]: [record for record in rereads if record["judge"] == each["judge"]] for each in records
    }
    return [
        each | ({"rereads": of_judge[each["judge"]]} if of_judge[each["judge"]] else {}) for each in records
    ]


REREAD_FILE = "reread.json"
REREAD_REMEDY = "run the same `conjury collect --reread` again, which writes it, or remove it"


def read_rereads(folder: Path) -> list[dict[str, Any]]:
    """Return what second readers read of a run's answers."""
    paths = sorted((folder / "reread").glob(f"*/*/{REREAD_FILE}"))
    return [read_record(path, SECOND_READING, REREAD_REMEDY) for path in paths]


def reread_sentences(record: Mapping[str, Any]) -> list[str]:
    """Say what a second reader read, and how often it agrees with the rules."""
    parts = [f"{record['read']:,} read"]
    names = {"unclear": "unclear", "not_stated": "without a verdict"}
    parts += [f"{record[name]:,} {words}" for name, words in names.items() if record[name]]
    name, n_both = record["parser"], record["both_read"]
    lines = [f"{name}: of {counted(record['unread'], 'verdict')} that no rule reads, {', '.join(parts)}."]
    if record["sampled"]:
        n_further = record["sampled_not_stated"]
        unsure = f"; it states none for {counted(n_further, 'further one')}" if n_further else ""
        lines.append(
            f"{name}: agrees with the rules on {record['agreed']:,} of {counted(n_both, 'verdict')} that "
            f"both read{unsure}."
        )
    if n_missing := record["unanswered"]:
        total = counted(record["unread"] + record["sampled"], "request")
        lines.append(f"{name}: {n_missing:,} of {total} without an answer; the same command asks again.")
    return lines


def account_sentences(account: Mapping[str, Any], study: str = "STUDY") -> list[str]:
    """Say what became of a judge's requests and answers, and what to do, each in a sentence."""
    n, answered = account["requests"], account["answered"]
    n_part = account.get("read_in_part", 0)  # which earlier runs did not count
    in_part = f" ({n_part:,} of them in part, so that these count twice)" if n_part else ""
    parts = [f"{account['read']:,} read{in_part}"]
    names = {
        "refused": "refused",
        "truncated": "cut at the limit of tokens",
        "empty": "empty",
        "unparsed": "not read",
        "error": "ended by an error",
    }
    parts += [f"{account[name]:,} {words}" for name, words in names.items() if account[name]]
    lines = [f"Answers of {account['judge']}: {answered:,} of {counted(n, 'request')}; {', '.join(parts)}."]
    lines += [_missing_sentence(missing, n, study) for missing in account["without_answer"]]
    lines += _ending_sentences(account, study)
    for entry in account["unread"][:REASONS]:
        examples = "; ".join(f"“{text}”" for text in entry["examples"])
        lines.append(f"Not read ({entry['n']:,}): {entry['reason']}. Examples: {examples}.")
    return lines + [line for record in account.get("rereads", ()) for line in reread_sentences(record)]


def _missing_sentence(missing: Mapping[str, Any], n: int, study: str) -> str:
    error = f": {shortened(missing['error'], 200)}" if missing["error"] else ""
    verb = "has" if missing["n"] == 1 else "have"
    remedy = missing["remedy"].replace("STUDY", study)
    kind = "" if missing["kind"] in ("pending", "waiting") else f" ({missing['kind']}{error})"
    state = {"pending": ", not sent yet", "waiting": ", they wait in batches"}.get(missing["kind"], "")
    return f"{missing['n']:,} of {counted(n, 'request')} {verb} no answer{kind}{state}; {remedy}."


def _ending_sentences(account: Mapping[str, Any], study: str) -> Iterable[str]:
    answered = account["answered"]
    if account["truncated"]:
        yield (
            f"{counted(account['truncated'], 'answer')} ended at the limit of tokens; raise `max_tokens` in "
            "the settings of the judge, and collect into another folder with --out, since a run keeps the "
            "settings it began with."
        )
    if account["reasoning_only"]:
        yield (
            f"{counted(account['reasoning_only'], 'answer has its', 'answers have their')} text in the field "
            "for reasoning only, which is never read as an answer; raise `max_tokens`, turn the model's "
            "reasoning off, or start the server without its parser of reasoning."
        )
    if account["logprobs_asked"] and account["with_logprobs"] < answered:
        yield (
            f"{account['with_logprobs']:,} of {counted(answered, 'answer')} have log-probabilities, although "
            "all were asked for them; without them the column probability is empty."
        )
    if account["with_bound"]:
        yield (
            f"In {account['with_bound']:,} answers few tokens have log-probabilities; the column probability "
            "has bounds there, which the column note states."
        )
