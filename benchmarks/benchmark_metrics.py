"""Raw completions of jokes in two languages to every metric with intervals, next to a loop over scikit-learn.

Prints a page and writes it to results/BENCHMARK_METRICS.md. The completions are not part of the
repository: ``--data`` names their folder, by default that of the shared reference tables. The peer's
bootstrap is a loop over few draws, scaled up; the page says so. Before it is timed, its numbers must be ours.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measure import HERE, Target, listed, machine, page, publish, seconds, table, versions
from sklearn import metrics as peer

from conjury.analysis.audit.multiturn import published_protocol
from conjury.analysis.benchmark import Scored, by_label, confusion, passes, score, scores
from conjury.inference.parsing.completions import read_completions
from conjury.inference.readers.judged.gold_labels import labels_from_columns
from conjury.inference.study import ItemStudy, load_any_study

SHARED = Path(os.environ.get("CONJURY_SHARED", HERE.parents[1] / "shared"))
LANGUAGES = ("en", "es")
DRAWS, LOOP, SEED = 2_000, 5, 1
SECONDS = 30  # all of it has to fit in
SHORT = ("accuracy", "balanced_accuracy", "macro_f1", "micro_f1", "weighted_f1", "mcc")
PACKAGES = ("conjury", "numpy", "pandas", "scikit-learn")


class Work:
    """The steps of one run, each timed, and what they hand on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.taken: dict[str, float] = {}
        self.study = load_any_study("multiturn")
        assert isinstance(self.study, ItemStudy)
        self.items = pd.read_parquet(folder / "items.parquet")
        columns = {"joke_type": "gold_task1_raw", "line": "gold_purpose_raw"}
        lines = pd.read_parquet(folder / "lines.parquet")
        lines = lines[lines["gold_purpose"].notna()].rename(columns={"line_no": "line"})
        self.labels = labels_from_columns(self.items, self.study, columns, lines=lines)

    def timed(self, name: str, step: Callable[[], Any]) -> Any:
        kept = []
        self.taken[name] = seconds(lambda: kept.append(step()))
        return kept[0]

    def read(self, rule: str) -> pd.DataFrame:
        paths = [self.folder / f"completions_{language}.parquet" for language in LANGUAGES]
        found = [
            self.timed(
                f"{rule}, {language}",
                lambda path=path: read_completions(path, self.study, rule, self.folder / "items.parquet"),
            )
            for language, path in zip(LANGUAGES, paths, strict=True)
        ]
        return pd.concat([each.judgments for each in found], ignore_index=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "multiturn")
    options = parser.parse_args()
    if not (options.data / "items.parquet").exists():
        print("Metrics are left out: the completions are not here; name their folder with --data.")
        return
    described = machine()
    work = Work(options.data)
    lenient = work.read("lenient")
    classes = {task: [label.id for label in given.labels] for task, given in work.study.label_sets.items()}
    strata = work.items[["item_id", "language"]]
    made = work.timed("score", lambda: score(lenient, work.labels, classes=classes, items=strata))
    found = work.timed("scores", lambda: scores(made, by=["language"], draws=DRAWS, seed=SEED))
    work.timed("passes", lambda: passes(made, by=["language"], draws=DRAWS, seed=SEED))
    work.timed("by_label", lambda: by_label(made, by=["language"], draws=DRAWS, seed=SEED))
    work.timed("confusion", lambda: confusion(made, by=["language"]))
    raw = work.read("published")
    work.timed("published", lambda: published_protocol(raw, work.labels))
    ours, theirs = beside_peer(made)
    publish("BENCHMARK_METRICS", written(described, work.taken, made, found.frame, ours, theirs))


def beside_peer(made: Scored) -> tuple[float, float]:
    """Seconds of six metrics with intervals for all cells: ours, and a loop over the peer, scaled."""
    options: dict[str, Any] = {"by": ["language"], "metrics": SHORT, "missing": ["wrong"], "seed": SEED}
    found = scores(made, draws=0, **options).frame
    keys = ["judge", "task", "language"]
    known = found.set_index([*keys, "metric"])["estimate"]
    loop = 0.0
    for cell in made.cells(["language"]):
        gold, given = cell.codes("gold"), cell.codes("predicted")
        place = tuple(cell.keys[key] for key in keys)
        np.testing.assert_allclose(
            by_peer(gold, given), [known[(*place, name)] for name in SHORT], atol=1e-10
        )
        item = cell.frame["item_id"].cat.codes.to_numpy()
        loop += seconds(partial(peer_bootstrap, item, gold, given))
    return seconds(lambda: scores(made, draws=DRAWS, **options)), loop * DRAWS / LOOP


