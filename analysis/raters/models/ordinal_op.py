"""The ordinal rater model's log likelihood as an operation of PyTensor, with its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key
from pytensor.tensor import as_tensor_variable, dscalar

from .ordinal_kernel import log_likelihood

N_PARAMETERS = 5


class OrdinalLogLikelihood(Op):  # type: ignore[misc]
    """Arrays that ``ordinal_kernel.log_likelihood`` takes to its results.

    The first output is the log likelihood, the others are its gradient by the first five arguments; only the
    first can be differentiated.
    """

    __props__ = ("step", "n_window", "probit")

    def __init__(self, step: float, n_window: int, probit: bool) -> None:
        self.step, self.n_window, self.probit = step, n_window, probit

    def make_node(self, *arguments: Any) -> Any:
        """Apply the operation to arrays."""
        inputs = [as_tensor_variable(argument) for argument in arguments]
        return Apply(self, inputs, [dscalar(), *(given.type() for given in inputs[:N_PARAMETERS])])

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any) -> None:
        """Run the kernel."""
        for storage, found in zip(
            output_storage, log_likelihood(*inputs, self.step, self.n_window, self.probit), strict=True
        ):
            storage[0] = np.asarray(found)

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Gradients, from the other outputs."""
        scale = cotangents[0]
        known = [scale * gradient for gradient in outputs[1:]]
        return known + [disconnected_type() for _ in inputs[N_PARAMETERS:]]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The log likelihood depends on the parameters."""
        first = [[True] + [False] * N_PARAMETERS] * N_PARAMETERS
        return first + [[False] * (N_PARAMETERS + 1)] * (len(node.inputs) - N_PARAMETERS)


@register_funcify_default_op_cache_key(OrdinalLogLikelihood)  # type: ignore[untyped-decorator]
def _compiled(op: OrdinalLogLikelihood, **_: Any) -> Any:
    from pytensor.link.numba.dispatch.basic import numba_njit

    step, n_window, probit = op.step, op.n_window, op.probit

    @numba_njit  # type: ignore[untyped-decorator]
    def ordinal(*arguments: Any) -> Any:
        value, slope, shift, own, cut, centre = log_likelihood(*arguments, step, n_window, probit)
        return np.asarray(value), slope, shift, own, cut, centre

    return ordinal
