"""Compiled log likelihoods as operations of PyTensor; imported only where a PyMC model is built."""

from __future__ import annotations

import inspect
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
from pytensor.tensor import as_tensor_variable, dscalar


class LogLikelihood(Op):  # type: ignore[misc]
    """Arrays that a kernel takes to the kernel's results; only the value can be differentiated."""

    __props__ = ("name", "source", "n_parameters", "constants")

    def __init__(
        self, kernel: Callable[..., Any], n_parameters: int, constants: tuple[float, ...] = ()
    ) -> None:
        self.kernel, self.n_parameters, self.constants = kernel, n_parameters, constants
        self.name = f"{kernel.__module__}.{kernel.__name__}"
        # PyTensor finds compiled graphs by these properties; without the source, also those of older kernels.
        self.source = zlib.crc32(inspect.getsource(sys.modules[kernel.__module__]).encode())

    def make_node(self, *arguments: Any) -> Any:
        """The node of these arguments."""
        inputs = [as_tensor_variable(argument) for argument in arguments]
        return Apply(
            self, inputs, [dscalar(), *(variable.type() for variable in inputs[: self.n_parameters])]
        )

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any) -> None:
        """Fill the outputs outside of compiled graphs."""
        for storage, output in zip(output_storage, self.kernel(*inputs, *self.constants), strict=True):
            storage[0] = np.asarray(output)

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Gradients by the parameters: the other outputs, scaled."""
        gradients = [cotangents[0] * gradient for gradient in outputs[1:]]
        return gradients + [disconnected_type() for _ in inputs[self.n_parameters :]]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Which outputs depend on which inputs, for differentiation."""
        first = [[True] + [False] * self.n_parameters] * self.n_parameters
        return first + [[False] * (self.n_parameters + 1)] * (len(node.inputs) - self.n_parameters)


@register_funcify_default_op_cache_key(LogLikelihood)  # type: ignore[untyped-decorator]
def _compiled(op: LogLikelihood, **_: Any) -> Any:
    kernel, constants = op.kernel, op.constants

    @numba_njit  # type: ignore[untyped-decorator]
    def likelihood(*arguments: Any) -> Any:
        outputs = kernel(*arguments, *constants)
        return (np.asarray(outputs[0]), *outputs[1:])

    return likelihood
