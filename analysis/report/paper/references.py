"""Which works a result rests on: the one place where kinds of results and settings know their references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version

from conjury.inference.tables.files import QUARTO

from ...pipeline.manifest import RecordedResult
from ...pipeline.runner import BOOTSTRAPPED as OF_FORMULAS
from ..markup import read_bibliography

BIBLIOGRAPHY = QUARTO / "references.bib"
OF_KINDS = {
    "amce": ("hainmueller2014",),
    "further_amce": ("hainmueller2014",),
    "amce_by_reference": ("hainmueller2014",),
    "amce_diffs": ("hainmueller2014", "leeper2020"),
    "mm": ("leeper2020",),
    "mm_diffs": ("leeper2020",),
    "people": ("hainmueller2014", "leeper2020"),
    "afcp": ("abramson2023",),
    "preference_cycles": ("abramson2023",),
    "share_preferring": ("abramson2022",),
    "choice_level": ("clayton2025",),
    "reliability": ("clayton2025",),
    "corrected": ("clayton2025",),
    "bounds": ("horowitz2000", "imbens2004"),
    "agreement": ("krippendorff2004", "gwet2008"),
    "alt_test": ("calderon2025",),
    "alt_power": ("calderon2025",),
    "label_model": ("dawid1979",),
    "passes": ("chen2021",),
    "variance_components": ("brennan2001",),
    "decision_study": ("brennan2001",),
    "trial": ("morris2019",),
}
OF_SETTINGS = {
    ("correct", "covariate"): ("lin2013",),
    ("tuning", "coefficient"): ("angelopoulos2023",),
    ("tuning", "scalar"): ("angelopoulos2023",),
    ("vcov", "survey"): ("lumley2004",),
    ("vcov", "CR2"): ("pustejovsky2018",),
    ("adjusted", "holm"): ("holm1979",),
    ("multiplicity", "holm"): ("holm1979",),
    ("multiplicity", "bh"): ("benjamini1995",),
}
CORRECTED = ("prediction_powered", "prediction_powered_items")
BOOTSTRAPPED = {  # kinds whose draws resample data; those of other kinds are of posteriors or of statistics
    *OF_FORMULAS,
    "agreement",
    "alt_test",
    "annotators",
    "biases",
    "bounds",
    "by_label",
    "calibration",
    "correlations",
    "differences",
    "dimension_correlations",
    "errors",
    "errors_under_choices",
    "means",
    "passes",
    "probabilities",
    "rating_lines",
    "reliability",
    "robustness",
    "scores",
    "tier_accuracy",
}


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
    yield from OF_KINDS.get(record.kind, ())
    settings = record.settings
    for (name, value), keys in OF_SETTINGS.items():
        if settings.get(name) == value:
            yield from keys
    if record.kind in CORRECTED and settings.get("correct") != "covariate":
        yield "kluger2025"
    if settings.get("draws") and record.kind in BOOTSTRAPPED and settings.get("engine") != "bayes":
        yield "efron1979"
    if ", " in str(settings.get("id") or ""):
        yield "cameron2011"


def software() -> str:
    """BibTeX entry of this package in its installed version."""
    return (
        "@software{conjury,\n  author = {{The conjury authors}},\n"
        "  title = {conjury: measures how LLM judges decide, next to human judges},\n"
        f"  version = {{{version('conjury')}}}\n}}"
    )
