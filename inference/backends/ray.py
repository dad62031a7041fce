"""Asks a model through Ray Data, which runs vLLM on all GPUs of a machine or of a cluster.

The only module that knows Ray. Pictures travel inside the rows; conjury must be installed on the nodes.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ..errors import InputError, MissingDependency
from ..ledger.exchanges import Attempt, Outcome, Request
from ..requests.media import resolve
from .base import Recorder, completion
from .vllm import NEVER, sampling_fields, token_of_each

BLOCK = 20_000  # requests in one data set; answers become durable as they stream out of it
OF_PROCESSOR = ("concurrency", "batch_size", "accelerator_type", "placement_group_config", "runtime_env")
STAGES = 4  # each stage of the processor waits for a CPU of its own
FAILED = "__inference_error__"


class RayBackend:
    """A model in vLLM engines that Ray Data feeds."""

    def __init__(
        self, model: str, weights: str | None = None, engine: Mapping[str, Any] | None = None
    ) -> None:
        self._model, self._weights = model, weights or model
        given = dict(engine or {})
        self._processor = {name: given.pop(name) for name in OF_PROCESSOR if name in given}
        self._engine = {"seed": 0, "enable_prefix_caching": True, "max_logprobs": 20, **given}
        self._option_ids: dict[tuple[str, ...], list[int] | None] = {}

    def settings(self) -> dict[str, Any]:
        """Return Ray's version, the processor's and the engine's arguments."""
        ray = _ray()
        return {
            "backend": "ray",
            "model": self._model,
            "ray": ray.__version__,
            "processor": self._processor,
            "arguments": {name: value for name, value in self._engine.items() if name != "hf_token"},
        }

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Answer requests block by block; within a block answers are recorded as they come."""
        ray = _ray()
        processor = None
        while block := list(islice(requests, BLOCK)):
            if processor is None:
                processor = self._make_processor(_has_images(block))
            waiting = {request.key: request for request in block}
            rows = [self._row(request, recorder) for request in block]
            began = time.monotonic()
            for answered in processor(ray.data.from_items(rows)).iter_rows():
                request = waiting.pop(answered["key"], None)
                if request is not None:
                    recorder.record(self._outcome(request, answered, time.monotonic() - began))
            for request in waiting.values():
                recorder.record(_failed(request, "server", "Ray Data returned no row for this request"))

    def _make_processor(self, images: bool) -> Any:
        from ray.data.llm import build_processor, vLLMEngineProcessorConfig

        config = vLLMEngineProcessorConfig(
            model_source=self._weights,
            engine_kwargs=self._engine,
            should_continue_on_error=True,
            log_engine_metrics=False,
            prepare_multimodal_stage=images,
            **self._processor,
        )
        return build_processor(config, preprocess=_to_engine, postprocess=_from_engine)

    def _row(self, request: Request, recorder: Recorder) -> dict[str, str]:
        body = resolve(request.body, recorder.media)
        asked = {"messages": body["messages"], "sampling_params": sampling_fields(body, self._single_tokens)}
        return {"key": request.key, "asked": json.dumps(asked)}

    def _single_tokens(self, options: tuple[str, ...]) -> list[int] | None:
        if options not in self._option_ids:
            from transformers import AutoTokenizer

            self._option_ids[options] = token_of_each(AutoTokenizer.from_pretrained(self._weights), options)
        return self._option_ids[options]

    def _outcome(self, request: Request, answered: Mapping[str, Any], seconds: float) -> Outcome:
        error = answered.get(FAILED) or ""
        if error:
            return _failed(request, "rejected", str(error).strip().splitlines()[0][:300])
        made = json.loads(answered["answer"])
        limit = json.loads(answered["asked"])["sampling_params"].get("max_tokens", 16)
        chosen = bool(request.body.get("structured_outputs"))
        full = made["completion_tokens"] >= limit and not chosen
        body = completion(
            request,
            made["text"],
            model=self._model,
            finish_reason="length" if full else "stop",
            tokens=[(token, logprob, rivals) for token, logprob, rivals in made["tokens"]],
            usage=(made["prompt_tokens"], made["completion_tokens"]),
        )
        return Outcome(request.key, body, seconds=seconds)


def _to_engine(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, **json.loads(row["asked"])}


def _from_engine(row: dict[str, Any]) -> dict[str, Any]:
    """Write what the engine made of a row as text, which travels between nodes unchanged."""
    tokens = []
    generated = [int(token) for token in row["generated_tokens"]]
    positions = row.get("logprobs")
    for token, position in zip(generated, positions if positions is not None else (), strict=False):
        entries = {int(name): entry for name, entry in position.items() if entry is not None}
        rivals = {str(entry["decoded_token"]): _finite(entry["logprob"]) for entry in entries.values()}
        own = entries[token]
        tokens.append([str(own["decoded_token"]), _finite(own["logprob"]), rivals])
    answer = {
        "text": row["generated_text"],
        "tokens": tokens,
        "prompt_tokens": int(row["num_input_tokens"]),
        "completion_tokens": len(generated),
    }
    return {"key": row["key"], "asked": row["asked"], "answer": json.dumps(answer)}


def _finite(logprob: float) -> float:
    return float(logprob) if math.isfinite(logprob) else NEVER


def _failed(request: Request, kind: str, why: str) -> Outcome:
    return Outcome(request.key, kind=kind, error=why, attempts=(Attempt(0, why, 0.0),))


def _has_images(requests: list[Request]) -> bool:
    return any(
        isinstance(message["content"], list) for request in requests for message in request.body["messages"]
    )


def _ray() -> Any:
    try:
        import ray
        import ray.data.llm
    except ImportError as error:
        raise MissingDependency(
            f"Ray Data with vLLM is not installed in this environment ({error}); install both with "
            "`pip install 'conjury[cluster,vllm]'`."
        ) from None
    if not ray.is_initialized():
        try:
            here = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": max(STAGES, os.cpu_count() or 1)}
            ray.init(log_to_driver=False, **here)
        except (RuntimeError, ConnectionError, ValueError) as error:
            raise InputError(f"Ray cannot start ({error}); check RAY_ADDRESS and the cluster.") from None
    return ray
