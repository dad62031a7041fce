"""Kernels as operations of PyTensor: value, gradient, and the newest source."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.bayes

KERNEL = """
import numpy as np
from numba import njit

@njit
def kernel(x, weight, power):
    value, by_x = 0.0, np.zeros(x.shape)
    for k in range(len(x)):
        value += {factor} * weight[k] * x[k] ** power
        by_x[k] = {factor} * weight[k] * power * x[k] ** (power - 1)
    return value, by_x
"""


def _module(folder: Path, factor: float) -> ModuleType:
    (folder / "kernel_of_a_test.py").write_text(KERNEL.format(factor=factor))
    importlib.invalidate_caches()
    return importlib.reload(importlib.import_module("kernel_of_a_test"))


def _called(operation: Any, x: np.ndarray, weight: np.ndarray, mode: str) -> tuple[float, np.ndarray]:
    import pytensor
    import pytensor.tensor as pt

    given = pt.dvector()
    value, *_ = operation(given, weight)
    made = pytensor.function([given], [value, pytensor.grad(3.0 * value, given)], mode=mode)
    found, gradient = made(x)
    return float(found), gradient


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_value_and_gradient_are_the_kernels_with_its_constants(folder: Path, mode: str) -> None:
    from conjury.analysis.raters.models.likelihood import LogLikelihood

    x, weight = np.array([1.0, 2.0]), np.array([1.0, -0.5])
    module = _module(folder, 1.0)
    for power, value, gradient in ((2.0, -1.0, [6.0, -6.0]), (3.0, -3.0, [9.0, -18.0])):
        found, slope = _called(LogLikelihood(module.kernel, 1, (power,)), x, weight, mode)
        assert found == pytest.approx(value)
        assert slope == pytest.approx(gradient)


def test_a_changed_kernel_is_another_operation_and_is_compiled_again(folder: Path) -> None:
    from conjury.analysis.raters.models.likelihood import LogLikelihood

    x, weight = np.array([1.0, 2.0]), np.array([1.0, -0.5])
    first = LogLikelihood(_module(folder, 1.0).kernel, 1, (2.0,))
    assert _called(first, x, weight, "NUMBA")[0] == pytest.approx(-1.0)
    second = LogLikelihood(_module(folder, 10.0).kernel, 1, (2.0,))
    assert second != first
    assert _called(second, x, weight, "NUMBA")[0] == pytest.approx(-10.0)


def test_operations_of_one_kernel_are_equal_and_survive_pickling() -> None:
    from conjury.analysis.raters.models.labels.kernel import log_likelihood
    from conjury.analysis.raters.models.likelihood import LogLikelihood

    one = LogLikelihood(log_likelihood, 2)
    assert one == LogLikelihood(log_likelihood, 2)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != LogLikelihood(log_likelihood, 2, (1.0,))
