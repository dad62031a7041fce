"""Where the folder of reference tables lies, which is not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def _find_shared() -> Path:
    named = os.environ.get("CONJURY_SHARED")
    candidates = [Path(named)] if named else [REPOSITORY / "shared", REPOSITORY.parent / "shared"]
    return next((folder for folder in candidates if (folder / "cregg" / "golden").is_dir()), candidates[-1])


SHARED = _find_shared()
AVAILABLE = (SHARED / "cregg" / "golden").is_dir()
