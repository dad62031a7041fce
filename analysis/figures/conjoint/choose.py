"""The figure that fits a result: one kind for each kind of estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError

from ..labels import LabelKey, Labels, display_order
from ..panels import draw_panels
from .coefficients import axis_label, coefficient_plot, estimate_points, is_reference, with_bounds
from .contrasts import contrast_plot
from .equivalence import equivalence_plot
from .frequencies import frequencies_plot, proportions_plot
from .marginal_means import HALF, marginal_means_plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...conjoint.estimates import Estimates, Provenance

SERIES = "series_in_words"


def figure_of(
    estimates: Estimates, *, labels: Mapping[LabelKey, str] | None = None, **options: Any
) -> Figure:
    """Draw the figure that fits a result.

    Parameters
    ----------
    estimates : Estimates
        AMCEs, differences and their kind become dots with intervals around 0; marginal means
        stand around their null value (0.5 where it was left at 0 and all means are shares);
        groups stand side by side; AMCEs by reference have a panel for each reference;
        contrasts of levels are a matrix; equivalence tests have a band of what is too small to
        matter; frequencies are drawn as shares, joint proportions as a heat map.
    labels : mapping, optional
        ``feature -> label`` and ``(feature, level) -> label``.
    **options
        ``theme`` and ``title`` always; ``group`` and ``share_x`` where there are axes to share.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        For results that have no figure (`cj_anova`, `cj_table`), and joint proportions of
        more or fewer than two features.

    Examples
    --------
    >>> from conjury.analysis.conjoint import cj_freqs
    >>> counts = cj_freqs(pd.DataFrame({"tone": ["rude", "kind", "rude"]}), "~ tone")
    >>> len(figure_of(counts).axes)
    1
    """
    frame, made = estimates.frame, estimates.provenance
    _refuse_without_figure(frame)
    if "feature" not in frame:
        return proportions_plot(frame, labels=labels, **options)
    named = Labels(labels)
    if made.verb == "contrast" and "reference" in frame:
        return contrast_plot(frame, labels=labels, alpha=made.alpha, **options)
    if "verdict" in frame:
        return equivalence_plot(frame, labels=labels, **options)
    if "reference" in frame:
        return _by_reference(frame, named, bounds=_bounds(made), **options)
    groups = [name for name in made.by if name in frame]
    if groups and "group" not in options:
        frame = frame.assign(**{SERIES: series_in_words(frame, groups, named)})
        options["group"] = SERIES
    kinds = set(frame["statistic"].astype(str))
    if kinds == {"frequencies"}:
        return frequencies_plot(frame, labels=labels, **options)
    options["bounds"] = _bounds(made)
    if kinds <= {"mm", "pmm"}:
        return marginal_means_plot(frame, labels=labels, baseline=_no_effect(frame, made), **options)
    return coefficient_plot(frame, labels=labels, **options)


def series_in_words(frame: pd.DataFrame, groups: Sequence[str], labels: Labels) -> list[str]:
    """Name the group of each row; the name of a difference also says from which group it is taken."""
    told = []
    for row in frame[[*(["by"] if "by" in frame else []), *groups]].astype(str).to_dict("records"):
        words = ", ".join(labels.level(name, row[name]) for name in groups)
        own = "***".join(row[name] for name in groups)
        other = row.get("by", own).removeprefix(own).removeprefix(" - ")
        if other:
            base = labels.level(groups[0], other)
            words += f" minus {base[:1].lower() + base[1:] if base == Labels().level('', other) else base}"
        told.append(words)
    return told


def _refuse_without_figure(frame: pd.DataFrame) -> None:
    if "resid_df" in frame or "chi2" in frame:
        what = "test of nested models" if "resid_df" in frame else "joint test"
        raise InputError(f"A {what} has no figure; print its table with .frame.")
    if not {"estimate", "proportion"} & set(frame.columns):
        raise InputError("A list of features and levels has no figure; print its table with .frame.")


def _bounds(made: Provenance) -> str:
    """Say what the lines of a figure are: ``95% percentile bootstrap intervals``."""
    kind = made.interval if made.interval in ("normal", "t", "posterior") else f"{made.interval} bootstrap"
    return f"{100 * (1 - made.alpha):g}% {kind} intervals"


def _no_effect(frame: pd.DataFrame, made: Provenance) -> float | None:
    if made.null != 0:
        return made.null
    return HALF if frame["estimate"].dropna().between(0, 1).all() else None


def _by_reference(
    frame: pd.DataFrame,
    labels: Labels,
    *,
    bounds: str,
    theme: str = "light",
    title: str | None = None,
    share_x: bool = True,
) -> Figure:
    """Draw the feature whose reference changes: a panel for each reference."""
    feature = _feature_of_references(frame)
    shown = frame[frame["feature"].astype("string") == feature]
    panels = [f"Reference: {labels.level(feature, value)}" for value in shown["reference"]]
    words: dict[LabelKey, str] = {
        (panel, value): labels.level(feature, value)
        for panel in dict.fromkeys(panels)
        for value in display_order(shown["level"])
    }
    told = shown.assign(reference=panels)
    points = estimate_points(told, Labels(words), panel="reference")
    xlabel = with_bounds(f"{axis_label(frame)}: {labels.feature(feature).lower()}", bounds)
    return draw_panels(points, theme=theme, xlabel=xlabel, title=title, share_x=share_x)


def _feature_of_references(frame: pd.DataFrame) -> str:
    """Find the feature whose reference level is the named one throughout."""
    turned = frame["level"].astype("string") == frame["reference"].astype("string")
    own = frame[turned & is_reference(frame)]
    found = own.groupby(own["feature"].astype("string"))["reference"].nunique()
    return str(found.idxmax())
