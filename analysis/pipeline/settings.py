"""Groups of choices, and the settings that the manifest records of an analysis of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..conjoint.estimates import Estimates
from .run import FitOptions

if TYPE_CHECKING:
    from conjury.inference.study.models import Study
    from conjury.inference.study.parts import Analysis

BOOTSTRAPPED = ("amce", "mm", "amce_diffs", "mm_diffs")
COUNTS = ("cj_freqs", "cj_props")


@dataclass(frozen=True)
class Group:
    """The choices of one judge under one prompt in one variant of the data.

    ``repeats`` counts the rows of swapped repeats, which are not among them.
    """

    variant: str
    judge: str
    prompt: str
    kind: str
    choices: pd.DataFrame
    repeats: int = 0

    @property
    def name(self) -> str:
        """Judge, prompt and variant, as far as they have names."""
        return " ".join(part for part in (self.judge, self.prompt, self.variant) if part)


def name_groups(frame: pd.DataFrame, group: Group) -> pd.DataFrame:
    """A copy of a table that begins with the judge, prompt and variant of a group."""
    named = frame.copy()
    for position, name in enumerate(("judge", "prompt", "variant")):
        named.insert(position, name, getattr(group, name))
    return named


@contextmanager
def warnings_noted(notes: list[str], where: str) -> Iterator[None]:
    """Add warnings of the block to notes, with the analysis and the group that they are about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes += [f"{where}: {w.message}" for w in caught if issubclass(w.category, UserWarning)]


def resampled_unit(study: Study, kind: str) -> str:
    """Name the column whose values the bootstrap draws, for one kind of judge."""
    return study.clusters.of(kind)[0] if kind == "human" else study.bootstrap.unit


def settings_of(
    study: Study, analysis: Analysis, estimated: Sequence[tuple[Group, Estimates]], options: FitOptions
) -> dict[str, Any]:
    """Settings of an analysis of one or more groups, and the ``groups`` themselves.

    ``n_clusters`` is missing where groups differ in it; counts and tests have no clusters.
    """
    counting, bootstrapped = analysis.verb in COUNTS, analysis.verb in BOOTSTRAPPED and bool(options.draws)
    runs = [estimates.provenance for _, estimates in estimated]
    clusters = dict.fromkeys(run.id for run in runs if run.id and not counting)
    units = dict.fromkeys(resampled_unit(study, group.kind) for group, _ in estimated)
    counts = {None if counting else run.n_clusters for run in runs}
    return {
        "verb": analysis.verb,
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
        "repeats_left_out": sum(group.repeats for group, _ in estimated),
        "groups": [
            {
                "judge": group.judge,
                "prompt": group.prompt,
                "variant": group.variant,
                "n_rows": estimates.provenance.n_rows,
                "n_used": estimates.provenance.n_used,
                "n_clusters": None if counting else estimates.provenance.n_clusters,
                "id": None if counting else estimates.provenance.id,
                "repeats_left_out": group.repeats,
            }
            for group, estimates in estimated
        ],
    }
