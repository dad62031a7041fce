"""The data that every contender gets: real choices where they are at hand, else as many simulated ones."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

OUTCOME, ID, BY = "chosen", "pair_id", "identity"
FEATURES = ("slur", "identity", "topic", "reply", "curse", "engagement")
FORMULA = f"{OUTCOME} ~ {' + '.join(FEATURES)}"
FORMULA_WITHOUT_BY = f"{OUTCOME} ~ {' + '.join(name for name in FEATURES if name != BY)}"
STIMULI = {"text": ("topic", "scenario_id"), "user": ("identity", "user_id")}
PAIRS = 30_000


@dataclass(frozen=True)
class Choices:
    """A table of choices, two rows a pair, and one sentence on where it comes from."""

    table: pd.DataFrame
    source: str


def load_choices(pairs: int | None = None) -> Choices:
    """Load the real choices, or simulate as many; with ``pairs``, simulate that many."""
    from golden import AVAILABLE, gemini

    if AVAILABLE and pairs is None:
        table, source = gemini(), "forced choices of Gemini 2.5 Flash, baseline prompt"
    else:
        study = load_study("moderation")
        found = simulate(study, seed=1, pairs=pairs or PAIRS, judges=["gpt4o"], prompts=["baseline"])
        table, source = found.choices, "simulated forced choices of one model, baseline prompt"
    for stimulus, (attribute, number) in STIMULI.items():
        if stimulus not in table:
            table[stimulus] = table[attribute].astype(str) + "_" + table[number].astype(str)
    table = table[[ID, OUTCOME, *FEATURES, *STIMULI]].astype({OUTCOME: "int64"})
    table[ID] = pd.factorize(table[ID])[0]
    return Choices(table, f"{len(table):,} rows, {source}")
