"""Notes on effects and means whose intervals were measured to cover too rarely in choices like these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..frames.passport import NOMINAL, Situation, coverage_notes, may_fail
from ..numerics.panel import effective_clusters
from ..numerics.types import Floats
from .estimates import Estimates
from .plan import Plan

PROFILES = 2  # rows of a pair
_EVEN = 0.25  # share from which a level of two is taken as a common one
_ALIKE = 1.25  # factor within which a level is as rare as the rarest
_METHODS = {
    "amce": ("amce, vcov={}", ""),
    "mm": ("mm, vcov={}", "mean "),
    "amce_diffs": ("differences of groups, vcov={}", "difference "),
    "mm_diffs": ("differences of groups, vcov={}", "mean difference "),
    "cj_amce": ("choices, part=cj_amce", "cj_amce: "),
    "cj_mm": ("choices, part=cj_mm", "cj_mm: "),
    "pmm": ("choices, part=pmm", "pmm: "),
    "pamce": ("choices, part=pamce", "pamce: "),
    "people": ("people and a model", "model minus people: "),
}


def with_coverage(found: Estimates, plan: Plan, verb: str = "", rows: np.ndarray | None = None) -> Estimates:
    """Estimates with notes of intervals that were measured to cover too rarely.

    ``verb`` stands in for that of the request; ``rows`` (n,) are those on which the result rests.
    """
    notes = _notes(plan, verb or plan.request.verb, rows)
    return replace(found, notes=(*found.notes, *notes)) if notes else found


def _notes(plan: Plan, verb: str, rows: np.ndarray | None) -> list[str]:
    request, cells = plan.request, plan.cells
    if verb not in _METHODS or cells.counts is not None or not np.isclose(request.alpha, NOMINAL):
        return []
    method, prefix = _METHODS[verb]
    method = method.format(request.vcov)
    used = cells.weight > 0 if rows is None else (cells.weight > 0) & rows
    n = int(used.sum()) / PROFILES
    if not may_fail(method, Situation(n)):
        return []
    clusters = [effective_clusters(one.code[used]) for one in cells.clusterings.values()]
    rows_of = np.bincount(cells.cell[used], minlength=cells.n_cells).astype(float)
    shares = {name: _shares(plan, name, rows_of) for name in request.formula.features}
    rarest = min((float(one[one > 0].min()) for one in shares.values() if one.any()), default=1.0)
    situation = Situation(n, rarest, min([n, *clusters]))
    if not may_fail(method, situation):
        return []
    named = _quantities(plan, shares, rarest, verb)
    asked = [(prefix + quantity, words, situation) for words, quantity in named]
    return coverage_notes(method, asked, request.alpha)


def _shares(plan: Plan, feature: str, rows_of: Floats) -> Floats:
    """Share of the rows with each level of a feature."""
    code = plan.cells.code(feature)
    known = code >= 0
    counts = np.bincount(code[known], rows_of[known], len(plan.cells.levels[feature]))
    return np.asarray(counts / max(counts.sum(), 1.0))


def _quantities(plan: Plan, shares: dict[str, Floats], rarest: float, verb: str) -> list[tuple[str, str]]:
    """Words and the passport's name of each reported row.

    In the passport `tone` has two levels that are equally frequent and `author` three, of which ada is the
    reference and cem is the rare one; groups are x and y.
    """
    labels = {plan.request.label(name): name for name in shares}
    groups = plan.request.by if verb.startswith("cj_") else ()
    mean = "mm" in verb
    texts = {name: [str(level) for level in plan.cells.levels[name]] for name in shares}
    separator = "=" if "part=" not in _METHODS[verb][0] else " "
    seen: dict[str, None] = {}
    found = []
    columns = [plan.keys[name].astype(str) for name in ("feature", "level")]
    by = plan.keys["by"].astype(str) if groups else [""] * len(plan.keys)
    for feature, level, group, reference in zip(*columns, by, plan.is_reference, strict=True):
        name = labels.get(feature, "")
        seen.setdefault(group)
        if reference or name not in shares or level not in texts[name]:
            continue
        share, place = shares[name], texts[name].index(level)
        base = int(np.flatnonzero(share > 0)[0]) if share.any() else 0
        rare = share[place] if mean else min(share[place], share[base])
        if rare <= 0:
            continue
        if int((share > 0).sum()) == PROFILES and rare > _EVEN:
            quantity = "tone", "kind" if mean and place == base else "rude"
        elif rare <= _ALIKE * rarest and not (mean and place == base and rarest > _EVEN):
            quantity = "author", "cem"
        else:
            quantity = "author", "ada" if mean and place == base else "ben"
        whose = ("x " if list(seen).index(group) == 0 else "y ") if groups else ""
        words = f"{group}: {feature}={level}" if groups else f"{feature}={level}"
        found.append((words, whose + separator.join(quantity)))
    return found
