"""The batch interface of a judge's provider."""

from __future__ import annotations

from pathlib import Path

from ...study.asking import Sampling
from ..openai.client import OPENAI, Account, find_endpoint
from .backend import BatchBackend
from .service import BatchService


def batch_backend(judge_id: str, ask: Sampling, folder: Path) -> BatchBackend:
    """Make the backend that asks a judge in batches."""
    return BatchBackend(judge_id, ask.model, folder, _service(ask))


def _service(ask: Sampling) -> BatchService:
    """Choose the interface by the judge's backend."""
    if ask.backend == "anthropic":
        from ..anthropic.batch_service import ANTHROPIC, AnthropicBatches

        return AnthropicBatches(find_endpoint(ask.base_url, _key_of(ask, ANTHROPIC), ANTHROPIC), ask.model)
    if ask.backend == "google":
        from ..google.batch_service import GOOGLE, GoogleBatches

        return GoogleBatches(find_endpoint(ask.base_url, _key_of(ask, GOOGLE), GOOGLE), ask.model)
    from ..openai.batch_service import OpenAIBatches

    return OpenAIBatches(find_endpoint(ask.base_url, ask.key_variable), ask.model)


def _key_of(ask: Sampling, account: Account) -> str:
    """Return the variable of the key; that of OpenAI is the default of a study file and stands for none."""
    return account.key_variable if ask.key_variable == OPENAI.key_variable else ask.key_variable
