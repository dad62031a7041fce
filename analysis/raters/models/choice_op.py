"""The log likelihood of paired choices as an operation of PyTensor, with its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
from pytensor.tensor import as_tensor_variable, dscalar

from .choice_kernel import log_likelihood

N_PARAMETERS = 3


class ChoiceLogLikelihood(Op):  # type: ignore[misc]
    """Arguments of ``choice_kernel.log_likelihood`` to its results; only the first can be differentiated."""

    __props__ = ()

    def make_node(self, *arguments: Any) -> Any:
        """The node of these arguments."""
        inputs = [as_tensor_variable(argument) for argument in arguments]
        return Apply(self, inputs, [dscalar(), *(given.type() for given in inputs[:N_PARAMETERS])])

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any) -> None:
        """Fill the outputs outside of compiled graphs."""
        position, *others = inputs
        for storage, found in zip(output_storage, log_likelihood(float(position), *others), strict=True):
            storage[0] = np.asarray(found)

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Gradients by the parameters: the other outputs, scaled."""
        known = [cotangents[0] * gradient for gradient in outputs[1:]]
        return known + [disconnected_type() for _ in inputs[N_PARAMETERS:]]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Which outputs depend on which inputs, for differentiation."""
        first = [[True] + [False] * N_PARAMETERS] * N_PARAMETERS
        return first + [[False] * (N_PARAMETERS + 1)] * (len(node.inputs) - N_PARAMETERS)


@register_funcify_default_op_cache_key(ChoiceLogLikelihood)  # type: ignore[untyped-decorator]
def _compiled(op: ChoiceLogLikelihood, **_: Any) -> Any:
    @numba_njit  # type: ignore[untyped-decorator]
    def choices(position: Any, mean: Any, own: Any, difference: Any, first: Any, rater: Any) -> Any:
        value, by_position, by_mean, by_own = log_likelihood(
            position.item(), mean, own, difference, first, rater
        )
        return np.asarray(value), np.asarray(by_position), by_mean, by_own

    return choices
