"""Engines that answer blocks of requests in a data set of Ray, by name: vLLM, or a rehearsal without a model.

An engine takes a data set of ``key`` and ``body`` (a chat completion's request as JSON) and returns one of
``key, body, kind, error, seconds``: the chat completion as JSON, or the kind and the text of an error.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ...errors import InputError, MissingDependency
from ...tables.frames import SIMULATED
from ..base import completion
from ..vllm import INVARIANT, NEVER, sampling_fields, token_of_each, versions

# Options of the processor that feeds an engine; all others under 'engine' are the engine's arguments.
OF_PROCESSOR = (
    *("concurrency", "batch_size", "max_concurrent_batches", "max_tasks_in_flight_per_actor"),
    *("max_pending_requests", "accelerator_type", "placement_group_config", "runtime_env"),
)
BATCH = 32  # requests of a block, where 'batch_size' does not say otherwise
FAILED = "__inference_error__"


@dataclass(frozen=True)
class Engine:
    """An engine as the study file states it under ``engine``."""

    # model, weights: Name of the model in answers, and folder or name of its weights.
    model: str
    weights: str
    # what answers: a key of `ENGINES`
    name: str = "vllm"
    # processor, arguments: Options of the processor that feeds it, and its arguments.
    processor: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, model: str, weights: str | None, settings: Mapping[str, Any] | None) -> Engine:
        """Divide what the study file states under ``engine``."""
        arguments = dict(settings or {})
        name = str(arguments.pop("name", "vllm"))
        if name not in ENGINES:
            raise InputError(f"engine, name: there is no engine {name!r}; use {' or '.join(ENGINES)}.")
        processor = {option: arguments.pop(option) for option in OF_PROCESSOR if option in arguments}
        if name == "vllm":
            arguments = {"seed": 0, "enable_prefix_caching": True, "max_logprobs": 20, **arguments}
        return cls(model, weights or model, name, processor, arguments)

    @property
    def batch_size(self) -> int:
        """Requests of a block."""
        return int(self.processor.get("batch_size", BATCH))

    @property
    def replicas(self) -> int:
        """Replicas of the model, at most."""
        concurrency = self.processor.get("concurrency", 1)
        return int(max(concurrency) if isinstance(concurrency, list | tuple) else concurrency)

    @property
    def environment(self) -> dict[str, Any]:
        """Environment of the workers: what it is here decides whether answers depend on their batch."""
        runtime_env = dict(self.processor.get("runtime_env") or {})
        variables = {INVARIANT: os.environ[INVARIANT]} if INVARIANT in os.environ else {}
        variables |= runtime_env.get("env_vars") or {}
        return {**runtime_env, "env_vars": variables} if variables else runtime_env

    def settings(self) -> dict[str, Any]:
        """Return all that can change answers: versions, arguments, sizes, replicas and batch invariance."""
        if self.name != "vllm":
            return {"processor": dict(self.processor), "arguments": dict(self.arguments)}
        installed = versions()
        if installed["vllm"] is None:
            raise MissingDependency(
                "vLLM is not installed in this environment; install it here and on the nodes with "
                "`pip install 'conjury[cluster,vllm]'`."
            )
        sizes = {name: self.arguments.get(name, usual) for name, usual in SIZES.items()}
        return {
            **installed,
            **sizes,
            "replicas": self.processor.get("concurrency", 1),
            "batch_invariant": (self.environment.get("env_vars") or {}).get(INVARIANT, "0") == "1",
            "processor": dict(self.processor),
            "arguments": {name: value for name, value in self.arguments.items() if name != "hf_token"},
        }

    def check(self, body: Mapping[str, Any]) -> None:
        """Refuse settings of requests that the engine does not take, before any is sent."""
        if self.name == "vllm":
            sampling_fields(dict(body), lambda options: None)


SIZES: dict[str, int | None] = {
    **dict.fromkeys(("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"), 1),
    **dict.fromkeys(("max_num_seqs", "max_num_batched_tokens"), None),  # None: as the engine chooses
}


def answer_by_vllm(rows: Any, engine: Engine, images: bool) -> Any:
    """Answer by vLLM engines, each on as many GPUs as its parallel sizes say."""
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig

    config = vLLMEngineProcessorConfig(
        model_source=engine.weights,
        engine_kwargs=dict(engine.arguments),
        should_continue_on_error=True,
        log_engine_metrics=False,
        prepare_multimodal_stage=images,
        **{**engine.processor, "batch_size": engine.batch_size, "runtime_env": engine.environment or None},
    )
    weights, model = engine.weights, engine.model
    processor = build_processor(
        config,
        preprocess=lambda row: _to_vllm(row, weights),
        postprocess=lambda row: _from_vllm(row, model),
    )
    return processor(rows).map(_result_row)


def _to_vllm(row: dict[str, Any], weights: str) -> dict[str, Any]:
    body = json.loads(row["body"])
    sampling = sampling_fields(body, lambda options: _single_tokens(weights, options))
    chosen = bool(body.get("structured_outputs"))
    limit = 0 if chosen else int(sampling.get("max_tokens", 16))
    return {"body": "", "messages": body["messages"], "sampling_params": sampling, "limit": limit}


@cache
def _tokenizer(weights: str) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(weights)


@cache
def _single_tokens(weights: str, options: tuple[str, ...]) -> list[int] | None:
    return token_of_each(_tokenizer(weights), options)


def _from_vllm(row: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Write what the engine generated as a chat completion; a limit of 0 is none."""
    generated = [int(token) for token in row["generated_tokens"]]
    positions = row.get("logprobs")
    tokens = []
    for token, position in zip(generated, positions if positions is not None else (), strict=False):
        entries = {int(name): entry for name, entry in position.items() if entry is not None}
        rivals = {str(entry["decoded_token"]): _finite(entry["logprob"]) for entry in entries.values()}
        token_entry = entries[token]
        tokens.append((str(token_entry["decoded_token"]), _finite(token_entry["logprob"]), rivals))
    body = completion(
        str(row["key"]),
        row["generated_text"],
        model=model,
        finish_reason="length" if 0 < row["limit"] <= len(generated) else "stop",
        tokens=tokens,
        usage=(int(row["num_input_tokens"]), len(generated)),
    )
    return {"key": row["key"], "body": body.decode(), "seconds": float(row.get("time_taken_llm") or 0.0)}


