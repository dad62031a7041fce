"""What `check_tables` gives for the published tables that ship, as it is kept with them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from conjury.inference.tables.files import PUBLISHED, read_table

from ...results import Result
from .checked_tables import EXTRA, KIND

RESULTS = PUBLISHED / "results"  # of `conjury check-table data/published/*.csv`

PER_FILE = ("titles", "sources", "rows")  # settings that are mappings by file


def shipped_checks(files: Sequence[str]) -> Result:
    """The kept result for some files of ``data/published``, by name without ending.

    Parameters
    ----------
    files : sequence of str
        Such as ``["oogiri_means"]``.

    Returns
    -------
    Result
        As of `check_tables`.

    Examples
    --------
    >>> result = shipped_checks(["harm_or_humor_counts"])
    >>> result.extra["numbers"]["verdict"].value_counts().to_dict()
    {'consistent': 40}
    """
    manifest = json.loads((RESULTS / "manifest.json").read_text(encoding="utf-8"))
    (entry,) = manifest["results"]
    names = [f"{file}.csv" for file in files if f"{file}.csv" in entry["settings"]["files"]]
    settings = {
        name: {key: text for key, text in value.items() if key in names} if name in PER_FILE else value
        for name, value in entry["settings"].items()
    }
    tables = {}
    for part in ("", *EXTRA):
        table = read_table(RESULTS / "tables" / f"{KIND}{f'__{part}' if part else ''}.parquet")
        tables[part] = table[table["file"].isin(names)].reset_index(drop=True)
    frame = tables.pop("")
    check_names = set(frame["check"])
    checks = {name: title for name, title in settings["checks"].items() if name in check_names}
    return Result(frame, KIND, (), {**settings, "files": names, "checks": checks}, tables)
