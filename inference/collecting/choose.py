"""The backend that a judge asks for."""

from __future__ import annotations

from ..backends.base import Backend
from ..errors import InputError
from ..study.models import ItemStudy
from .jobs import Job
from .options import Running
from .runs import RunFolder


def choose_backend(job: Job, folder: RunFolder, running: Running) -> Backend:
    """Make the backend of a job; InputError or MissingDependency where that cannot be."""
    ask = job.ask
    weights = None if running.weights is None else str(running.weights)
    if ask.backend == "openai":
        from ..backends.openai.live import OpenAIBackend

        return OpenAIBackend(
            ask.model,
            base_url=ask.base_url,
            key_variable=ask.key_variable,
            concurrency=running.concurrency,
        )
    if ask.backend == "vllm":
        from ..backends.vllm import VLLMBackend

        return VLLMBackend(ask.model, weights, ask.engine)
    if ask.backend == "ray":
        from ..backends.ray import RayBackend

        return RayBackend(ask.model, weights, ask.engine)
    if ask.backend == "replay":
        from ..backends.replay import ReplayBackend

        if running.recorded is None:
            raise InputError("--backend replay needs a table of recorded responses; name it with --recorded.")
        return ReplayBackend(running.recorded, job.judge_id)
    from ..backends.simulated import SimulatedBackend

    if isinstance(job.study, ItemStudy):
        from ..backends.simulated import SimulatedItemsBackend

        return SimulatedItemsBackend(job.study, job.judge_id, ask.samples)
    if folder.design is None:
        raise InputError(
            "--backend simulated answers conjoints of pairs that are drawn; use another backend."
        )
    return SimulatedBackend(job.study, job.judge_id, folder.design.drawn, ask.samples)
