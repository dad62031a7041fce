"""The log likelihood of labels as an operation of PyTensor, with its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
from pytensor.tensor import as_tensor_variable, dscalar

from .label_kernel import log_likelihood

N_PARAMETERS = 2


class LabelLogLikelihood(Op):  # type: ignore[misc]
    """Arguments of ``label_kernel.log_likelihood`` to its results; only the first can be differentiated."""

    __props__ = ()

    def make_node(self, *arguments: Any) -> Any:
        """The node of these arguments."""
        inputs = [as_tensor_variable(argument) for argument in arguments]
        return Apply(self, inputs, [dscalar(), *(given.type() for given in inputs[:N_PARAMETERS])])

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any) -> None:
        """Fill the outputs outside of compiled graphs."""
        for storage, found in zip(output_storage, log_likelihood(*inputs), strict=True):
            storage[0] = np.asarray(found)

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Gradients by the parameters: the other outputs, scaled."""
        known = [cotangents[0] * gradient for gradient in outputs[1:]]
        return known + [disconnected_type() for _ in inputs[N_PARAMETERS:]]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Which outputs depend on which inputs, for differentiation."""
        first = [[True] + [False] * N_PARAMETERS] * N_PARAMETERS
        return first + [[False] * (N_PARAMETERS + 1)] * (len(node.inputs) - N_PARAMETERS)


@register_funcify_default_op_cache_key(LabelLogLikelihood)  # type: ignore[untyped-decorator]
def _compiled(op: LabelLogLikelihood, **_: Any) -> Any:
    @numba_njit  # type: ignore[untyped-decorator]
    def labels(log_prevalence: Any, logits: Any, row: Any, answer: Any, count: Any) -> Any:
        value, by_log_prevalence, by_logits = log_likelihood(log_prevalence, logits, row, answer, count)
        return np.asarray(value), by_log_prevalence, by_logits

    return labels
