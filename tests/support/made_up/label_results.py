"""Results of benchmarks with made-up numbers: seven models, thirteen labels, two languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from conjury.analysis.raters import Result

JUDGES = ["qwen3_8b", "qwen3_32b", "olmo3_7b", "olmo3_1_32b", "falcon3_10b", "apertus_8b", "ministral_8b"]
FEW = [JUDGES[0], JUDGES[3], JUDGES[4]]
LABELS = [
    "escalation", "establishing_context", "setup", "timing", "punchline", "redirection", "callback",
    "act_out", "self_deprecation", "rule_of_three", "tag", "misdirection", "crowd_work",
]  # fmt: skip
TASKS = {"joke_type": "joke", "line": "lines"}
LANGUAGES = ["en", "es"]
WORDS: dict[Any, str] = {
    ("judges", "qwen3_8b"): "Qwen3-8B",
    ("judges", "olmo3_1_32b"): "OLMo3.1-32B",
    ("task", "joke_type"): "Kind of joke",
    ("task", "line"): "Purpose of a line",
    ("language", "en"): "English",
    ("language", "es"): "Spanish",
    "language": "Language",
}
MARKUP = "<script>document.title='taken'</script>"


def _rows(keys: dict[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*keys.values()):
        yield dict(zip(keys, values, strict=True))


def scores(by: Sequence[str] = ("language",), judges: Sequence[str] = FEW, seed: int = 1) -> Result:
    random = np.random.default_rng(seed)
    keys: dict[str, Sequence[Any]] = {"judge": [*judges, "majority class", "random"], "task": list(TASKS)}
    if by:
        keys["language"] = LANGUAGES
    keys |= {"missing": ["wrong", "missing"], "metric": ["accuracy", "balanced_accuracy"]}
    rows = []
    for row in _rows(keys):
        base = row["judge"] not in judges
        estimate = {"majority class": 0.4, "random": 0.08}.get(row["judge"], float(random.uniform(0, 0.5)))
        if row["missing"] == "missing" and not base:
            estimate = min(1.0, estimate * 1.4)
        half = 0.0 if base else 0.04
        prompt = TASKS[row["task"]]
        rows.append(
            row
            | {
                "judge_kind": "baseline" if base else "model",
                "prompt": "" if base else prompt,
                "estimate": estimate,
                "std_error": half / 2,
                "lower": max(estimate - half, 0.0),
                "upper": estimate + half,
                "n_units": 285,
                "n_items": 285,
            }
        )
    frame = pd.DataFrame(rows)
    over = frame[(frame["judge_kind"] == "model") & (frame["metric"] == "accuracy")]
    over = over.assign(**{name: over[name] - 0.4 for name in ("estimate", "lower", "upper")})
    return Result(frame, "scores", settings=_settings(by), extra={"over_baseline": over})


def passes(by: Sequence[str] = ("language",)) -> Result:
    random = np.random.default_rng(2)
    keys: dict[str, Sequence[Any]] = {"judge": FEW, "task": list(TASKS)}
    if by:
        keys["language"] = LANGUAGES
    rows = []
    for row in _rows(keys):
        first, gain = random.uniform(0, 0.4), random.uniform(0, 0.08)
        for metric, sign in (("pass_at_k", 1), ("pass_all_k", -1), ("majority_of_k", 0.2)):
            for k in range(1, 6):
                value = float(np.clip(first + sign * gain * np.log(k), 0, 1))
                rows.append(
                    row
                    | {"prompt": TASKS[row["task"]], "metric": metric, "k": k, "estimate": value}
                    | {"lower": max(value - 0.03, 0), "upper": value + 0.03, "n_units": 285, "n_items": 285}
                )
    return Result(pd.DataFrame(rows), "passes", settings=_settings(by))


def confusion(labels: Sequence[str] = LABELS, judges: Sequence[str] = JUDGES) -> Result:
    random = np.random.default_rng(3)
    rows = []
    for judge in judges:
        for gold in labels:
            count = random.multinomial(60, random.dirichlet(np.full(len(labels) + 1, 0.3)))
            for predicted, n in zip([*labels, "no answer"], count, strict=True):
                rows.append((judge, "lines", "line", gold, predicted, int(n), n / 60))
    names = ["judge", "prompt", "task", "gold", "predicted", "n", "share"]
    return Result(pd.DataFrame(rows, columns=names), "confusion", settings=_settings(()))


def by_label(labels: Sequence[str] = LABELS, judges: Sequence[str] = JUDGES) -> Result:
    random = np.random.default_rng(4)
    rows = []
    for judge, label in product(judges, labels):
        ratio = float(np.exp(random.normal(0, 1.2))) if random.uniform() > 0.1 else 0.0
        recall = float(random.uniform(0, 0.6))
        rows.append(
            {"judge": judge, "prompt": "lines", "task": "line", "label": label, "precision": recall}
            | {"recall": recall, "f1": recall, "n_gold": 60, "n_answers": 60, "n_predicted": int(60 * ratio)}
            | {"ratio": ratio, "ratio_lower": ratio * 0.7, "ratio_upper": ratio * 1.4}
            | {"p": 0.01, "p_adjusted": 0.02 if abs(np.log(max(ratio, 0.01))) > 1 else 0.5}
        )
    return Result(pd.DataFrame(rows), "by_label", settings=_settings(()))


def robustness() -> Result:
    random = np.random.default_rng(5)
    rows = []
    conditions = ["orthographic", "drift", "preserving", "dialect"]
    for row in _rows({"judge": FEW, "task": list(TASKS), "condition": conditions}):
        delta = float(random.normal(-0.03, 0.03))
        rows.append(
            row
            | {"prompt": TASKS[row["task"]], "metric": "accuracy", "baseline": 0.3, "perturbed": 0.3 + delta}
            | {"estimate": delta, "std_error": 0.02, "lower": delta - 0.04, "upper": delta + 0.04}
            | {"p": 0.1, "p_adjusted": 0.4, "n_pairs": 285}
        )
    return Result(pd.DataFrame(rows), "robustness", settings=_settings(()))


def differences(judges: Sequence[str] = FEW) -> Result:
    random = np.random.default_rng(6)
    rows = []
    for i, left in enumerate(judges):
        for right in judges[i + 1 :]:
            for task in TASKS:
                delta = float(random.normal(0, 0.1))
                rows.append(
                    {"left": left, "right": right, "prompt": TASKS[task], "task": task, "metric": "accuracy"}
                    | {"estimate": delta, "std_error": 0.03, "lower": delta - 0.06, "upper": delta + 0.06}
                    | {"p": 0.01, "p_adjusted": 0.04, "test": "mcnemar", "n_pairs": 285}
                )
    return Result(pd.DataFrame(rows), "differences", settings=_settings(()))


def readings() -> Result:
    random = np.random.default_rng(7)
    rows = []
    for judge, rule in product(FEW, ["strict@1", "lenient@1"]):
        for prompt, form in (("joke", "label"), ("lines", "line_labels")):
            share = random.dirichlet([5, 0.2, 1, 1, 2])
            for status, part in zip(["ok", "refused", "empty", "truncated", "unparsed"], share, strict=True):
                rows.append((judge, prompt, f"{form}/{rule}", status, int(1430 * part), float(part)))
    names = ["judge", "prompt", "rule", "status", "n", "share"]
    return Result(pd.DataFrame(rows, columns=names), "readings", settings=_settings(()))


def harm() -> Result:
    random = np.random.default_rng(8)
    rows = []
    keys: dict[str, Sequence[Any]] = {
        "judge": [*FEW, "majority class", "random"],
        "modality": ["text", "image", "video"],
        "language": ["en", "ar", "universal"],
        "missing": ["wrong", "missing", "study"],
        "metric": ["accuracy", "balanced_accuracy", "recall_implicit", "recall_explicit"],
    }
    for row in _rows(keys):
        if row["modality"] == "text" and row["language"] == "universal":
            continue
        base = row["judge"] not in FEW
        estimate = 0.55 if base else float(random.uniform(0.3, 0.95))
        rows.append(
            row
            | {"judge_kind": "baseline" if base else "model", "prompt": row["modality"], "task": "harm"}
            | {"estimate": estimate, "std_error": 0.03, "lower": estimate - 0.05, "upper": estimate + 0.05}
            | {"n_units": 200, "n_items": 200}
        )
    covers = {"harmful": ["implicit", "explicit"], "safe": ["safe"]}
    settings = {**_settings(("modality", "language")), "covers": covers}
    return Result(pd.DataFrame(rows), "scores", settings=settings)


def _settings(by: Sequence[str]) -> dict[str, Any]:
    return {"by": list(by), "alpha": 0.05, "draws": 200, "seed": 1, "cluster": "item_id"}


def calibration(judges: Sequence[str] = FEW) -> Result:
    """Curves, bins and slopes of judges, each less extreme than the one before."""
    curves, bins, rows = [], [], []
    for k, judge in enumerate(judges):
        keys = {"judge": judge, "judge_kind": "model", "prompt": "", "task": "line", "event": "tag"}
        p = np.linspace(0.05, 0.95, 19)
        band = {"lower": np.maximum(p - 0.1, 0), "upper": np.minimum(p + 0.1, 1)}
        share = 0.5 + (p - 0.5) * (1 - 0.2 * k)
        curves.append(pd.DataFrame({"probability": p, "estimate": share, **band}).assign(**keys))
        bins.append(curves[-1].iloc[1::4].assign(n_answers=40))
        more = {
            "missing": "missing",
            "interval": "bootstrap",
            "n_units": 200,
            "n_items": 200,
            "n_clusters": 200,
        }
        for metric in ("calibration_slope", "calibration_in_the_large", "ece_debiased", "brier"):
            limits = {"estimate": 0.9 - 0.1 * k, "std_error": 0.1, "lower": 0.7 - 0.1 * k, "upper": 1.1}
            rows.append({**keys, "metric": metric, **limits, **more})
    extra = {"curve": pd.concat(curves, ignore_index=True), "bins": pd.concat(bins, ignore_index=True)}
    return Result(pd.DataFrame(rows), "calibration", settings={"by": [], "alpha": 0.05}, extra=extra)
