"""What the manifest says about an analysis: what was run, on which rows, and how it is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
