"""What results license one to say and what they do not, by kind of result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .vocabulary import HUMAN


@dataclass(frozen=True)
class Claims:
    """What a result says, and what does not follow from it, in sentences."""

    says: str  # what may be concluded
    does_not_say: str  # what is often concluded, and does not follow

    def __str__(self) -> str:
        return f"{self.says} {self.does_not_say}"


UNITS = {
    "pair_id": "other pairs from this design, shown to the same judges in the same way",
    "task_id": "other tasks from this design, shown to the same judges in the same way",
    "item_id": "other items of the same kind, and the same judges",
}
PEOPLE = "other people from the population that these were drawn from"
OTHERS = "other values of {} of the same kind"
CLUSTERED = ("amce", "mm", "amce_diffs", "mm_diffs", "amce_by_reference", "choice_level", "afcp", "contrast")


@cache
def claims_by_kind() -> Mapping[str, Claims]:
    """Claims of every kind of result that has some."""
    import yaml  # here, since results are imported by commands that print no claims

    from conjury.inference.tables.files import CLAIMS

    entries = yaml.safe_load(CLAIMS.read_text(encoding="utf-8"))
    return {
        kind: Claims(entry["says"], entry["does_not_say"]) for entry in entries for kind in entry["kinds"]
    }


def claims_of(kind: str, settings: Mapping[str, Any]) -> Claims | None:
    """What results of a kind say and do not say, with what their intervals are about; None for checks."""
    claims = claims_by_kind().get(kind)
    unit = settings.get("id")
    if claims is None or kind not in CLUSTERED or not isinstance(unit, str) or not unit:
        return claims
    about = " or ".join(dict.fromkeys(_about(name) for name in unit.split(" or ")))
    return Claims(f"{claims.says} Intervals are about {about}.", claims.does_not_say)


def _about(unit: str) -> str:
    if unit in ("judge_id", "respondent_id", HUMAN):
        return PEOPLE
    return UNITS.get(unit) or OTHERS.format(f"`{unit}`")
