"""Which works a result rests on: those of its kind and those of its settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version

from conjury.inference.tables.files import QUARTO

from ...frames.kinds import kind_of
from ...pipeline.manifest import RecordedResult
from ..markup import read_bibliography

BIBLIOGRAPHY = QUARTO / "references.bib"
OF_SETTINGS = {
    ("correct", "covariate"): ("lin2013",),
    ("calibration", True): ("barlow1972",),
    ("tuning", "coefficient"): ("angelopoulos2023",),
    ("tuning", "scalar"): ("angelopoulos2023",),
    ("vcov", "survey"): ("lumley2004",),
    ("vcov", "CR2"): ("pustejovsky2018",),
    ("adjusted", "holm"): ("holm1979",),
    ("multiplicity", "holm"): ("holm1979",),
    ("multiplicity", "bh"): ("benjamini1995",),
}
CORRECTED = ("prediction_powered", "prediction_powered_items")


@cache
def entries() -> dict[str, str]:
    """BibTeX entries of the bibliography as they are written, by key."""
    text = BIBLIOGRAPHY.read_text(encoding="utf-8")
    return {match[1]: match[0] for match in re.finditer(r"^@\w+\{([\w-]+),\n.*?^\}", text, re.M | re.S)}


def cite(key: str) -> str:
    """Authors, year and DOI of a work in one line."""
    fields = read_bibliography(BIBLIOGRAPHY)[key]
    names = [name.split(",")[0].strip() for name in fields["author"].split(" and ")]
    who = names[0] if len(names) == 1 else " & ".join(names) if len(names) == 2 else f"{names[0]} et al."
    who = who.replace("& others", "et al.")
    where = f"doi:{fields['doi']}" if "doi" in fields else fields.get("howpublished") or fields.get("url", "")
    return f"{who} ({fields['year']}){', ' if where else ''}{where}"


def works_of(records: Iterable[RecordedResult]) -> list[str]:
    """Keys of the works that results rest on, in the order of the bibliography."""
    keys = {key for record in records for key in _keys(record)}
    return [key for key in entries() if key in keys]


def _keys(record: RecordedResult) -> Iterator[str]:
    kind, settings = kind_of(record.kind), record.settings
    yield from kind.references
    for (name, value), keys in OF_SETTINGS.items():
        if settings.get(name) == value:
            yield from keys
    if record.kind in CORRECTED and settings.get("correct") != "covariate":
        yield "kluger2025"
    if settings.get("draws") and kind.resamples and settings.get("engine") != "bayes":
        yield "efron1979"
    if ", " in str(settings.get("id") or ""):
        yield "cameron2011"


def software() -> str:
    """BibTeX entry of this package in its installed version."""
    return (
        "@software{conjury,\n  author = {{The conjury authors}},\n"
        "  title = {conjury: measuring how {LLM} judges decide, next to human judges},\n"
        f"  version = {{{version('conjury')}}}\n}}"
    )
