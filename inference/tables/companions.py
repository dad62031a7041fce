"""Files that belong to a table and are next to it, such as the true values of simulated choices."""

from __future__ import annotations

import re
from pathlib import Path

NAMES = {  # role -> name of the companion, of NAME and of the ending of the table (.parquet, .csv, .csv.gz)
    "truth": "{name}.truth{ending}",
    "items": "{name}.items{ending}",
    "labels": "{name}.labels{ending}",
    "perturbed": "{name}.perturbed{ending}",
    "refused": "{name}.refused{ending}",
    "responses": "{name}_responses{ending}",
    "levels": "{name}.levels.json",
    "sheet": "{name}.html",
}
_ENDING = re.compile(r"(\.parquet|\.csv\.gz|\.csv)$", flags=re.IGNORECASE)


def companion(path: str | Path, role: str) -> Path:
    """Where the companion of a table lies: NAME.truth.parquet for NAME.parquet, by the role of ``NAMES``."""
    path = Path(path)
    found = _ENDING.search(path.name)
    ending = found.group() if found else path.suffix
    name = path.name.removesuffix(ending)
    return path.with_name(NAMES[role].format(name=name, ending=ending))
