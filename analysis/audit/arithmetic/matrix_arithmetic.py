"""Published correlations of several variables: whether a matrix exists, and partial correlations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
from scipy.optimize import linprog

from .findings import Finding, Group, arithmetic, decide
from .numbers import ROUNDINGS, Interval, Rounding
from .settings import refuse

ROUNDS = 400  # of cutting planes: each excludes the matrix tried, by its eigenvectors
WIDER = 1e-9  # error of floating-point functions, by which intervals are widened: never too narrow
EXACT = 10**8  # denominators of the numbers by which a certificate is checked


@dataclass(frozen=True)
class Box:
    """Intervals of the correlations of k variables.

    Parameters
    ----------
    names : tuple of str
        Names of the k variables.
    lower, upper : tuple of tuple of Fraction
        (k, k), symmetric, with ones on the diagonal; ends count as possible.

    Examples
    --------
    >>> from conjury.analysis.audit.arithmetic import Printed
    >>> box = Box.from_pairs({("a", "b"): Printed.read("0.9").interval()})
    >>> box.names, float(box.lower[0][1]), float(box.upper[0][1])
    (('a', 'b'), 0.85, 0.95)
    """

    names: tuple[str, ...]
    lower: tuple[tuple[Fraction, ...], ...]
    upper: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def of(cls, group: Group, rounding: Rounding = "nearest") -> Box:
        """The box of a group with roles ``r:FIRST:SECOND``."""
        pairs: dict[tuple[str, str], Interval] = {}
        for role, number in group.numbers.items():
            parts = role.split(":")
            if len(parts) != 3 or parts[1] == parts[2]:
                raise refuse(group, f"role {role!r} names no two variables; write r:FIRST:SECOND.")
            pairs[(parts[1], parts[2])] = number.interval(rounding)
        return cls.from_pairs(pairs)

    @classmethod
    def from_pairs(cls, pairs: Mapping[tuple[str, str], Interval]) -> Box:
        """The box of correlations by pairs of names; pairs that are absent can be anything."""
        names = tuple(dict.fromkeys(name for pair in pairs for name in pair))
        k = len(names)
        lower = [[Fraction(1 if i == j else -1) for j in range(k)] for i in range(k)]
        upper = [[Fraction(1)] * k for _ in range(k)]
        for (first, second), at in pairs.items():
            i, j = names.index(first), names.index(second)
            low, high = max(at.lower, Fraction(-1)), min(at.upper, Fraction(1))
            for a, b in ((i, j), (j, i)):
                lower[a][b], upper[a][b] = max(low, lower[a][b]), min(high, upper[a][b])
        return cls(names, tuple(map(tuple, lower)), tuple(map(tuple, upper)))

    def widened(self, by: float) -> Box:
        """The box with all intervals longer by a number at both ends."""
        step = Fraction(by)
        k = range(len(self.names))
        lower = tuple(
            tuple(x if i == j else max(x - step, Fraction(-1)) for j, x in zip(k, row, strict=True))
            for i, row in zip(k, self.lower, strict=True)
        )
        upper = tuple(
            tuple(x if i == j else min(x + step, Fraction(1)) for j, x in zip(k, row, strict=True))
            for i, row in zip(k, self.upper, strict=True)
        )
        return Box(self.names, lower, upper)


def matrix_exists(box: Box) -> bool | None:
    """Whether the box contains a correlation matrix, that is, one without a negative eigenvalue.

    The least eigenvalue is maximised over the box by cutting planes: each eigenvector x of a candidate R adds
    the constraint x'Rx >= t, and a linear programme finds the next R. True rests on a rational matrix in the
    box that is positive semidefinite in exact arithmetic, False on rational weights y and vectors x for which
    the sum of y x'Rx is negative for every R in the box. None where neither was found, at the very border.

    Parameters
    ----------
    box : Box
        Intervals of the correlations of k variables.

    Returns
    -------
    bool or None
        True or False where it was proven; None where neither was found.

    References
    ----------
    Kelley, J. E. (1960). The cutting-plane method for solving convex programs. Journal of the Society for
    Industrial and Applied Mathematics, 8(4), 703-712. doi:10.1137/0108053

    Examples
    --------
    >>> from conjury.analysis.audit.arithmetic.numbers import Printed
    >>> published = {("a", "b"): "0.9", ("a", "c"): "0.9", ("b", "c"): "0.1"}
    >>> matrix_exists(Box.from_pairs({pair: Printed.read(r).interval() for pair, r in published.items()}))
    False
    """
    low, high = (np.array([[float(x) for x in row] for row in side]) for side in (box.lower, box.upper))
    if (low > high).any():
        return False
    middle = (low + high) / 2
    if _is_possible(middle, box):
        return True
    rows, columns = np.triu_indices(len(box.names), 1)
    cuts: list[np.ndarray] = []
    matrix = middle
    for _ in range(ROUNDS):
        values, vectors = np.linalg.eigh(matrix)
        cuts += [vectors[:, i] for i in range(len(values)) if values[i] < 1e-9] or [vectors[:, 0]]
        matrix, best, weights = _best(cuts, rows, columns, low, high)
        if best < -1e-12 and _refutes(cuts, weights, box):
            return False
        if _is_possible(matrix, box):
            return True
        if np.linalg.eigvalsh(matrix)[0] > best - 1e-13:
            break
    return None


def _best(
    cuts: Sequence[np.ndarray], rows: np.ndarray, columns: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Maximise t subject to x'Rx >= t for all cuts x; return R, t and the weights of the cuts."""
    x = np.array(cuts)
    products = 2 * x[:, rows] * x[:, columns]
    a = np.column_stack([-products, np.ones(len(x))])
    bounds = [*zip(low[rows, columns], high[rows, columns], strict=True), (-len(low), 1.0)]
    solution = linprog(
        np.append(np.zeros(len(rows)), -1.0), A_ub=a, b_ub=(x**2).sum(axis=1), bounds=bounds, method="highs"
    )
    if solution.x is None:
        raise ArithmeticError(solution.message)
    matrix = np.eye(len(low))
    matrix[rows, columns] = matrix[columns, rows] = solution.x[:-1]
    return matrix, float(solution.x[-1]), -np.asarray(solution.ineqlin.marginals)


