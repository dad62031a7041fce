"""Loaded by Python at its start where the folder is on PYTHONPATH: what tests start sees the mutant, too."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_spec = importlib.util.spec_from_file_location("mutants_hook", Path(__file__).parents[1] / "hook.py")
assert _spec is not None
assert _spec.loader is not None
_hook = importlib.util.module_from_spec(_spec)
sys.modules["mutants_hook"] = _hook
_spec.loader.exec_module(_hook)
_hook.start()
