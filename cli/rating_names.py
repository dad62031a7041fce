"""Names of results that are added to a folder, and of their files."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def free_name(results: Path, base: str, settings: Mapping[str, Any]) -> str:
    """Name of a result that no other of the folder has; one that was made by the same settings gives way.

    A number is added where the fit of the folder, or a run by other settings, holds the name.
    """
    from conjury.analysis.pipeline.results_folder import ResultsFolder

    manifest = ResultsFolder(results).manifest
    taken = {str(made["name"]) for made in manifest.get("results") or []}
    wanted = json.loads(json.dumps(dict(settings), default=str))
    for number in itertools.count(1):
        name = base if number == 1 else f"{base}_{number}"
        earlier = (manifest.get(name) or {}).get("results") or []
        own = [made for made in earlier if made.get("name", name) == name]
        if name not in taken and all(made["settings"] == wanted for made in own):
            return name
    raise AssertionError  # the numbers have no end


def plain_name(name: object) -> str:
    """A name that files may have: letters, digits and underscores."""
    return re.sub(r"\W+", "_", str(name).casefold()).strip("_") or "unnamed"


def file_names(names: Sequence[str | None]) -> dict[str | None, str]:
    """Plain names of several, told apart by numbers where they are equal."""
    made: dict[str | None, str] = {}
    for name in names:
        plain = plain_name(name or "rating")
        free = (plain if k == 1 else f"{plain}_{k}" for k in itertools.count(1))
        made[name] = next(one for one in free if one not in made.values())
    return made
