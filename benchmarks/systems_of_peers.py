"""The peers of systems.py, in their own environment: reads draws as CSV, prints limits as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from collections.abc import Iterator

import cje
import numpy as np
import pandas as pd
from ppi_py import ppi_mean_ci


def of_cje(answers: pd.DataFrame) -> Iterator[tuple[str, str, float, float]]:
    """Level of A and difference by cje-eval, which scales scores and labels of 0 to 1 by itself."""
    draws = {}
    for system, part in answers.groupby("system"):
        rows = []
        for prompt, score, people, has_label in part[["prompt", "score", "people", "has_label"]].itertuples(
            index=False
        ):
            label = {"oracle_label": float(people)} if has_label else {}
            rows.append({"prompt_id": str(prompt), "judge_score": float(score), **label})
        draws[system] = rows
    result = cje.analyze_dataset(fresh_draws_data=draws)
    place = result.metadata["target_policies"].index("A") if "target_policies" in result.metadata else 0
    yield ("cje", "level", *map(float, result.ci()[place]))
    pair = result.compare_policies("B", "A")
    yield ("cje", "difference", float(pair["ci_lower"]), float(pair["ci_upper"]))


def of_ppi(answers: pd.DataFrame) -> Iterator[tuple[str, str, float, float]]:
    """Level of A, and of the difference of each prompt, by ppi_py with its own tuning."""
    wide = answers.pivot(index="prompt", columns="system")
    labelled = wide["has_label"]["A"].to_numpy(bool)
    for name, of in (
        ("level", lambda column: wide[column]["A"]),
        ("difference", lambda column: wide[column]["B"] - wide[column]["A"]),
    ):
        people, score = of("people").to_numpy(float), of("score").to_numpy(float)
        low, high = ppi_mean_ci(people[labelled], score[labelled], score[~labelled], alpha=0.05)
        yield ("ppi", name, float(np.squeeze(low)), float(np.squeeze(high)))


def main() -> None:
    """Print the limits of every draw by every peer."""
    warnings.filterwarnings("ignore")
    table, limits = pd.read_csv(sys.argv[1]), []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for _, answers in table.groupby("draw"):
            for peer in (of_cje, of_ppi):
                with contextlib.suppress(ValueError):  # cje-eval refuses a judge without any relation
                    limits += list(peer(answers))
    print(json.dumps(limits))


if __name__ == "__main__":
    main()
