"""Published numbers with made-up verdicts, in the columns that `check_tables` gives."""

from __future__ import annotations

from itertools import product

import pandas as pd

from conjury.analysis.results import Result

TITLES = {"ratings.csv": "Ratings of jokes by people and models", "scores.csv": "Scores of models"}
CHECKS = {
    "mean_sd": "Means and standard deviations of ratings",
    "scores": "Scores of one confusion matrix",
    "counts": "Counts that sum to a total",
}
ROWS = [
    (
        "ratings.csv",
        "mean_sd",
        ("mean", "sd"),
        ["consistent"] * 5 + ["conditional", "inconsistent", "untested"],
    ),
    ("ratings.csv", "counts", ("total", "yes", "no"), ["consistent"] * 3),
    ("scores.csv", "scores", ("accuracy", "macro_f1"), ["inconsistent", "inconsistent", "conditional"]),
]
UNDER = {"conditional": "truncated; n = 39"}
NEAREST = {"inconsistent": "2.34 or 2.36"}


def checked_numbers() -> Result:
    frame = pd.DataFrame(
        [
            {
                "file": file,
                "table": "",
                "place": f"group {group}",
                "row": group + 2,
                "column": role,
                "quantity": role,
                "published": f"2.{group}{place}",
                "check": check,
                "verdict": verdict,
                "under": UNDER.get(verdict, ""),
                "nearest": NEAREST.get(verdict, ""),
                "n_definitions": 1 if verdict == "consistent" else 6,
                "chance": 0.25 if verdict != "untested" else 1.0,
                "reason": f"The numbers of group {group} were looked at.",
                "finding": 100 * number + group,
            }
            for number, (file, check, roles, verdicts) in enumerate(ROWS)
            for group, verdict in enumerate(verdicts)
            for place, role in enumerate(roles)
        ]
    )
    numbers = frame.rename(columns={"check": "checks"}).drop(columns=["nearest", "n_definitions", "finding"])
    means = [0.4, 1.0, 1.6, 2.2, 2.8, 3.1, 3.4, 2.5]
    pairs = pd.DataFrame(
        [
            {
                "file": "ratings.csv",
                "group": group,
                "place": f"group {place}",
                "mean": mean,
                "sd": 0.9 - 0.1 * (place % 3),
                "lowest": 0.0,
                "highest": 4.0,
                "step": step,
                "verdict": verdict,
            }
            for (group, step), (place, (mean, verdict)) in product(
                [("ratings by models", 1.0), ("mean ratings by four people", 0.25), ("", 1.0)],
                enumerate(zip(means, ROWS[0][3], strict=True)),
            )
        ]
    )
    settings = {
        "files": list(TITLES),
        "titles": TITLES,
        "sources": {"ratings.csv": "Made up (2026), table 1", "scores.csv": ""},
        "rows": {"ratings.csv": 8, "scores.csv": 3},
        "checks": CHECKS,
    }
    notes = ("Counts that sum to a total: 1 group of ratings.csv not checked, since total is missing.",)
    return Result(frame, "published_numbers", notes, settings, {"numbers": numbers, "pairs": pairs})
