"""BLAS threads: the matrices here are small, and threads on busy cores cost more than they save."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache

import numpy.linalg  # noqa: F401  (loads the library that is to be limited)
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Context in which BLAS uses a single thread in each of ours."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited
