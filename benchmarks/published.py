"""Published means and standard deviations of ratings next to CLOSURE and GRIMMER (scrutipy).

Prints a table and writes it to results/PUBLISHED.md; `--quick` for a short look at small samples. All
contenders get the same published numbers in one run, and their verdicts are compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product

from measure import best_of, listed, machine, page, publish, seconds, table, versions

from conjury.analysis.audit.arithmetic import mean_sd_is_possible

Pair = tuple[str, str]
HALF = 0.005 + 1e-9  # rounding to two decimals, with a margin for binary fractions
ROUNDS = 5


@dataclass(frozen=True)
class Line:
    """One row of the page: what is decided, by whom, milliseconds for each pair, and what was checked."""

    task: str
    contender: str
    milliseconds: float
    ratio: float
    check: str


def main() -> None:
    """Measure, print, and keep the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small samples, no PUBLISHED.md")
    quick = parser.parse_args().quick
    described = machine()
    lines = [*closure((10, 25) if quick else (10, 25, 50, 100)), *grimmer(10 if quick else 20), *alone()]
    rows = [
        [one.task, one.contender, f"{one.milliseconds:.3f}", f"{one.ratio:,.1f}", one.check] for one in lines
    ]
    facts = {"Machine": described, "Versions": listed(versions(("conjury", "scrutipy")))}
    parts = table(["what", "by", "milliseconds per pair", "times ours", "check"], rows)
    publish(
        "PUBLISHED",
        page("Benchmarks of published means", facts, parts, by="benchmarks/published.py"),
        written=not quick,
    )


def grid(scale: tuple[int, int], spreads: Sequence[int]) -> list[Pair]:
    """Published pairs around the middle of a scale."""
    low, high = scale
    means = [round(100 * (low + high) / 2) + gap for gap in (-14, -4, 0, 6)]
    return [(f"{m / 100:.2f}", f"{s / 100:.2f}") for m, s in product(means, spreads)]


def verdicts(pairs: Sequence[Pair], n: int, scale: tuple[int, int]) -> list[bool]:
    """Our verdicts."""
    return [mean_sd_is_possible(mean, sd, n, scale) for mean, sd in pairs]


def compared(
    task: str,
    pairs: Sequence[Pair],
    ours: Callable[[], list[bool]],
    name: str,
    theirs: Callable[[], list[bool]],
) -> list[Line]:
    """Time two contenders in turns, after counting where their verdicts differ."""
    one, other = ours(), theirs()
    accepted = sum(b and not a for a, b in zip(one, other, strict=True))
    refused = sum(a and not b for a, b in zip(one, other, strict=True))
    check = f"accepts {accepted:,} of {one.count(False):,} impossible pairs, refuses {refused} possible ones"
    if one == other:
        check = "same verdicts"
    rounds = 1 if seconds(theirs) > 5 else ROUNDS
    taken = best_of({"conjury": ours, name: theirs}, rounds)
    return [
        Line(task if who == "conjury" else "", who, 1000 * time / len(pairs), time / taken["conjury"], said)
        for (who, time), said in zip(taken.items(), ("", check), strict=True)
    ]


def closure(sizes: Sequence[int]) -> list[Line]:
    """CLOSURE lists all samples; we decide whether there is one."""
    if find_spec("scrutipy") is None:
        return []
    import scrutipy

    def listing(pairs: Sequence[Pair], n: int, scale: tuple[int, int]) -> list[bool]:
        return [bool(scrutipy.closure(float(m), float(s), n, *scale, HALF, HALF)) for m, s in pairs]

    lines = []
    for n in sizes:
        pairs = grid((1, 5), (90, 119) if n > 50 else (90, 101, 119, 140))
        lines += compared(
            f"{n} ratings from 1 to 5, mean and standard deviation",
            pairs,
            lambda pairs=pairs, n=n: verdicts(pairs, n, (1, 5)),  # type: ignore[misc]
            "scrutipy's CLOSURE",
            lambda pairs=pairs, n=n: listing(pairs, n, (1, 5)),  # type: ignore[misc]
        )
    return lines


def grimmer(n: int) -> list[Line]:
    """GRIMMER tests necessary conditions and does not use the scale."""
    if find_spec("scrutipy") is None:
        return []
    import scrutipy

    pairs = [(f"{m / n:.2f}", f"{s / 100:.2f}") for m in range(n + 1, 5 * n, 3) for s in range(0, 200, 3)]

    def theirs() -> list[bool]:
        return [bool(scrutipy.grimmer([mean], [sd], [n])[0]) for mean, sd in pairs]

    task = f"{n} ratings from 1 to 5, {len(pairs):,} pairs of possible means"
    return compared(task, pairs, lambda: verdicts(pairs, n, (1, 5)), "scrutipy's GRIMMER", theirs)


def alone() -> list[Line]:
    """Sizes and scales that listing does not reach."""
    lines = []
    for n, points in ((1000, 5), (5000, 11), (5000, 101)):
        pairs = grid((0, points - 1), range(100, 140))
        taken = best_of({"conjury": lambda n=n, p=points, x=pairs: verdicts(x, n, (0, p - 1))}, ROUNDS)  # type: ignore[misc]
        lines.append(
            Line(
                f"{n:,} ratings on {points} points", "conjury", 1000 * taken["conjury"] / len(pairs), 1.0, ""
            )
        )
    return lines


if __name__ == "__main__":
    main()
