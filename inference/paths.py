"""Where the files that ship with the project lie, in a checkout and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STUDIES = ROOT / "data" / "studies"
PRICES = ROOT / "data" / "prices.yaml"
EXAMPLES = ROOT / "data" / "examples"
RECORDED = ROOT / "data" / "recorded"
PUBLISHED = ROOT / "data" / "published"
QUARTO = ROOT / "quarto"
R_SOURCES = ROOT / "R"
PERTURB = ROOT / "data" / "perturb"
LAYOUTS = ROOT / "data" / "layouts"
