"""All of the package's own work once, in a process of its own; prints the peak memory in MB."""

from __future__ import annotations

import sys

import pandas as pd
from measure import peak_memory

from conjury.analysis.conjoint import amce, amce_diffs, bootstrap
from data import BY, FORMULA, FORMULA_WITHOUT_BY, ID


def main(path: str, draws: int) -> None:
    choices = pd.read_parquet(path)
    amce(choices, FORMULA, id=ID)
    bootstrap(amce, choices, FORMULA, unit=ID, draws=draws, seed=1)
    bootstrap(amce_diffs, choices, FORMULA_WITHOUT_BY, by=BY, unit=ID, draws=draws, seed=1)
    print(peak_memory())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
