"""A determinism check: a share of the answered requests asked again, each answer beside the first.

The second answers have a ledger of their own below the run, so that those of the run stay as they are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..errors import InputError
from ..ledger import Answered, Ledger
from ..study.models import ItemStudy, Study
from ..tables.files import write_table
from ..tables.schema import instrument_columns
from .answering.provenance import engine_history
from .run_content import RunContent
from .run_folder import RunFolder, begun_facts, merged_facts
from .run_options import Running
from .run_tables import RunTables, run_tables

PAIRS = "rechecked.parquet"
NAMED = ("judge_id", "prompt_id", "item_id", "task_id", "sample", "occasion", "request_key")
PARSED = ["dimension", "parser", "status", "value"]


@dataclass(frozen=True)
class RecheckedAnswers:
    """Both answers to each request that was answered twice."""

    # one row per request: what it is about, `text_first, text_second`, `text_changed` and `parsed_changed`
    # (whether the status or value of any dimension differs)
    pairs: pd.DataFrame
    # first, second: Whether batch invariance was on when each was asked, as the backend states: "on", "off",
    # "on for a part" or "not stated".
    first: str
    second: str


def check_recheck(running: Running, folder: RunFolder) -> None:
    """Refuse a share that is none, a folder without a run, and options that do not go with asking again."""
    if running.recheck is None:
        return
    if not 0 < running.recheck <= 1:
        raise InputError(
            f"--recheck {running.recheck:g}: the share of answered requests to send again is above 0 and "
            "at most 1; give a number such as 0.01."
        )
    if running.export is not None or running.batch_results is not None:
        raise InputError("--recheck sends requests itself; omit --export and --batch-results.")
    if not folder.ledger.is_file():
        raise InputError(
            f"--recheck: {folder.path} contains no run; collect first, or give its folder by --out."
        )


def recheck_folder(folder: RunFolder, seed: int) -> RunFolder:
    """Return the folder of the second answers that a seed draws; what is shown is that of the run."""
    second_folder = RunFolder(folder.path / "recheck" / f"seed_{seed}")
    second_folder.__dict__["design"] = folder.design
    return second_folder


def draw_keys(keys: Iterable[str], share: float, seed: int) -> list[str]:
    """Draw a share of requests, one at least, by a hash of seed and key: in any order the same ones."""
    # A larger share contains those of a smaller one.
    ordered_keys = keys_in_drawn_order(keys, seed)
    return ordered_keys[: math.ceil(share * len(ordered_keys))]


def keys_in_drawn_order(keys: Iterable[str], seed: int) -> list[str]:
    """Order requests by a hash of seed and key."""

    def place(key: str) -> bytes:
        return hashlib.sha256(f"{seed}:{key}".encode()).digest()

    return sorted(set(keys), key=place)


def keys_to_ask_again(
    folder: RunFolder,
    judge_id: str,
    prompts: Collection[str],
    names: Collection[str] | None,
    facts: dict[str, Any],
    running: Running,
) -> set[str]:
    """Draw from the answered requests of each prompt, about the named subjects or all, if asked alike."""
    by_prompt: dict[str, list[str]] = {}
    with Ledger.open(folder.ledger, write=False) as ledger:
        ledger.require_whole()
        merged_facts(begun_facts(ledger.get("inputs"), ledger.counts()), facts, folder.path)
        for key, prompt, subject in ledger.answered(judge_id):
            if prompt in prompts and (names is None or subject in names):
                by_prompt.setdefault(prompt, []).append(key)
    if not by_prompt:
        raise InputError(
            f"--recheck: judge {judge_id} has no answers yet that could be compared; collect these first."
        )
    share = running.recheck or 0.0
    return {key for keys in by_prompt.values() for key in draw_keys(keys, share, running.recheck_seed)}


def compare_again(
    study: Study | ItemStudy, run: RunFolder, second: Ledger, content: RunContent, rule: str, judge_id: str
) -> RecheckedAnswers:
    """Compare the second answers of a judge with the run's, by one parsing rule; write the comparisons."""
    with Ledger.open(run.ledger, write=False) as first:
        pairs = _answer_pairs(study, first, second, content, rule, judge_id)
        rechecked = RecheckedAnswers(pairs, *(_invariance(ledger, judge_id) for ledger in (first, second)))
    write_table(pairs, second.path.parent / PAIRS)
    return rechecked


def _answer_pairs(
    study: Study | ItemStudy, first: Ledger, second: Ledger, content: RunContent, rule: str, judge_id: str
) -> pd.DataFrame:
    keys = {answer.key for part in second.answers(judge_id) for answer in part if answer.body is not None}

    def tables(ledger: Ledger) -> RunTables:
        answers = _answers_with_keys(ledger.answers(judge_id), keys)
        return run_tables(study, answers, rule=rule, texts_of=content.shown, lines=content.lines)

    before, after = tables(first), tables(second)
    put = instrument_columns(before.judgments, "judgments")
    columns = [name for name in dict.fromkeys((*NAMED, *put)) if name in before.responses]
    pairs = before.responses[[*columns, "text"]].dropna(axis=1, how="all").reset_index(drop=True)
    second_texts = after.responses.set_index("request_key")["text"]
    pairs = pairs.rename(columns={"text": "text_first"})
    pairs["text_second"] = pairs["request_key"].map(second_texts)
    pairs["text_changed"] = pairs["text_first"].fillna("").ne(pairs["text_second"].fillna("")).astype(bool)
    parsed = [_parsed_values(half.judgments) for half in (before, after)]
    pairs["parsed_changed"] = [parsed[0].get(key) != parsed[1].get(key) for key in pairs["request_key"]]
    return pairs


def _invariance(ledger: Ledger, judge_id: str) -> str:
    """Say whether batch invariance was on when a judge was asked, as its backend states."""
    states = {engine["settings"].get("batch_invariant") for engine in engine_history(ledger, judge_id)} or {
        None
    }
    if len(states) > 1:
        return "on for a part"
    return {True: "on", False: "off"}.get(states.pop(), "not stated")


def _answers_with_keys(answers: Iterator[list[Answered]], keys: Collection[str]) -> Iterator[list[Answered]]:
    for part in answers:
        yield [answer for answer in part if answer.key in keys]


def _parsed_values(judgments: pd.DataFrame) -> dict[str, list[tuple[str, ...]]]:
    """What was parsed from each answer: statuses and values in the order of dimensions and parsers."""
    columns = [name for name in PARSED if name in judgments]
    parts = judgments[columns].astype("string").fillna("").itertuples(index=False, name=None)
    parsed: dict[str, list[tuple[str, ...]]] = {}
    for key, part in zip(judgments["request_key"], parts, strict=True):
        parsed.setdefault(str(key), []).append(part)
    return {key: sorted(entries) for key, entries in parsed.items()}