def _result_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Give answers and errors the same columns."""
    error = str(row.get(FAILED) or "").strip()
    if not error:
        return answer_row(str(row["key"]), row["body"], float(row["seconds"]))
    return {**answer_row(str(row["key"]), None), "kind": "rejected", "error": error.splitlines()[0][:300]}


def answer_row(key: str, body: str | None, seconds: float = 0.0) -> dict[str, Any]:
    """Return the row of an answer."""
    return {"key": key, "body": body, "kind": "", "error": "", "seconds": seconds}


def _finite(logprob: float) -> float:
    return float(logprob) if math.isfinite(logprob) else NEVER


class Rehearsal:
    """Answers as a simulated judge, by a hash of each request, after some seconds for each."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, batch: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
        """Answer a block."""
        rows = [
            self.answer(str(key), str(body)) for key, body in zip(batch["key"], batch["body"], strict=True)
        ]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def answer(self, key: str, body: str) -> dict[str, Any]:
        """Answer a request."""
        time.sleep(self._seconds)
        number = int.from_bytes(hashlib.sha256(body.encode()).digest()[:8], "big")
        text = _any_answer(json.loads(body), number)
        return answer_row(key, completion(key, text, model=SIMULATED, created=0).decode(), self._seconds)


def _any_answer(body: Mapping[str, Any], number: int) -> str:
    """Return an answer in the form that a request asks for, chosen by a number."""
    options = (body.get("structured_outputs") or {}).get("choice")
    if options:
        return str(options[number % len(options)])
    schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    return "A" if schema is None else json.dumps(_instance(schema, number))


def _instance(schema: Mapping[str, Any], number: int) -> Any:
    kind = schema.get("type")
    if kind == "object":
        return {name: _instance(part, number) for name, part in schema["properties"].items()}
    if kind == "array":
        return [_instance(schema["items"], number)]
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    if kind == "integer":
        return schema["minimum"] + number % (schema["maximum"] - schema["minimum"] + 1)
    return "Rehearsed."


def rehearse(rows: Any, engine: Engine, images: bool, answer: type[Rehearsal] = Rehearsal) -> Any:
    """Answer without a model, for trying a cluster and its storage; answers count as simulated."""
    from ray.data import ActorPoolStrategy

    return rows.map_batches(
        answer,
        fn_constructor_args=(float(engine.arguments.get("seconds", 0.0)),),
        batch_size=engine.batch_size,
        compute=ActorPoolStrategy(size=engine.replicas),
    )


ENGINES: dict[str, Callable[[Any, Engine, bool], Any]] = {"vllm": answer_by_vllm, "rehearsal": rehearse}
