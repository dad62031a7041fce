"""One question to a model, and what came back: the types that builders, backends and the ledger share."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]

MEDIA = "media:"  # an image of a stored request is written as this prefix and the SHA-256 of its bytes
TRANSIENT = ("rate_limit", "server", "timeout", "connection", "invalid_response", "expired", "cancelled")
FINAL = ("rejected", "too_large")


@dataclass(frozen=True, slots=True)
class Request:
    """One question to one model: all that can change the answer, and what it is about.

    Attributes
    ----------
    key : str
        See :func:`request_key`.
    judge_id, prompt_id : str
    subject_id : str
        The task of a conjoint that shows pairs, else the item or profile that is judged.
    sample : int
        Counted from 1.
    body : dict
        Body of a chat completion as OpenAI's protocol has it; images as ``media:SHA256`` or as URLs.
    arrangement : dict
        What was drawn for this request and changes no fact about its subject, such as the order of options.
    """

    key: str
    judge_id: str
    prompt_id: str
    subject_id: str
    sample: int
    body: Body
    arrangement: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One exchange with a provider that did not yield the answer: its HTTP status (0 for none) and why.

    ``billed`` says whether the provider may have answered and charged for it all the same.
    """

    status: int
    error: str
    seconds: float
    billed: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended: with the provider's answer, or with an error.

    Attributes
    ----------
    key : str
        The key of the request.
    body : bytes or None
        The JSON of one chat completion as it was received; None where none came. What came instead of an
        answer and cannot be read as one is kept in ``refused_body``.
    kind : str
        Empty for an answer; else one of ``TRANSIENT`` (worth asking again) or ``FINAL``.
    error : str
        What went wrong, in one line.
    seconds : float
        From sending to receiving, by a clock that does not go back.
    attempts : tuple of Attempt
        Failed exchanges before this end, and the last one where there is no answer.
    batch : str
        The shard of a batch that brought it; empty otherwise.
    """

    key: str
    body: bytes | None = None
    kind: str = ""
    error: str = ""
    seconds: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    refused_body: bytes | None = None
    batch: str = ""


def request_key(judge_id: str, prompt_id: str, subject_id: str, sample: int, body: Body) -> str:
    """Name a request by the first 32 hexadecimal digits of the SHA-256 of all that can change its answer.

    That is the body (model, messages, images by hash, settings) and the number of the sample; who is asked
    about what under which prompt is part of it, so that no two requests of a run share a key.
    """
    content = json.dumps(
        [judge_id, prompt_id, subject_id, sample, body],
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return hashlib.sha256(content.encode()).hexdigest()[:32]
