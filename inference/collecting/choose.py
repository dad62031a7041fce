"""The backend that a judge asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..backends.base import Backend
from ..errors import InputError
from ..study.models import ItemStudy
from .collect import Order
from .runs import RunFolder


@dataclass(frozen=True)
class Route:
    """What the command line adds to the study file: requests in flight, a record, a folder of weights."""

    concurrency: int = 64
    recorded: Path | None = None
    weights: Path | None = None


def choose_backend(order: Order, folder: RunFolder, route: Route) -> Backend:
    """Make the backend of an order; InputError or MissingDependency where that cannot be."""
    ask = order.ask
    weights = None if route.weights is None else str(route.weights)
    if ask.backend == "openai":
        from ..backends.openai import OpenAIBackend

        return OpenAIBackend(
            ask.model,
            base_url=ask.base_url,
            key_variable=ask.key_variable,
            concurrency=route.concurrency,
        )
    if ask.backend == "vllm":
        from ..backends.vllm import VLLMBackend

        return VLLMBackend(ask.model, weights, ask.engine)
    if ask.backend == "ray":
        from ..backends.ray import RayBackend

        return RayBackend(ask.model, weights, ask.engine)
    if ask.backend == "replay":
        from ..backends.replay import ReplayBackend

        if route.recorded is None:
            raise InputError("--backend replay needs a table of recorded responses; name it with --recorded.")
        return ReplayBackend(route.recorded, order.judge_id)
    from ..backends.simulated import SimulatedBackend

    if isinstance(order.study, ItemStudy):
        from ..backends.simulated_items import SimulatedItemsBackend

        return SimulatedItemsBackend(order.study, order.judge_id, ask.samples)
    if folder.design is None:
        raise InputError(
            "--backend simulated answers conjoints of pairs that are drawn; use another backend."
        )
    return SimulatedBackend(order.study, order.judge_id, folder.design.drawn, ask.samples)
