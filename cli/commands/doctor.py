"""``conjury doctor``: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import version

from rich.table import Table

from ..printing import wide_console


@dataclass(frozen=True)
class Finding:
    """One thing to look for: its version or None, and the remedy where it is missing."""

    part: str
    found: str | None
    remedy: str


EXTRAS = {
    "pymc": "pip install 'conjury[bayes]' (Python 3.12 or newer)",
    "openai": "pip install 'conjury[openai]'",
    "vllm": "pip install 'conjury[vllm]' (Linux with a GPU)",
    "ray": "pip install 'conjury[cluster]'",
}


def findings() -> list[Finding]:
    """Look for Python, R, R's packages, Quarto and the optional packages."""
    from conjury.analysis.pipeline.results_folder import installed
    from conjury.analysis.r import PACKAGES, available, remedy

    r = available()
    return [
        Finding("conjury", version("conjury"), ""),
        Finding("Python", platform.python_version(), ""),
        Finding("rpy2", r.rpy2, remedy("rpy2")),
        Finding("R", r.r or _on_path("R"), remedy("R")),
        *(
            Finding(f"R package {name}", r.packages.get(name) if r.r else "not examined", remedy(name))
            for name in PACKAGES
        ),
        Finding(
            "Quarto", _on_path("quarto"), "quarto.org; without it reports are rendered in a simpler layout"
        ),
        *(Finding(name, installed(name), advice) for name, advice in EXTRAS.items()),
    ]


def doctor() -> None:
    """Print what is installed, what is missing, and how to get it."""
    table = Table("Part", "Version", "If missing", box=None, header_style="bold")
    for finding in findings():
        table.add_row(finding.part, finding.found or "missing", "" if finding.found else finding.remedy)
    wide_console().print(table)


def _on_path(program: str) -> str | None:
    return "on the PATH" if shutil.which(program) else None