def peer_bootstrap(item: np.ndarray, gold: np.ndarray, given: np.ndarray) -> None:
    """Resample items, with all their answers, a few times."""
    rng = np.random.default_rng(SEED)
    order = np.argsort(item, kind="stable")
    rows = np.split(order, np.flatnonzero(np.diff(item[order])) + 1)
    for _ in range(LOOP):
        drawn = np.concatenate([rows[at] for at in rng.integers(len(rows), size=len(rows))])
        by_peer(gold[drawn], given[drawn])


def by_peer(gold: np.ndarray, given: np.ndarray) -> list[float]:
    held, answered = np.unique(gold), np.unique(given[given >= 0])
    every = np.union1d(held, answered)
    options: dict[str, Any] = {"labels": held, "zero_division": 0}
    return [
        peer.accuracy_score(gold, given),
        peer.recall_score(gold, given, average="macro", **options),
        peer.f1_score(gold, given, average="macro", **options),
        peer.f1_score(gold, given, average="micro", labels=every, zero_division=0),
        peer.f1_score(gold, given, average="weighted", **options),
        peer.matthews_corrcoef(gold, given),
    ]


STEPS = {
    "lenient, en": "read {en:,} English completions, rule lenient",
    "lenient, es": "read {es:,} Spanish completions, rule lenient",
    "score": "join judgments with gold labels",
    "scores": "8 metrics, 3 policies for missing answers, 2 baselines, intervals",
    "passes": "pass@k, pass^k, majority and best of k, k = 1 to 5, intervals",
    "by_label": "precision, recall, F1, use of every label, intervals",
    "confusion": "confusion matrices",
}
BESIDES = {
    "published, en": "read the English completions as published",
    "published, es": "read the Spanish completions as published",
    "published": "scores of the published protocol, both languages and all together",
}


def written(
    described: str, taken: dict[str, float], made: Scored, found: pd.DataFrame, ours: float, theirs: float
) -> str:
    """The page."""
    sizes = {"en": 17_500, "es": 12_110}
    cells = found.loc[found["judge_kind"] == "model", ["judge", "task", "language"]].drop_duplicates()
    total = sum(taken[name] for name in STEPS)
    rows = [[text.format(**sizes), f"{taken[name]:.1f}"] for name, text in STEPS.items()]
    besides = [[text, f"{taken[name]:.1f}"] for name, text in BESIDES.items()]
    target = Target(f"all of it within {SECONDS} s", f"{total:.1f} s", total <= SECONDS)
    peers = [
        ["conjury", f"{ours:.2f}", "1.0"],
        [
            f"scikit-learn, {LOOP} draws in a loop, times {DRAWS // LOOP}",
            f"{theirs:,.0f}",
            f"{theirs / ours:,.0f}",
        ],
    ]
    facts = {
        "Data": f"completions of 7 models in 5 runs, 2 tasks, 2 languages: {len(cells)} cells, "
        f"{len(made.frame):,} answers to units with a gold label",
        "Machine": described,
        "Versions": listed(versions(PACKAGES)),
        "Intervals": f"{DRAWS:,} draws of items",
    }
    return page(
        "Benchmarks of metrics",
        facts,
        "## From completions to metrics",
        table(["step", "seconds"], [*rows, ["**together**", f"**{total:.1f}**"]]),
        f"{target.claim}: {target.measured}, {'met' if target.met else '**not met**'}.",
        "Further steps:",
        table(["step", "seconds"], besides),
        "## Next to a loop over scikit-learn",
        f"Six metrics ({', '.join(SHORT)}) with intervals for all {len(cells)} cells; before that, "
        "estimates must agree to 1e-10.",
        table(["by", "seconds", "times ours"], peers),
    )


if __name__ == "__main__":
    main()
