"""The shipped passport of intervals: how often intervals covered in simulated situations like one's own."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from conjury.inference.errors import counted

from ..numerics.rating_panel import effective_clusters
from ..numerics.types import Codes, Floats
from .notes import Note, note_of

LEAST_COVERAGE = 0.93  # coverage that a nominal 95% interval has to reach, within Monte Carlo error
NOMINAL_ALPHA = 0.05  # one minus the level at which coverage was measured
NEAR_FACTOR = 2.0  # factor within which two situations are alike
COVERAGE = "coverage"  # kind of the notes on it
COVERAGE_NOTE_OPENING = "In simulated tables like this one"
SITUATION_FIELDS = ("n", "prevalence", "effective")


@dataclass(frozen=True)
class Situation:
    """What a result rests on."""

    # `n` items or pairs; `prevalence`, the share of the rarest class or level, NaN where there is none; and
    # the effective number of clusters, which is n where rows are independent.

    n: float
    prevalence: float = math.nan
    effective: float = math.nan

    def distance(self, second: Situation) -> float:
        """The largest ratio of two numbers, as a logarithm; what either lacks is not compared."""
        pairs = [(getattr(self, name), getattr(second, name)) for name in SITUATION_FIELDS]
        positive_pairs = [(a, b) for a, b in pairs if a > 0 and b > 0]
        return max((abs(math.log(a / b)) for a, b in positive_pairs), default=math.inf)


@dataclass(frozen=True)
class PassportRow:
    """A row of the passport."""

    method: str
    quantity: str
    label: str  # the situation in words
    situation: Situation
    draws: int
    coverage: float
    lower: float  # Monte Carlo interval of the coverage
    upper: float

    @property
    def fails(self) -> bool:
        """Whether the coverage is below the rule beyond Monte Carlo error."""
        return self.upper < LEAST_COVERAGE


@cache
def read_passport() -> dict[tuple[str, str], tuple[PassportRow, ...]]:
    """Rows of the shipped passport by method and quantity; read once, where a result first asks."""
    from conjury.inference.tables.files import PASSPORT_TABLE  # here, since an import alone reads no tables

    groups: dict[tuple[str, str], list[PassportRow]] = {}
    if not PASSPORT_TABLE.is_file():
        return {}
    with PASSPORT_TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["coverage"]:
                measurement = _measurement(row)
                groups.setdefault((measurement.method, measurement.quantity), []).append(measurement)
    return {key: tuple(rows) for key, rows in groups.items()}


def _measurement(row: dict[str, str]) -> PassportRow:
    def number(name: str) -> float:
        return float(row[name]) if row[name] else math.nan

    return PassportRow(
        row["method"],
        row["quantity"],
        row["situation"],
        Situation(*(number(name) for name in SITUATION_FIELDS)),
        int(float(row["draws"])),
        number("coverage"),
        number("coverage_lower"),
        number("coverage_upper"),
    )


def measured_coverage(method: str, quantity: str, situation: Situation) -> PassportRow | None:
    """The measurement in the situation nearest to one's own."""
    # Returns: None where the quantity was not measured, or in no situation within a factor of two.
    rows = read_passport().get((method, quantity), ())
    nearest = min(rows, key=lambda row: row.situation.distance(situation), default=None)
    if nearest is None or nearest.situation.distance(situation) > math.log(NEAR_FACTOR) + 1e-9:
        return None
    return nearest


@cache
def _failing_situations(method: str) -> tuple[Situation, ...]:
    """Situations in which some interval of a method covers too rarely."""
    all_rows = (row for (of, _), rows in read_passport().items() if of == method for row in rows)
    return tuple(dict.fromkeys(row.situation for row in all_rows if row.fails))


def may_fail(method: str, situation: Situation) -> bool:
    """Whether some interval of a method was measured to cover too rarely in a situation like this one."""
    return any(
        failing_situation.distance(situation) <= math.log(NEAR_FACTOR) + 1e-9
        for failing_situation in _failing_situations(method)
    )


def coverage_notes(method: str, queries: Iterable[tuple[str, str, Situation]], alpha: float) -> list[str]:
    """State which intervals were measured to cover too rarely in situations like this one."""
    # `queries` are quantities as the passport names them, in words, and what each rests on. There is at most
    # one note per situation of the passport, and none at another level than 95%.
    if not math.isclose(alpha, NOMINAL_ALPHA):
        return []
    failing: dict[str, dict[str, PassportRow]] = {}
    for quantity, words, situation in queries:
        measurement = measured_coverage(method, quantity, situation)
        if measurement is not None and measurement.fails:
            failing.setdefault(measurement.label, {}).setdefault(words, measurement)
    return [_note(label, rows) for label, rows in failing.items()]


def is_coverage_note(note: str) -> bool:
    """Whether a note is one of `coverage_notes`."""
    return note_of(note).is_of(COVERAGE)


def situation_of(cluster: Codes, counts: Floats | None = None) -> Situation:
    """What a table of items rests on, from the cluster of each and the numbers of items of each class."""
    # A class that nobody saw counts as half an item.
    n = len(cluster)
    rare = math.nan if counts is None or len(counts) < 2 else max(float(min(counts)) / sum(counts), 0.5 / n)
    return Situation(n, rare, effective_clusters(cluster))


def situation_of_ratings(rating: Floats, cluster: Codes) -> Situation:
    """What a table of ratings rests on, from each item's cluster, and its ratings or their means."""
    # The share is that of the best rating, up to half a step.
    return Situation(len(cluster), float((rating > rating.max() - 0.5).mean()), effective_clusters(cluster))


def name_classes_by_rarity(classes: Sequence[str], counts: Floats) -> dict[str, str]:
    """Names of classes as the passport names them: the rarest is "rare", all others are "common"."""
    rarest = int(min(range(len(classes)), key=lambda place: counts[place]))
    return {name: "rare" if place == rarest else "common" for place, name in enumerate(classes)}


def quantities_of_metrics(
    metrics: Iterable[str], prefix: str, classes: Sequence[str], counts: Floats, cluster: Codes
) -> list[tuple[str, str, Situation]]:
    """Metrics of labels as the passport names them, in their own words, with what they rest on."""
    situation, named = situation_of(cluster, counts), name_classes_by_rarity(classes, counts)
    result = []
    for name in metrics:
        kind, _, of = name.partition("_")
        result.append((prefix + (f"{kind}_{named[of]}" if of in named else name), name, situation))
    return result


def _note(label: str, rows: dict[str, PassportRow]) -> str:
    worst = sorted(rows.items(), key=lambda pair: pair[1].coverage)
    draws = max(row.draws for row in rows.values())
    shares = [Note.of("{metric} ({share})", metric=name, share=f"{row.coverage:.0%}") for name, row in worst]
    subject, remedy = ("intervals", "them") if len(rows) > 1 else ("interval", "it")
    note = Note.of(
        COVERAGE_NOTE_OPENING
        + " ({situation}; {draws}), the nominal 95% {subject} contained the true value less often: "
        "{shares:6}. Treat {remedy} as too short.",
        situation=label,
        draws=counted(draws, "draw"),
        subject=subject,
        shares=shares,
        remedy=remedy,
    )
    return replace(note, kind=COVERAGE)
