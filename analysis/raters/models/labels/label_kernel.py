"""Log likelihood of labels with true classes summed out, and its gradient; compiled by numba."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ....numerics.types import Codes, Floats


@njit(cache=True)  # type: ignore[untyped-decorator]
def log_likelihood(
    log_prevalence: Floats, logits: Floats, row: Codes, answer: Codes, count: Codes
) -> tuple[float, Floats, Floats]:
    """As `data.log_likelihood`, with its gradient by the first two arguments."""
    size, judges = len(log_prevalence), len(row)
    log_confusion = np.empty((judges * size, size))
    for j in range(judges):
        for k in range(size):
            top = 0.0
            for place in range(size - 1):
                top = max(top, logits[row[j], k * (size - 1) + place])
            total = math.exp(-top)
            for place in range(size - 1):
                total += math.exp(logits[row[j], k * (size - 1) + place] - top)
            log_total = top + math.log(total)
            place = 0
            for label in range(size):
                logit = 0.0
                if label != k:
                    logit = logits[row[j], k * (size - 1) + place]
                    place += 1
                log_confusion[j * size + label, k] = logit - log_total
    value = 0.0
    by_log_prevalence = np.zeros(size)
    expected_counts = np.zeros((judges * size, size))
    joint = np.empty(size)
    for p in range(len(count)):
        for k in range(size):
            joint[k] = log_prevalence[k]
        for r in range(answer.shape[1]):
            code = answer[p, r]
            if code < judges * size:
                for k in range(size):
                    joint[k] += log_confusion[code, k]
        top = joint.max()
        total = 0.0
        for k in range(size):
            joint[k] = math.exp(joint[k] - top)
            total += joint[k]
        value += count[p] * (top + math.log(total))
        for k in range(size):
            joint[k] *= count[p] / total
            by_log_prevalence[k] += joint[k]
        for r in range(answer.shape[1]):
            code = answer[p, r]
            if code < judges * size:
                for k in range(size):
                    expected_counts[code, k] += joint[k]
    by_logits = np.zeros(logits.shape)
    for j in range(judges):
        for k in range(size):
            times = 0.0
            for label in range(size):
                times += expected_counts[j * size + label, k]
            place = k * (size - 1)
            for label in range(size):
                if label != k:
                    code = j * size + label
                    by_logits[row[j], place] += expected_counts[code, k] - times * math.exp(
                        log_confusion[code, k]
                    )
                    place += 1
    return value, by_log_prevalence, by_logits
