"""The manifest of a results folder: what was run, on which rows, and which results there are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..conjoint.estimates import Estimates

if TYPE_CHECKING:
    from conjury.inference.study.models import Study
    from conjury.inference.study.parts import Analysis

    from .conjoint import Group, Options

BOOTSTRAPPED = ("amce", "mm", "amce_diffs", "mm_diffs")
COUNTS = ("cj_freqs", "cj_props")
FIGURES = {
    "amce": "coefficients",
    "mm": "marginal_means",
    "amce_diffs": "interaction",
    "mm_diffs": "interaction",
    "cj_freqs": "frequencies",
}


FIT = "fit"  # the part of a manifest that `conjury fit` writes
ROBUSTNESS = {  # table of `conjury diagnose` -> kind of result
    "errors": "standard_errors",
    "reliability": "reliability",
    "position": "position",
    "corrected": "corrected",
    "power": "detectable",
}


@dataclass(frozen=True)
class Recorded:
    """A result as the manifest lists it; its tables are in the folder under its name.

    Attributes
    ----------
    name, kind, title : str
        The name of its table, which exhibit and figure it has, and its title.
    settings : mapping
        What was run: columns, draws, seed, alpha and the like; of models also ``verdict`` and ``passed``.
    groups : tuple of mapping
        Judges and prompts that were estimated apart, with their numbers of rows.
    notes : tuple of str
        What was excluded or assumed.
    extra : tuple of str
        Names of further tables.
    seconds : float
        How long it took.
    part : str
        The run that added it: ``"fit"``, ``"diagnosed"``, ``"compared"`` or the name of a later run.
    """

    name: str
    kind: str
    title: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    seconds: float = 0.0
    part: str = FIT


def runs_of(manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Records of the runs of a folder by part, in order of time: command, data, software, notes."""
    added = [(str(name), part) for name, part in manifest.items() if _is_run(name, part)]
    in_order = sorted(added, key=lambda run: str(run[1].get("created")))
    fitted = "analyses" in manifest or "results" in manifest
    return ({FIT: manifest} if fitted or not added else {}) | dict(in_order)


def _is_run(name: str, part: object) -> bool:
    return isinstance(part, dict) and (name in ("compared", "diagnosed") or "results" in part)


def results_of(manifest: Mapping[str, Any]) -> list[Recorded]:
    """All results that a manifest lists, in order; a later run of the same name takes the earlier's place."""
    found = [_of_analysis(made) for made in manifest.get("analyses") or []]
    for part, run in runs_of(manifest).items():
        found += [_of_result(made, part) for made in run.get("results") or []]
    if compared := manifest.get("compared"):
        notes = tuple(compared.get("notes") or ())
        title = str(compared.get("title") or compared.get("analysis") or "")
        found.append(
            Recorded("engines", "engines", title, compared, notes=notes, extra=("summary",), part="compared")
        )
    if diagnosed := manifest.get("diagnosed"):
        settings = {name: diagnosed.get(name) for name in ("alpha", "seed")}
        found.append(Recorded("diagnosis", "diagnosis", "Checks", settings, part="diagnosed"))
        found += [
            Recorded(table, ROBUSTNESS[table], table, settings, part="diagnosed")
            for table in diagnosed.get("robustness") or []
            if table in ROBUSTNESS
        ]
    return list({made.name: made for made in found}.values())


def _of_analysis(made: Mapping[str, Any]) -> Recorded:
    return Recorded(
        str(made["name"]),
        "people" if made.get("figure") == "people" else str(made.get("verb")),
        str(made.get("title") or ""),
        made,
        tuple(made.get("groups") or ()),
        seconds=float(made.get("seconds") or 0),
    )


def _of_result(made: Mapping[str, Any], part: str) -> Recorded:
    judged = {name: made[name] for name in ("verdict", "passed") if name in made}
    return Recorded(
        str(made["name"]),
        str(made["kind"]),
        str(made.get("title") or ""),
        {**(made.get("settings") or {}), **judged},
        notes=tuple(made.get("notes") or ()),
        extra=tuple(made.get("further") or ()),
        seconds=float(made.get("seconds") or 0),
        part=part,
    )


@contextmanager
def warnings_noted(notes: list[str], where: str) -> Iterator[None]:
    """Add what is warned of in the block to notes, with the analysis and the group that it is about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes += [f"{where}: {w.message}" for w in caught if issubclass(w.category, UserWarning)]


def record_analysis(
    study: Study,
    analysis: Analysis,
    made: Sequence[tuple[Group, Estimates]],
    options: Options,
    seconds: float,
) -> dict[str, Any]:
    """Record an analysis of one or more groups as an entry of ``manifest["analyses"]``.

    ``n_clusters`` is missing where groups differ in it; counts and tests have no clusters.
    """
    counting, bootstrapped = analysis.verb in COUNTS, analysis.verb in BOOTSTRAPPED and options.draws > 0
    runs = [estimates.provenance for _, estimates in made]
    clusters = dict.fromkeys(run.id for run in runs if run.id and not counting)
    units = dict.fromkeys(resampled_unit(study, group.kind) for group, _ in made)
    counts = {_clusters(analysis, estimates) for _, estimates in made}
    return {
        "name": analysis.name,
        "verb": analysis.verb,
        "title": analysis.title,
        "formula": analysis.formula,
        "feature": analysis.features[0],
        "by": analysis.by,
        "exclude": analysis.exclude,
        "h0": None if counting else runs[0].null,
        "family": None if counting else runs[0].family,
        "weights": runs[0].weights,
        "id": " or ".join(clusters) or None,
        "vcov": None if counting else runs[0].vcov,
        "engine": runs[0].engine,
        "alpha": options.alpha,
        "interval": options.interval if bootstrapped else "normal",
        "draws": options.draws if bootstrapped else None,
        "seed": options.seed if bootstrapped else None,
        "unit": " or ".join(units) if bootstrapped else None,
        "n_rows": sum(run.n_rows for run in runs),
        "n_used": sum(run.n_used for run in runs),
        "n_dropped": sum(run.n_rows - run.n_used for run in runs),
        "n_clusters": counts.pop() if len(counts) == 1 else None,
        "repeats_left_out": sum(group.repeats for group, _ in made),
        "groups": [_group(analysis, group, estimates) for group, estimates in made],
        "seconds": round(seconds, 3),
        "table": f"tables/{analysis.name}.parquet",
        "figure": FIGURES.get(analysis.verb),
    }


def resampled_unit(study: Study, kind: str) -> str:
    """Name the column whose values the bootstrap draws, for one kind of judge."""
    return study.clusters.of(kind)[0] if kind == "human" else study.bootstrap.unit


def _group(analysis: Analysis, group: Group, estimates: Estimates) -> dict[str, Any]:
    made = estimates.provenance
    return {
        "judge": group.judge,
        "prompt": group.prompt,
        "variant": group.variant,
        "n_rows": made.n_rows,
        "n_used": made.n_used,
        "n_clusters": _clusters(analysis, estimates),
        "id": None if analysis.verb in COUNTS else made.id,
        "repeats_left_out": group.repeats,
    }


def _clusters(analysis: Analysis, estimates: Estimates) -> int | None:
    return None if analysis.verb in COUNTS else estimates.provenance.n_clusters
