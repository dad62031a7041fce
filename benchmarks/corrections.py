"""Effects among people corrected by a model, next to ppi_py on the same regression.

Prints a page and writes it to results/CORRECTIONS.md. People and the model are simulated. Before anything is
timed, the estimates with weight 1 must be those of ppi_py. ppi_py takes rows as independent, tunes one weight
without folds, and is handed its arrays ready; ours starts from the table of choices.

ppi_py is installed apart from the environment, since its wheel brings a package `tests` that hides ours:

    uv pip install --python .venv/bin/python --target build/ppi_py --no-deps ppi-python==0.2.3 gdown==6.5.1
    PYTHONPATH=build/ppi_py .venv/bin/python benchmarks/corrections.py
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import ppi_py
from measure import (
    BY,
    FORMULA,
    FORMULA_WITHOUT_BY,
    Target,
    best_of,
    listed,
    machine,
    page,
    publish,
    target_rows,
    versions,
)
from measure import table as markdown

from conjury.analysis.conjoint import amce, amce_diffs
from conjury.analysis.numerics.linear import one_thread
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

PEOPLE, TASKS, PAIRS = 500, 15, 30_000
SECONDS, ROUNDS = 0.3, 15
BY_COMMAND = "benchmarks/corrections.py"
PACKAGES = ("conjury", "numpy", "scipy", "pandas", "ppi-python")


def choices(people: int, pairs: int) -> pd.DataFrame:
    """People's choices, and a model's on the same tasks and on further pairs.

    On people's tasks the model chooses as they do in two of three tasks, and as it does alone in the others.
    """
    study = load_study("moderation")
    size: dict[str, Any] = {"respondents": people, "pairs": pairs, "judges": ["human", "gpt4o"]}
    drawn = simulate(study, 1, **size, prompts=["baseline"], truth=False).choices
    is_human = (drawn["judge_kind"] == "human").to_numpy()
    human = drawn[is_human & ~drawn["repeat"].to_numpy(bool)]
    tasks = len(human) // 2
    rng = np.random.default_rng(1)
    apart = np.repeat(rng.random(tasks) < 1 / 3, 2)
    random = np.repeat(rng.integers(0, 2, tasks), 2) ^ np.tile([0, 1], tasks)
    model = drawn[~is_human & ~drawn["repeat"].to_numpy(bool)]
    asked = human.assign(
        judge_id="gpt4o",
        judge_kind="model",
        panel=pd.NA,
        chosen=np.where(apart, random, human["chosen"].to_numpy(int)),
    )
    rest = model.iloc[: 2 * (pairs - tasks)]
    both = pd.concat([human, asked.astype(human.dtypes.to_dict()), rest], ignore_index=True)
    return both[both["chosen"].notna()].reset_index(drop=True)


def arrays(table: pd.DataFrame) -> tuple[np.ndarray, ...]:
    """What ppi_py takes: designs, and answers of people and model, of labelled rows and of others."""
    names = FORMULA.split("~")[1].replace(" ", "").split("+")
    dummies = pd.get_dummies(table[names], drop_first=True).to_numpy(float)
    design = np.column_stack([np.ones(len(table)), dummies])
    human = (table["judge_kind"] == "human").to_numpy()
    key = pd.MultiIndex.from_frame(table[["pair_id", "position"]].astype(str))
    answers = pd.Series(table["chosen"].to_numpy(float)[~human], index=key[~human])
    other = ~human & ~key.isin(key[human])
    labelled = answers.reindex(key[human]).to_numpy()
    chosen = table["chosen"].to_numpy(float)
    return design[human], chosen[human], labelled, design[other], chosen[other]


def effects(table: pd.DataFrame, **options: Any) -> Any:
    return amce(table, FORMULA, id="judge_id", correct="ppi", **options)


def differences(table: pd.DataFrame) -> Any:
    return amce_diffs(table, FORMULA_WITHOUT_BY, by=BY, id="judge_id", correct="ppi")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows; the page is printed, not kept")
    quick = parser.parse_args().quick
    described = machine()
    table = choices(20, 600) if quick else choices(PEOPLE, PAIRS)
    given = arrays(table)
    same = effects(table, tuning="none", folds=1).frame
    ours = same.loc[same["std_error"].notna(), "estimate"].to_numpy()
    theirs = np.squeeze(ppi_py.ppi_ols_pointestimate(*given, lam=1))[1:]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8)
    contenders = {
        "all AMCEs": partial(effects, table),
        "differences": partial(differences, table),
        "both": lambda: (effects(table), differences(table)),
        "ppi_py": lambda: ppi_py.ppi_ols_ci(*given),
    }
    # Threads of BLAS that wait for a busy machine's cores would be measured with ppi_py alone
    with one_thread():
        taken = best_of(contenders, 2 if quick else ROUNDS)
    human = (table["judge_kind"] == "human").to_numpy()
    facts = {
        "Data": f"{int(human.sum()):,} rows of {table['judge_id'][human].nunique():,} people, "
        f"{int((~human).sum()):,} of a model on the same and other pairs, simulated",
        "Machine": described,
        "Versions": listed(versions(PACKAGES)),
        "Times": f"the least of {ROUNDS} rounds, both with one thread",
        "Ours": "clusters of people, a weight for each coefficient, five folds; from the table of choices",
        "ppi_py": "independent rows, one weight without folds; arrays made before, no differences",
    }
    rows = [
        [f"all AMCEs ({len(ours)})", "conjury", f"{taken['all AMCEs']:.3f}", "1.0"],
        ["", "ppi_py", f"{taken['ppi_py']:.3f}", f"{taken['ppi_py'] / taken['all AMCEs']:.1f}"],
        [f"differences by {BY}", "conjury", f"{taken['differences']:.3f}", ""],
        ["AMCEs and differences", "conjury", f"{taken['both']:.3f}", ""],
    ]
    within = Target(
        f"AMCEs and differences below {SECONDS:g} s",
        f"{taken['both']:.2f} s",
        None if quick else taken["both"] < SECONDS,
    )
    parts = [markdown(["what", "by", "seconds", "times ours"], rows), target_rows([within])]
    publish("CORRECTIONS", page("Benchmarks of corrections", facts, *parts, by=BY_COMMAND), written=not quick)


if __name__ == "__main__":
    main()
