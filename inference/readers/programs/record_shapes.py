"""Which program wrote a record, by its fields; each function sees the first one, or columns alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Record = Mapping[str, Any]
SWAPS = ("swap = False", "swap = True")  # the games of LLMBar
RESPONSE_NAMES = ("responseid", "recordid")  # of the column of ids in Qualtrics, without underscores
MARK = ":::"  # between schema and label in the tables of Potato


def is_label_studio(record: Record) -> bool:
    """A task with its annotations, or one annotation of JSON-MIN or CSV."""
    has_data = isinstance(record.get("data"), Mapping)
    return (has_data and "annotations" in record) or {"annotation_id", "annotator", "lead_time"} <= set(
        record
    )


def is_argilla(record: Record) -> bool:
    """A record with responses to questions: flat, nested, or lists beside suggestions (version 1)."""
    if any(name.endswith(".responses") for name in record):
        return True
    nested = record.get("responses")
    lists = nested.values() if isinstance(nested, Mapping) else ()
    return any(map(_has_users, lists)) or bool(listed_questions(record))


def listed_questions(record: Record) -> list[str]:
    """Questions of version 1 of Argilla: lists of responses with their users."""
    return [name for name, value in record.items() if f"{name}-suggestion" in record or _has_users(value)]


def _has_users(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, Mapping) and "value" in first and bool({"user_id", "user"} & set(first))


def is_potato(record: Record) -> bool:
    """An annotated instance of Potato, in JSON lines or a table."""
    if isinstance(record.get("label_annotations"), Mapping) or any(MARK in name for name in record):
        return True
    return "id" in record and isinstance(record.get("annotation"), Mapping)


def is_doccano(record: Record) -> bool:
    """An example of Doccano with the labels of one person, or with annotations of several."""
    if not isinstance(record.get("text", record.get("data")), str):
        return False
    annotations = record.get("annotations")
    first = annotations[0] if isinstance(annotations, list) and annotations else None
    has_users = isinstance(first, Mapping) and {"label", "user"} <= set(first)
    return has_users or isinstance(record.get("label"), list)


def is_mt_bench(record: Record) -> bool:
    """A vote of a person on a pair, or a judgment of MT-Bench's judges on a pair or one answer."""
    if "judge" not in record:
        return False
    if {"model_a", "model_b", "winner"} <= set(record):
        return True
    return {"question_id", "judge"} <= set(record) and bool({"g1_winner", "score"} & set(record))


def is_arena(record: Record) -> bool:
    """A battle of two models with the vote of one person."""
    has_winner = "winner" in record or {"winner_model_a", "winner_model_b"} <= set(record)
    return {"model_a", "model_b"} <= set(record) and has_winner


def is_alpaca_eval(record: Record) -> bool:
    """A preference between two outputs."""
    return {"instruction", "output_1", "output_2", "preference"} <= set(record)


def is_reward_bench(record: Record) -> bool:
    """Whether a judge or a reward model chose the preferred of two answers."""
    return "results" in record and ("subset" in record or {"scores_chosen", "scores_rejected"} <= set(record))


def is_deepeval(record: Record) -> bool:
    """A test case with the results of its metrics."""
    return isinstance(record.get("metricsData", record.get("metrics_data")), list)


def is_promptfoo(record: Record) -> bool:
    """A result of promptfoo."""
    return "gradingResult" in record or {"testIdx", "promptIdx"} <= record.keys()


def is_lm_eval(record: Record) -> bool:
    """A sample of the LM evaluation harness."""
    return {"doc_id", "target"} <= record.keys() and bool({"filtered_resps", "resps"} & record.keys())


def is_mturk(record: Record) -> bool:
    """An assignment of MTurk."""
    return {"HITId", "WorkerId"} <= set(record)


def is_qualtrics(record: Record) -> bool:
    """A response of Qualtrics."""
    recorded = {"DistributionChannel", "RecordedDate", "Finished"} & set(record)
    return bool(recorded) and response_column(record) is not None


def response_column(names: Iterable[str]) -> str | None:
    """The column of ids of responses in exports of Qualtrics, by the names that it had over the years."""
    by_key = {str(name).casefold().replace("_", ""): str(name) for name in names}
    return next((by_key[key] for key in RESPONSE_NAMES if key in by_key), None)


def is_prolific(record: Record) -> bool:
    """A submission of Prolific's demographic export, and no rating beside one."""
    from ...tables.columns import plain  # here, since these modules import pandas
    from ...tables.items import ITEM

    has_items = any(plain(name) in ITEM for name in record)
    return {"Participant id", "Submission id"} <= set(record) and not has_items


def is_llmbar(record: Record) -> bool:
    """A pair of outputs with people's label and the verdicts of a judge in both orders."""
    results = record.get("results")
    last = results[-1] if isinstance(results, list) and results else None
    return isinstance(last, Mapping) and {"label", "output_1", "output_2"} <= set(record) and SWAPS[0] in last


def is_jspsych(record: Record) -> bool:
    """A trial of jsPsych."""
    return {"trial_type", "trial_index"} <= set(record)


def is_surveycto(record: Record) -> bool:
    """A submission of SurveyCTO."""
    return "SubmissionDate" in record and bool({"KEY", "instanceID"} & set(record))
