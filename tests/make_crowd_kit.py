"""Dawid-Skene estimates of crowd-kit, by maximum likelihood, for simulated labels: reference tables.

Run in an environment with crowd-kit (pip install crowd-kit), which the project itself does not need:

    python tests/make_crowd_kit.py

A second run gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent / "fixtures" / "raters"
SEED = 20
CLASSES = ("safe", "implicit", "explicit")
PREVALENCE = (0.5, 0.3, 0.2)
ITEMS, PEOPLE, MODELS = 400, 6, 2
SHOWN = 4  # people an item


def labels() -> pd.DataFrame:
    """Simulate labels with a known truth: ``judge_id, judge_kind, item_id, value, truth``."""
    rng = np.random.default_rng(SEED)
    truth = rng.choice(3, size=ITEMS, p=PREVALENCE)
    judges = [f"person_{k}" for k in range(PEOPLE)] + [f"model_{k}" for k in range(MODELS)]
    rows = []
    confusion = {}
    for judge in judges:
        right = rng.uniform(0.65, 0.92, size=3)
        shares = rng.dirichlet(np.ones(2), size=3)
        matrix = np.diag(right)
        for k in range(3):
            matrix[k, [j for j in range(3) if j != k]] = (1 - right[k]) * shares[k]
        confusion[judge] = matrix
    for item in range(ITEMS):
        people = rng.choice(PEOPLE, size=SHOWN, replace=False)
        for judge in [judges[k] for k in sorted(people)] + judges[PEOPLE:]:
            label = rng.choice(3, p=confusion[judge][truth[item]])
            kind = "human" if judge.startswith("person") else "model"
            rows.append((judge, kind, f"item_{item:03d}", CLASSES[label], CLASSES[truth[item]]))
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value", "truth"])


def main() -> None:
    """Write the labels, crowd-kit's class probabilities and its error rates."""
    from crowdkit.aggregation import DawidSkene

    FOLDER.mkdir(parents=True, exist_ok=True)
    table = labels()
    table.to_csv(FOLDER / "crowd_kit_labels.csv", index=False)
    renamed = table.rename(columns={"item_id": "task", "judge_id": "worker", "value": "label"})
    fitted = DawidSkene(n_iter=10_000, tol=1e-12).fit(renamed[["task", "worker", "label"]])
    classes = fitted.probas_.loc[:, list(CLASSES)].sort_index().round(9)
    classes.rename_axis("item_id").reset_index().to_csv(FOLDER / "crowd_kit_classes.csv", index=False)
    errors = fitted.errors_.reset_index().melt(
        ["worker", "label"], var_name="truth", value_name="probability"
    )
    errors = errors.sort_values(["worker", "truth", "label"]).round(9)
    errors[["worker", "truth", "label", "probability"]].to_csv(FOLDER / "crowd_kit_errors.csv", index=False)
    priors = fitted.priors_.loc[list(CLASSES)].rename("probability").rename_axis("label").round(9)
    priors.reset_index().to_csv(FOLDER / "crowd_kit_priors.csv", index=False)


if __name__ == "__main__":
    main()
