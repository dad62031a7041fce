"""Names of models: as they were asked, as servers return them, and the families they belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import pandas as pd
import yaml

from conjury.inference.tables.columns import as_text
from conjury.inference.tables.files import ROOT

FAMILIES = ROOT / "data" / "checks" / "families.yaml"
MADE_HERE = ("simulated", "replay", "recorded")  # backends, and the names that they return, that ask no model
_SIGNS = re.compile(r"[\s._]+")
_SERVING = re.compile(r":(?:free|nitro|floor|online|beta|extended|thinking)$")
_VERSION = re.compile(
    r"(?:[-@:](?:\d{4}-?\d{2}-?\d{2}|\d{2}-\d{2}|\d{2}-\d{4}|\d{3,8}|latest|stable|v\d+(?::\d+)?"
    r"|(?:preview|exp|experimental)(?:-\d{2}-\d{2}|-\d{2}-\d{4}|-\d{3,8})?))+"
)


def plain_name(model: str) -> str:
    """A model's name without provider, case, and differences of signs."""
    name = _SERVING.sub("", model.strip().casefold()).rstrip("/").rpartition("/")[2]
    return _SIGNS.sub("-", name)


def same_model(model: str, returned: str) -> bool:
    """Whether a returned name is the one asked, or the one asked with a version or date after it."""
    name, answer = plain_name(model), plain_name(returned)
    if name == answer:
        return True
    shorter, longer = sorted((name, answer), key=len)
    if longer.startswith(shorter) and _VERSION.fullmatch(longer[len(shorter) :]):
        return True
    stem = name.removesuffix("-latest")
    return stem != name and (answer == stem or bool(_VERSION.fullmatch(answer.removeprefix(stem))))


@cache
def _families() -> tuple[tuple[str, re.Pattern[str]], ...]:
    content = yaml.safe_load(FAMILIES.read_text(encoding="utf-8"))
    return tuple((name, re.compile("|".join(some))) for name, some in content["families"].items())


def family_of(model: str) -> str | None:
    """The family of a model by its name; None where none is known."""
    text = _SIGNS.sub("-", model.strip().casefold())
    return next((name for name, pattern in _families() if pattern.search(text)), None)


def requested_models(
    requests: pd.DataFrame | None, judge_settings: Mapping[str, Mapping[str, Any]] | None
) -> dict[str, str]:
    """The model that each judge stands for: as it was sent most often, else as the study states it."""
    models = {
        str(judge): str(settings["model"])
        for judge, settings in (judge_settings or {}).items()
        if settings.get("model")
    }
    if requests is not None and "model" in requests:
        sent = requests[requests["model"].notna()]
        for judge, names in sent.groupby(as_text(sent["judge_id"]), sort=False)["model"]:
            models[str(judge)] = str(names.value_counts().index[0])
    return models


def is_simulated(judge: str, judge_settings: Mapping[str, Mapping[str, Any]] | None) -> bool:
    """Whether a judge's answers were simulated or replayed."""
    return str((judge_settings or {}).get(judge, {}).get("backend", "")) in MADE_HERE


def model_responses(responses: pd.DataFrame) -> pd.DataFrame:
    """Responses of models that have an answer."""
    kind = as_text(responses["judge_kind"]) if "judge_kind" in responses else "model"
    return responses[(kind == "model") & responses["text"].notna()]
