"""Samples of the LM evaluation harness (``lm_eval --log_samples``): answers of a model and their targets.

EleutherAI's harness writes ``samples_TASK_DATE.jsonl`` with a line per document and filter: ``doc_id, doc,
target, resps, filtered_resps, filter`` and the value of each metric.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ...errors import InputError, counted, listed
from ...tables.reading.json_rows import flat
from ..programs.record_shapes import is_lm_eval
from .judged_table import Judged

ANSWER, TARGET, ITEM, FILTER = "answer", "target", "doc_id", "filter"
OMITTED = ("arguments", "resps", "filtered_resps", "metrics", "doc_hash", "prompt_hash", "target_hash")
FIRST = "none"  # what the harness calls the filter of tasks that have none


def table_of(records: Sequence[Mapping[str, Any]], source: str) -> Judged:
    """A row per document: ``answer`` is the filtered response, ``target`` what the task calls right."""
    # Of multiple choices `answer` is the number of the choice with the largest likelihood, as the target is,
    # or its text where the targets are texts.
    # Where a task has several filters, the last one counts, which is the most lenient of a task.
    filters = list(dict.fromkeys(str(record.get(FILTER, FIRST)) for record in records))
    notes = []
    if len(filters) > 1:
        last_filter = filters[-1]
        records = [record for record in records if str(record.get(FILTER, FIRST)) == last_filter]
        notes.append(f"Filters of the task: {listed(filters)}; the answers of {last_filter!r} are used.")
    rows, are_texts, scores = [], _are_texts(records), dict[str, None]()
    for number, record in enumerate(records, 1):
        if not is_lm_eval(record):
            raise InputError(f"{source}: sample {number:,} has no doc_id, target or response; log it again.")
        further = {name: value for name, value in record.items() if name not in OMITTED}
        numbers = [name for name in further if isinstance(further[name], int | float) and name != ITEM]
        scores |= dict.fromkeys(name for name in record.get("metrics") or numbers if name in further)
        answer = _choice_of(record) if are_texts else answer_of(record)
        rows.append({**flat(further), ANSWER: answer, TARGET: _text(record["target"])})
    frame = pd.DataFrame(rows)
    names = tuple(name for name in scores if name in frame)
    n_repeated = sum(_n_responses(record) > 1 for record in records)
    if n_repeated:
        notes.append(
            f"{counted(n_repeated, 'sample')} with several responses to a request: '{ANSWER}' is the first; "
            f"{listed(map(repr, names)) or 'no column'} may be about all of them."
        )
    return Judged(frame, source, "samples of lm-eval", ANSWER, TARGET, ITEM, tuple(notes), scores=names)


def _n_responses(record: Mapping[str, Any]) -> int:
    """How many responses to one request a sample has."""
    responses = _responses(record)
    first = responses[0] if isinstance(responses, list) and responses else None
    return len(first) if isinstance(first, list) and _likelihood(first) is None else 1


def _are_texts(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all targets are texts of the choices, and not their numbers."""
    targets = [_text(record.get("target")) for record in records]
    return all(target is not None and not target.isdecimal() for target in targets) and all(
        target in _choice_texts(record.get("arguments"))
        for target, record in zip(targets, records, strict=True)
    )


def _choice_of(record: Mapping[str, Any]) -> str | None:
    """The text of the choice with the largest likelihood."""
    answer, texts = answer_of(record), _choice_texts(record.get("arguments"))
    is_place = answer is not None and answer.isdecimal() and int(answer) < len(texts)
    return texts[int(answer or 0)] if is_place else answer


def _choice_texts(arguments: Any) -> list[str]:
    """Texts of the choices of a sample, as its requests have them: the second argument of each."""
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    texts = []
    for request in requests if isinstance(requests, list) else ():
        parts = list(request.values()) if isinstance(request, dict) else request
        if not isinstance(parts, list) or len(parts) != 2 or not isinstance(parts[1], str):
            return []
        texts.append(_text(parts[1]) or "")
    return texts


def answer_of(record: Mapping[str, Any]) -> str | None:
    """The answer of a sample as text; None where there is none."""
    responses = _responses(record)
    if not isinstance(responses, list):
        return _text(responses)
    if not responses:
        return None
    choices = [_likelihood(response) for response in responses]
    if len(responses) > 1 and None not in choices:
        likelihoods = [value for value in choices if value is not None]
        return str(likelihoods.index(max(likelihoods)))
    first = responses[0]
    while isinstance(first, list) and first:  # a list of samples of one request
        first = first[0]
    return _text(first)


def _responses(record: Mapping[str, Any]) -> Any:
    """What the filter left of the responses, or all where there was none."""
    responses = record.get("filtered_resps")
    return record.get("resps") if responses is None else responses


def _likelihood(response: Any) -> float | None:
    """The log likelihood of a choice, which comes as a pair with whether it is the greedy one."""
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    if isinstance(response, list) and len(response) == 2:
        value, greedy = response
        try:
            return float(value) if str(greedy) in ("True", "False", "true", "false") else None
        except (TypeError, ValueError):
            return None
    return None


def _text(value: Any) -> str | None:
    if value is None or value == []:
        return None
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
