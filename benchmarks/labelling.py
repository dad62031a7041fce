"""Labels until an interval is narrow enough: type I error with a look after every batch, and labels saved.

Prints a page and writes it to results/LABELLING.md. Part one simulates tables of 400 rows, of which rows are
labelled in batches of 20, and counts the runs in which the interval of any batch excludes what people would
say of all rows. Part two draws the rows of published ratings again and again until the interval is narrow
enough, by `conjury label` and at random: with the same intervals, and a judge whose score is one number.

    .venv/bin/python benchmarks/labelling.py --workers 2
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from measure import listed as in_words
from measure import machine, page, publish, versions
from measure import table as markdown
from scipy.special import expit

from conjury.analysis.raters.labelling import LabelQueue, label

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("CONJURY_SHARED", HERE.parents[1] / "shared"))
BY_COMMAND = "benchmarks/labelling.py"
ROWS, MOST, BATCH = 400, 200, 20
NARROW = 0.05  # half an interval, as a share of the range of labels
SITUATIONS: Mapping[str, tuple[float, float]] = {  # share of the class, and of verdicts that are right
    "half the rows, a judge by chance": (0.5, 0.5),
    "70%, a judge right in 87%": (0.7, 0.87),
    "3%, a judge right in 95%": (0.03, 0.95),
    "1%, a judge right in 99%": (0.01, 0.99),
}
DIFFERENCE = "no difference of two systems, a bent judge that favours one"
RANGES = {"framing": (0.0, 1.0), "10k_prompts": (1.0, 5.0), "cebab_stars": (1.0, 5.0)}


def answer(queue: LabelQueue, labels: np.ndarray, most: int | None) -> pd.DataFrame:
    """Label until the rule is met."""
    return queue.run(lambda row: str(labels[row.name]), "person", most).frame


def missed(frame: pd.DataFrame, quantity: str, truth: float) -> tuple[bool, bool, float, float]:
    """Whether any interval excludes the truth, whether the last one does, its half width, and the error."""
    rows = frame[frame["quantity"] == quantity]
    outside = (rows["lower"] > truth + 1e-9) | (rows["upper"] < truth - 1e-9)
    last = rows.iloc[-1]
    return bool(outside.any()), bool(outside.iloc[-1]), float(last["half_width"]), last["estimate"] - truth


def of_level(situation: str, seed: int) -> tuple[bool, bool, float, float]:
    """One run on verdicts."""
    rate, right = SITUATIONS[situation]
    rng = np.random.default_rng([seed, 1])
    good = rng.random(ROWS) < rate
    verdict = np.where(rng.random(ROWS) < right, good, ~good).astype(float)
    queue = label(
        pd.DataFrame({"verdict": verdict}), "verdict", limits=(0, 1), scale="interval", seed=seed, batch=BATCH
    )
    return missed(answer(queue, good.astype(float), MOST), "level", float(good.mean()))


def of_difference(seed: int) -> tuple[bool, bool, float, float]:
    """One run on ratings of two systems that people rate alike."""
    rng = np.random.default_rng([seed, 2])
    n = ROWS // 2
    quality = np.tile(rng.normal(size=n), 2) + 0.4 * rng.normal(size=2 * n)
    rating = expit(1.3 * quality - 0.3)
    rating[n:] += rating[:n].mean() - rating[n:].mean()
    score = expit(3 * quality + 2.5 + 0.9 * np.repeat([0, 1], n) + rng.normal(size=2 * n))
    table = pd.DataFrame(
        {"prompt": np.tile(np.arange(n), 2), "system": np.repeat(["A", "B"], n), "score": score}
    )
    limits = float(min(rating.min(), 0)), float(max(rating.max(), 1))
    queue = label(table, "score", system="system", id="prompt", limits=limits, seed=seed, batch=BATCH)
    return missed(answer(queue, rating, MOST), "difference", 0.0)


def published(name: str) -> pd.DataFrame:
    """Mean label by people and label of each model for each item of a data set, as numbers."""
    frame = pd.read_parquet(SHARED / "data" / "ratings" / "annotations.parquet")
    frame = frame[frame["dataset"] == name]
    number = pd.to_numeric(
        frame["value"].map({"yes": "1", "no": "0"}).fillna(frame["value"]), errors="coerce"
    )
    frame = frame.assign(value=number).dropna(subset="value")
    people = frame[frame["judge_kind"] == "human"].groupby("item_id")["value"].mean()
    models = frame[frame["judge_kind"] == "model"].pivot_table(
        index="item_id", columns="judge_id", values="value"
    )
    return models.assign(people=people).dropna().reset_index(drop=True)


def labels_needed(name: str, judges: tuple[str, ...], seed: int) -> int:
    """Labels until the interval of the mean is narrow enough; without judges rows are drawn at random."""
    table, (low, high) = published(name), RANGES[name]
    people = table.pop("people").to_numpy()
    table = table.assign(none=(low + high) / 2)[list(judges) or ["none"]]
    queue = label(
        table, judges or ("none",), limits=(low, high), until=f"level < {NARROW * (high - low)}", seed=seed,
        scale="interval",
    )  # fmt: skip
    return int(answer(queue, people, None)["n_labels"].max())


def main() -> None:
    """Measure both parts and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--print", action="store_true", help="write no page")
    options = parser.parse_args()
    peeked, saved = [], []
    with ProcessPoolExecutor(options.workers) as pool:
        for situation in (*SITUATIONS, DIFFERENCE):
            run = of_difference if situation == DIFFERENCE else partial(of_level, situation)
            runs = np.array(list(pool.map(run, range(options.runs), chunksize=10)), dtype=float)
            ever, last, half = runs[:, :3].mean(axis=0)
            bias = runs[:, 3].mean() / (runs[:, 3].std() / np.sqrt(len(runs)))
            peeked.append([situation, f"{ever:.3f}", f"{1 - last:.3f}", f"{half:.3f}", f"{bias:+.1f}"])
            print(peeked[-1], flush=True)
        for name in RANGES if (SHARED / "data" / "ratings").is_dir() else ():
            models = tuple(str(model) for model in published(name).columns if model != "people")
            seeds = range(options.draws)
            random = np.mean(list(pool.map(partial(labels_needed, name, ()), seeds)))
            by_judge = {
                one: float(np.mean(list(pool.map(partial(labels_needed, name, (one,)), seeds))))
                for one in models
            }
            together = float(np.mean(list(pool.map(partial(labels_needed, name, models), seeds))))
            best = min(by_judge, key=by_judge.__getitem__)
            worst = max(by_judge, key=by_judge.__getitem__)
            for judge, count in ((best, by_judge[best]), (worst, by_judge[worst]), ("all six", together)):
                share = f"{1 - count / random:.0%}"
                saved.append(
                    [name, f"{len(published(name)):,}", f"{random:.0f}", judge, f"{count:.0f}", share]
                )
                print(saved[-1], flush=True)
    facts = {
        "Machine": machine(),
        "Versions": in_words(versions(("conjury", "numpy", "scipy"))),
        "Type I error": f"{options.runs:,} runs each, Monte Carlo error 0.007 at 0.05; {ROWS} rows, {MOST} "
        f"labels in batches of {BATCH}, a look after each; bias is that of the last estimate over its Monte "
        "Carlo error",
        "Labels saved": f"mean over {options.draws} seeds of the labels until half the 95% interval is "
        f"{NARROW:.0%} of the range of labels; both with intervals that hold at every batch",
    }
    heads = (
        ["situation", "missed at any look", "coverage at the last", "half width at the last", "bias"],
        ["data", "rows", "labels, random", "judge", "labels", "saved"],
    )
    parts = [f"## A look after every batch\n\n{markdown(heads[0], peeked)}"]
    if saved:
        parts.append(f"## Labels saved on published ratings\n\n{markdown(heads[1], saved)}")
    text = page("Fewer labels", facts, *parts, by=BY_COMMAND)
    publish("LABELLING", text, not options.print)


if __name__ == "__main__":
    main()