def _refutes(cuts: Sequence[np.ndarray], weights: np.ndarray, box: Box) -> bool:
    """Whether the weighted sum of x x' proves in exact arithmetic that no matrix of the box is possible."""
    k = len(box.names)
    total = [[Fraction(0)] * k for _ in range(k)]
    for x, y in zip(cuts, weights, strict=True):
        if y <= 1e-12:
            continue
        weight, vector = (
            Fraction(float(y)).limit_denominator(EXACT),
            [Fraction(float(v)).limit_denominator(EXACT) for v in x],
        )
        for i in range(k):
            for j in range(k):
                total[i][j] += weight * vector[i] * vector[j]
    largest = sum(total[i][i] for i in range(k))
    for i in range(k):
        for j in range(i + 1, k):
            largest += 2 * max(total[i][j] * box.lower[i][j], total[i][j] * box.upper[i][j])
    return largest < 0


def _is_possible(matrix: np.ndarray, box: Box) -> bool:
    """Whether a matrix, moved into the box as rational numbers, is exactly positive semidefinite."""
    if np.linalg.eigvalsh(matrix)[0] < -1e-9:
        return False
    k = len(box.names)
    exact = [[Fraction(1)] * k for _ in range(k)]
    for i in range(k):
        for j in range(i):
            value = Fraction(float(matrix[i, j])).limit_denominator(EXACT)
            exact[i][j] = exact[j][i] = min(max(value, box.lower[i][j]), box.upper[i][j])
    return is_semidefinite(exact)


