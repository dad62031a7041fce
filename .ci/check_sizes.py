"""No folder of the product, nor the tests, grows beyond its ceiling without a reason.

CEILINGS has the lines of Python of each folder, in hundreds; MODULES those that tests import, of which none
can move alone. Who removes lines lowers a ceiling; who needs more raises it and says why in the message of
the commit. Run from the root of a checkout.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

LAYERS = ("analysis", "inference", "cli")
CEILINGS = {
    "analysis": 7,
    "analysis/audit": 81,
    "analysis/benchmark": 60,
    "analysis/checks": 91,
    "analysis/conjoint": 176,
    "analysis/correction": 33,
    "analysis/figures": 128,
    "analysis/frames": 24,
    "analysis/instrument": 44,
    "analysis/numerics": 44,
    "analysis/pipeline": 47,
    "analysis/raters": 252,
    "analysis/report": 175,
    "analysis/trial": 42,
    "cli": 111,
    "inference": 4,
    "inference/backends": 56,
    "inference/collecting": 60,
    "inference/design": 26,
    "inference/humans": 43,
    "inference/ledger": 26,
    "inference/panel": 99,
    "inference/parsing": 49,
    "inference/perturb": 15,
    "inference/preparation": 11,
    "inference/readers": 69,
    "inference/requests": 13,
    "inference/simulation": 38,
    "inference/study": 36,
    "inference/tables": 66,
    "inference/vignettes": 44,
    "tests": 959,
}
MODULES = 558


def lines_of(root: Path) -> Counter[str]:
    """Count the lines of Python of each folder of a layer, of what lies beside them, and of the tests."""
    lines: Counter[str] = Counter()
    for top in (*LAYERS, "tests"):
        for path in (root / top).rglob("*.py"):
            parts = path.relative_to(root).parts
            name = "/".join(parts[:2]) if top not in ("cli", "tests") and len(parts) > 2 else top
            lines[name] += len(path.read_text(encoding="utf-8").splitlines())
    return lines


def imported_modules(root: Path) -> set[str]:
    """Name the modules of the product that tests import."""
    modules = {
        ".".join(("conjury", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        for layer in LAYERS
        for path in (root / layer).rglob("*.py")
    }
    imported = set()
    for path in (root / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ImportFrom(level=0, module=str(module), names=aliases):
                    names = [f"{module}.{alias.name}" for alias in aliases]
                    imported |= {name if name in modules else module for name in names}
                case ast.Import(names=aliases):
                    imported |= {alias.name for alias in aliases}
    return imported & modules


def problems(root: Path) -> Iterator[str]:
    """Yield a sentence for each ceiling that is crossed, and for each folder without one."""
    for name, lines in sorted(lines_of(root).items()):
        ceiling = 100 * CEILINGS.get(name, 0)
        if lines > ceiling:
            yield (
                f"{name} has {lines:,} lines and its ceiling is {ceiling:,}; remove some, or raise it in "
                ".ci/check_sizes.py and say why in the message of the commit."
            )
    imported = len(imported_modules(root))
    if imported > MODULES:
        yield (
            f"Tests import {imported:,} modules and the ceiling is {MODULES:,}; test through the names that "
            "an `__all__` exports."
        )


if __name__ == "__main__":
    sentences = list(problems(Path.cwd()))
    print(*sentences, sep="\n")
    sys.exit("Sizes are not as .ci/check_sizes.py says." if sentences else 0)
