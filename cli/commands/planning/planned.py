"""Who judges in a planned study, how much, and at what price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conjury.inference.errors import InputError
from conjury.inference.study.base import suggestion
from conjury.inference.study.models import Study

UNKNOWN = "not known"


@dataclass(frozen=True)
class Prices:
    """What a respondent and a pair cost, by judge; None where it is not known.

    ``tasks_paid`` is how many tasks a respondent's price is for, repeats included; None for all of them.
    """

    currency: str
    per_respondent: float | None
    tasks_paid: int | None
    per_pair: dict[str, float | None]

    def tell(self, cost: float | None) -> str:
        """Say a cost in words."""
        return UNKNOWN if cost is None else f"{self.currency} {cost:,.2f}".strip()


@dataclass(frozen=True)
class Judged:
    """A panel, or all models that see the same pairs: their judges and the options of their power."""

    kind: str
    judges: tuple[str, ...]
    label: str
    pairs: float
    tasks: int
    repeats: int
    options: dict[str, Any]

    def cost(self, prices: Prices, pairs: float, judge: str) -> float | None:
        """Cost of that many pairs and of their repeats, whole respondents and pairs counted."""
        if not math.isfinite(pairs):
            return None
        if self.kind == "human":
            if prices.per_respondent is None:
                return None
            shown = self.tasks + self.repeats
            share = 1.0 if prices.tasks_paid is None else shown / prices.tasks_paid
            return prices.per_respondent * share * whole(pairs / self.tasks)
        each = prices.per_pair[judge]
        return None if each is None else each * whole(pairs)


def whole(size: float) -> int:
    """Round a size up; differences far below one unit are those of arithmetic."""
    return math.ceil(size - 1e-6)


def find_prices(study: Study, per_pair: float | None, per_respondent: float | None) -> Prices:
    """Prices of a study, with those that the user gives in their place."""
    for name, value in (("--cost-per-pair", per_pair), ("--cost-per-respondent", per_respondent)):
        if value is not None and not 0 <= value < math.inf:
            raise InputError(f"{name} is {value:g}; give a cost of 0 or more.")
    costs = study.costs
    models = [judge.id for judge in study.judges if judge.kind == "model"] or ["model"]
    own = per_respondent is not None or costs is None
    return Prices(
        "" if costs is None else costs.currency,
        per_respondent if own or costs is None else costs.per_respondent,
        None if own else study.design.tasks + study.design.repeat_first,
        {
            name: per_pair if per_pair is not None or costs is None else costs.per_pair(name)
            for name in models
        },
    )


def find_groups(
    study: Study,
    judges: Sequence[str] | None,
    pairs: int | None,
    respondents: int | None,
    options: dict[str, Any],
) -> list[Judged]:
    """Panels and models to plan for, at the sizes of the study or those that the user gives."""
    for name in judges or ():
        if name not in study.judge_labels:
            raise InputError(f"--judge: {suggestion(name, study.judge_labels)}")
    for name, size in (("--pairs", pairs), ("--respondents", respondents)):
        if size is not None and size < 1:
            raise InputError(f"{name} is {size}; give a whole number above 0.")
    design, labels = study.design, study.judge_labels
    kinds = {judge.id: judge.kind for judge in study.judges} or {"human": "human", "model": "model"}
    chosen = {name: kind for name, kind in kinds.items() if not judges or name in judges}
    shared = {"tests": options["tests"], "stimulus_sd": options["stimulus_sd"]}
    groups = []
    repeats = int(design.repeat_first) if options["repeats"] is None else options["repeats"]
    panel = {
        "tasks": design.tasks,
        "icc": options["icc"],
        "reliability": options["reliability"],
        "repeats": repeats,
        "estimand": "corrected" if options["repeats"] and options["reliability"] is not None else "observed",
    }
    size = design.respondents if respondents is None else respondents
    for name in (name for name, kind in chosen.items() if kind == "human"):
        label = labels.get(name, "Human panel")
        groups.append(
            Judged("human", (name,), label, float(size * design.tasks), design.tasks, repeats, shared | panel)
        )
    models = tuple(name for name, kind in chosen.items() if kind == "model")
    if models:
        label = labels.get(models[0], "Each model") if len(models) == 1 else "Each model"
        groups.append(Judged("model", models, label, float(pairs or design.pairs), design.tasks, 0, shared))
    return groups


def size_of(group: Judged) -> str:
    """Say how many pairs a group judges, repeats of respondents apart."""
    if group.kind == "model":
        return f"{group.pairs:,.0f} pairs"
    tasks = f"({group.tasks} + {group.repeats})" if group.repeats else f"{group.tasks}"
    return f"{group.pairs / group.tasks:,.0f} x {tasks} pairs"


def paid_for(study: Study, judge: str, prices: Prices) -> str:
    """Say when and how the price of a judge was paid, where the study file knows."""
    for known in study.costs.judges if study.costs else ():
        if known.judge == judge and known.note and known.per_pair == prices.per_pair.get(judge):
            return f" ({known.note})"
    return ""
