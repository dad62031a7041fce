"""Notes on effects and means whose intervals were measured to cover too rarely in choices like these."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...frames.notes import Note
from ...frames.passport import NOMINAL_ALPHA, Situation, coverage_notes, may_fail
from ...numerics.rating_panel import effective_clusters
from ...numerics.types import Codes, Floats
from ..estimates import Estimates
from ..estimation_plan import EstimationPlan

PROFILES = 2  # rows of a pair
_EVEN = 0.25  # share above which a level is not a rare one
_ALIKE = 1.25  # factor within which a level is as rare as the rarest

# by what is reported: method of the passport, where {} is its option, and the prefix of its quantities
_METHODS = {
    "amce": ("amce, vcov={}", ""),
    "mm": ("mm, vcov={}", "mean "),
    "amce_diffs": ("differences of groups, vcov={}", "difference "),
    "mm_diffs": ("differences of groups, vcov={}", "mean difference "),
    "bootstrap amce": ("bootstrap, interval={}", ""),
    "bounds amce": ("bounds of AMCEs", ""),
    "bounds mm": ("bounds of AMCEs", "mean "),
    "corrected amce": ("corrected effects, correct={}", ""),
    "corrected mm": ("corrected effects, correct={}", "mean "),
    "people amce_diffs": ("people and a model", "model minus people: "),
    "cj_amce": ("choices, part=cj_amce", "cj_amce: "),
    "cj_mm": ("choices, part=cj_mm", "cj_mm: "),
    "conditional_amce": ("choices, part=conditional_amce", "conditional_amce: "),
    "pmm": ("choices, part=pmm", "pmm: "),
    "pamce": ("choices, part=pamce", "pamce: "),
    "target_sensitivity": ("choices, part=target_sensitivity", "target_sensitivity: "),
}


def with_coverage(
    estimates: Estimates, plan: EstimationPlan, reported: str = "", option: str = ""
) -> Estimates:
    """Estimates with notes of intervals that were measured to cover too rarely; see `notes_of_coverage`."""
    notes = notes_of_coverage(plan, reported or plan.request.verb, option, n_rows=estimates.provenance.n_used)
    return replace(estimates, notes=(*estimates.notes, *notes)) if notes else estimates


def notes_of_coverage(
    plan: EstimationPlan,
    reported: str,
    option: str = "",
    *,
    n_rows: int | None = None,
    rows: np.ndarray | None = None,
    cluster: Codes | None = None,
) -> list[str]:
    """State which intervals of a plan were measured to cover too rarely with choices like these."""
    # `rows` (n,) are those that estimates use (default: all in use), `cluster` (n,) those that are drawn
    # (default: the request's), `option` is by default the kind of standard error.
    request, cells = plan.request, plan.cells
    measured = request.family == "gaussian" and math.isclose(request.alpha, NOMINAL_ALPHA)
    if reported not in _METHODS or cells.counts is not None or not measured:
        return []
    method, prefix = _METHODS[reported]
    if "{}" not in method and request.vcov != "survey":
        return []  # measured were the normal intervals of the default; those of Student's t are longer
    method = method.format(option or request.vcov)
    if n_rows is not None and not may_fail(method, Situation(n_rows / PROFILES)):
        return []  # before anything is counted, so that large tables cost nothing
    mask = cells.weight > 0 if rows is None else (cells.weight > 0) & rows
    shares = _shares(plan, mask)
    rarest = min((float(share[share > 0].min()) for share in shares.values() if share.any()), default=1.0)
    codes = [clusters.code for clusters in cells.clusterings.values()] if cluster is None else [cluster]
    n = int(mask.sum()) / PROFILES
    situation = Situation(n, rarest, min([n, *(effective_clusters(code[mask]) for code in codes)]))
    if not may_fail(method, situation):
        return []
    quantities = [(prefix + name, words, situation) for words, name in _names(plan, shares, rarest, reported)]
    return coverage_notes(method, quantities, request.alpha)


def _shares(plan: EstimationPlan, mask: np.ndarray) -> dict[str, Floats]:
    """Share of the rows with each level of each attribute."""
    cells = plan.cells
    rows = np.bincount(cells.cell[mask], minlength=cells.n_cells).astype(float)
    shares = {}
    for name in plan.request.formula.features:
        code = cells.code(name)
        is_observed = code >= 0
        counts = np.bincount(code[is_observed], rows[is_observed], len(cells.levels[name]))
        shares[name] = counts / max(counts.sum(), 1.0)
    return shares


def _names(
    plan: EstimationPlan, shares: dict[str, Floats], rarest: float, reported: str
) -> list[tuple[str, str]]:
    """Words for each reported row, and what the passport calls a row like it."""
    # Groups of the passport are x and y, and levels of another attribute kind and rude.
    features = {plan.request.label(name): name for name in shares}
    grouped = reported in ("cj_amce", "cj_mm", "conditional_amce")
    separator = " " if "part=" in _METHODS[reported][0] else "="
    groups = plan.keys["by"].astype(str).tolist() if grouped else [""] * len(plan.keys)
    first = groups[0] if groups else ""
    names: list[tuple[str, str]] = []
    rows = plan.keys[["feature", "level"]].astype(str).to_numpy()
    for group, (feature, level), reference in zip(groups, rows, plan.is_reference, strict=True):
        name = features.get(feature, "")
        levels = [str(value) for value in plan.cells.levels[name]] if name in shares else []
        if reference or level not in levels or not shares[name][levels.index(level)]:
            continue
        alike = separator.join(_passport_row(shares[name], levels.index(level), rarest, "mm" in reported))
        if reported == "conditional_amce":
            alike += " kind" if group == first else " rude"
        elif grouped:
            alike = ("x " if group == first else "y ") + alike
        template = "{side}: {level}" if grouped else "{level}"
        names.append((Note.of(template, side=group, level=(feature, level)), alike))
    return names


def _passport_row(share: Floats, place: int, rarest: float, is_mean: bool) -> tuple[str, str]:
    """Attribute and level of the passport that are like a level with one of its attribute's shares."""
    # In the passport `tone` has two equally frequent levels, and `author` three: the reference ada, and cem,
    # which is rare. An effect is as rare as the rarer of its level and the reference.
    base = int((share > 0).argmax())
    rare = float(share[place] if is_mean else min(share[place], share[base]))
    if (share > 0).sum() == PROFILES and rare > _EVEN:
        return "tone", "kind" if place == base else "rude"
    if rarest > _EVEN:
        return "author", "ada" if place == base else "ben" if place == base + 1 else "cem"
    if rare <= _ALIKE * rarest:
        return "author", "cem"
    return "author", "ada" if is_mean and place == base else "ben"