def is_semidefinite(matrix: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a symmetric rational matrix is positive semidefinite, by elimination in exact arithmetic."""
    block = [list(row) for row in matrix]
    while block:
        pivot = next((i for i in range(len(block)) if block[i][i] != 0), None)
        if any(block[i][i] < 0 for i in range(len(block))):
            return False
        if pivot is None:
            return all(value == 0 for row in block for value in row)
        if any(block[i][i] == 0 and any(block[i]) for i in range(len(block))):
            return False
        row = block[pivot]
        block = [
            [block[i][j] - block[i][pivot] * row[j] / row[pivot] for j in range(len(block)) if j != pivot]
            for i in range(len(block))
            if i != pivot
        ]
    return True


def nearest_matrix(box: Box, group: Group) -> str:
    """The published correlation that is changed most by the nearest possible matrix, in words."""
    # All intervals are widened alike until a matrix exists.
    low, high = 0.0, 2.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if matrix_exists(box.widened(middle)) else (middle, high)
    digits = max(number.digits for number in group.numbers.values())
    return f"possible if every correlation could be {high:.{max(digits + 1, 3)}f} beyond its rounding"


@arithmetic("correlation_matrix", "Correlations of several variables with each other", settings=("pairwise",))
def check_matrix(group: Group) -> Iterator[Finding]:
    """Whether correlations (``r:FIRST:SECOND``) can be those of one set of observations."""
    # Unpublished correlations can be anything; pairwise ones (`pairwise: true`) need not fit together.
    box = Box.of(group)
    roles = tuple(group.numbers)
    variables = (
        f"{len(box.names)} variables, {len(roles)} of {len(box.names) * (len(box.names) - 1) // 2} "
        "correlations"
    )
    if group.settings.get("pairwise"):
        yield Finding(
            "correlation_matrix", roles, "untested", f"{variables}: each may rest on other observations."
        )
        return
    beyond = [role for role, number in group.numbers.items() if abs(number.exact) > 1]
    if beyond:
        yield Finding(
            "correlation_matrix",
            roles,
            "inconsistent",
            f"{beyond[0]} is {group.numbers[beyond[0]].text}, beyond 1.",
            nearest="1",
        )
        return
    exists = matrix_exists(box)
    if exists is None:
        yield Finding(
            "correlation_matrix",
            roles,
            "untested",
            f"{variables}: the rounded values lie at the border of what is possible.",
        )
        return
    tried: dict[str, Callable[[], bool]] = {"as stated": lambda: exists}
    for rounding in ROUNDINGS[1:]:
        tried[rounding] = lambda rule=rounding: matrix_exists(Box.of(group, rule)) is True  # type: ignore[misc]
    reason = (
        f"{variables}: a matrix of correlations within rounding {'exists' if exists else 'does not exist'}."
    )
    yield decide("correlation_matrix", roles, tried, reason, nearest=lambda: nearest_matrix(box, group))


@arithmetic(
    "partial_correlation", "Partial correlations of three variables", needs=("r12", "r13", "r23", "partial")
)
def check_partial(group: Group) -> Iterator[Finding]:
    """Whether the correlation of 1 and 2 given 3 follows from the three correlations within rounding."""
    names = ("r12", "r13", "r23", "partial")
    at = group.numbers["partial"].interval()

    def possible(rounding: Rounding, order: tuple[str, str, str]) -> bool:
        ends = partial_range(*(group.numbers[name].interval(rounding) for name in order))
        return ends is not None and ends[0] - WIDER <= float(at.upper) and float(at.lower) <= ends[1] + WIDER

    tried: dict[str, Callable[[], bool]] = {"as stated": lambda: possible("nearest", ("r12", "r13", "r23"))}
    for rounding in ROUNDINGS[1:]:
        tried[rounding] = lambda rule=rounding: possible(rule, ("r12", "r13", "r23"))  # type: ignore[misc]
    tried["given variable 2"] = lambda: possible("nearest", ("r13", "r12", "r23"))
    tried["given variable 1"] = lambda: possible("nearest", ("r23", "r12", "r13"))
    ends = partial_range(*(group.numbers[name].interval() for name in names[:3]))
    within = "no value" if ends is None else f"{ends[0]:.4f} to {ends[1]:.4f}"
    reason = f"The partial correlation is {within}; published: {group.numbers['partial'].text}."
    step = float(group.numbers["partial"].step)
    chance = None if ends is None else min((ends[1] - ends[0]) / 2 + step / 2, 1.0)
    yield decide("partial_correlation", names, tried, reason, nearest=lambda: within, chance=chance)


def partial_range(r12: Interval, r13: Interval, r23: Interval) -> tuple[float, float] | None:
    """Range of the partial correlation of 1 and 2 given 3 over boxes of the three correlations."""
    # Its derivative with respect to r13 vanishes at r13 = r23 / r12 only, and likewise for r23, so that
    # extremes lie at ends of the intervals or there, and in the middle at r13 = r23 = 0.
    a_ends, b_ends, c_ends = (
        [max(min(float(end), 1.0), -1.0) for end in (x.lower, x.upper)] for x in (r12, r13, r23)
    )
    candidates = []
    for a in a_ends:
        for b, c in product(b_ends, c_ends):
            candidates.append((a, b, c))
            if a:
                candidates += [(a, c / a, c), (a, b, b / a)]
        candidates.append((a, 0.0, 0.0))
    values = [
        (a - b * c) / sqrt((1 - b * b) * (1 - c * c))
        for a, b, c in candidates
        if b_ends[0] <= b <= b_ends[1] and c_ends[0] <= c <= c_ends[1] and abs(b) < 1 and abs(c) < 1
    ]
    values = [min(max(value, -1.0), 1.0) for value in values]
    return (min(values), max(values)) if values else None
