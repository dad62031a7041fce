"""The batch interface of a judge's provider."""

from __future__ import annotations

from pathlib import Path

from ...study.asking import Sampling
from ..endpoints import BY_USER, EndpointChoice, account_of, find_endpoint, key_variable_of
from .batch_backend import BatchBackend
from .service import BatchService


def batch_backend(
    judge_id: str, ask: Sampling, folder: Path, named: EndpointChoice = BY_USER
) -> BatchBackend:
    """Make the backend that asks a judge in batches."""
    return BatchBackend(judge_id, ask.model, folder, _service(ask, named))


def _service(ask: Sampling, named: EndpointChoice) -> BatchService:
    """Choose the interface by the judge's backend."""
    endpoint = find_endpoint(ask.base_url, key_variable_of(ask), account_of(ask), named)
    if ask.backend == "anthropic":
        from ..anthropic.anthropic_batches import AnthropicBatches

        return AnthropicBatches(endpoint, ask.model)
    if ask.backend == "google":
        from ..google.google_batches import GoogleBatches

        return GoogleBatches(endpoint, ask.model)
    from ..openai.openai_batches import OpenAIBatches

    return OpenAIBatches(endpoint, ask.model)
