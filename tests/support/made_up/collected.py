"""What sound studies of labels and ratings collect, in which tests break one thing at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.readers.collected import CollectedData

CLASSES = ("safe", "implicit", "explicit")
SENTENCE = (
    "walks into a bar and orders the smallest drink that they have because the day was long and nobody "
    "laughed at the story about the train which never came although everybody waited for it in the rain"
)
WORDS = SENTENCE.split()
SPANISH = (
    "El texto no es una broma sobre la familia, y por eso la etiqueta que se da con más frecuencia para los "
    "chistes de este tipo es la de una agresión que no se dice de forma directa."
)


def texts(n: int, rng: np.random.Generator, words: int = 14) -> list[str]:
    return [f"Item {k}: {' '.join(rng.choice(WORDS, words))}." for k in range(n)]


def items(n: int = 120, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "item_id": [f"i{k:04d}" for k in range(n)],
            "text": texts(n, rng),
            "language": rng.choice(["en", "es"], n),
        }
    ).astype("string")


def gold(frame: pd.DataFrame, seed: int = 2) -> pd.DataFrame:
    label = np.random.default_rng(seed).choice(CLASSES, len(frame), p=[0.5, 0.3, 0.2])
    return pd.DataFrame({"item_id": frame["item_id"], "label_set": "harm", "label": label}).astype("string")


def labels_given(
    gold_labels: pd.DataFrame,
    judges: tuple[str, ...] = ("m1", "m2"),
    samples: int = 2,
    right: float = 0.8,
    seed: int = 3,
) -> pd.DataFrame:
    """Labels of models that are right with a probability, else any class; a few are missing."""
    rng = np.random.default_rng(seed)
    parts = []
    for judge in judges:
        for sample in range(1, samples + 1):
            n = len(gold_labels)
            value = np.where(
                rng.random(n) < right, gold_labels["label"].to_numpy(dtype=object), rng.choice(CLASSES, n)
            )
            status = np.where(rng.random(n) < 0.02, "unparsed", "ok")
            parts.append(
                pd.DataFrame(
                    {
                        "judge_id": judge,
                        "judge_kind": "model",
                        "prompt_id": "baseline",
                        "item_id": gold_labels["item_id"],
                        "sample": sample,
                        "dimension": "harm",
                        "value": pd.Series(value, dtype="string").where(status == "ok"),
                        "status": status,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def ratings(n: int = 120, people: int = 5, models: int = 2, seed: int = 4, points: int = 5) -> pd.DataFrame:
    """Ratings on two dimensions by people and models who differ in severity and agree moderately."""
    rng = np.random.default_rng(seed)
    rows = []
    quality = rng.normal(size=n)
    for judge in [*(f"p{k}" for k in range(people)), *(f"m{k}" for k in range(models))]:
        for dimension in ("wit", "clarity"):
            latent = quality + rng.normal(0, 0.6) + rng.normal(size=n)
            value = np.clip(np.round(latent + (points - 1) / 2), 0, points - 1).astype(int)
            rows.append(
                pd.DataFrame(
                    {
                        "judge_id": judge,
                        "judge_kind": "human" if judge[0] == "p" else "model",
                        "prompt_id": pd.NA if judge[0] == "p" else "baseline",
                        "item_id": [f"i{k:04d}" for k in range(n)],
                        "sample": 1,
                        "dimension": dimension,
                        "value": value.astype(str),
                        "status": "ok",
                    }
                ).astype({"prompt_id": "string"})
            )
    return pd.concat(rows, ignore_index=True)


def responses(judgments: pd.DataFrame, seed: int = 5) -> pd.DataFrame:
    """A reasoned answer for each judgment of a model, different for every judge and sample."""
    rng = np.random.default_rng(seed)
    models = judgments[judgments["judge_kind"] == "model"].drop_duplicates(
        ["judge_id", "prompt_id", "item_id", "sample"]
    )
    reason = texts(len(models), rng, 18)
    return pd.DataFrame(
        {
            "study": "made_up",
            "judge_id": models["judge_id"].to_numpy(),
            "judge_kind": "model",
            "item_id": models["item_id"].to_numpy(),
            "prompt_id": models["prompt_id"].to_numpy(),
            "sample": models["sample"].to_numpy(),
            "text": [
                f"{why} The label is {value}."
                for why, value in zip(reason, models["value"].fillna("none"), strict=True)
            ],
            "finish_reason": "stop",
            "completion_tokens": 40,
            "model_returned": models["judge_id"]
            .map({"m1": "gpt-4o-2024-08-06", "m2": "qwen3-8b"})
            .to_numpy(),
            "system_fingerprint": pd.NA,
            "request_key": [f"k{k}" for k in range(len(models))],
            "created": pd.Timestamp("2026-01-05", tz="UTC")
            + pd.to_timedelta(np.arange(len(models)), unit="s"),
        }
    ).astype({"system_fingerprint": "string"})


def requests(answers: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    text = frame.set_index("item_id")["text"]
    return pd.DataFrame(
        {
            "request_key": answers["request_key"],
            "judge_id": answers["judge_id"],
            "prompt_id": answers["prompt_id"],
            "item_id": answers["item_id"],
            "sample": answers["sample"],
            "model": answers["judge_id"].map(MODELS),
            "temperature": 0.7,
            "top_p": 1.0,
            "seed": np.arange(len(answers)),
            "max_tokens": 200,
            "system": "Label the text as safe, implicit or explicit harm, with a reason.",
            "user": [f"Text: {text[item]}\nWhich label does this text have?" for item in answers["item_id"]],
        }
    )


MODELS = {"m1": "gpt-4o", "m2": "qwen3-8b"}
ASKED: dict[str, dict[str, Any]] = {
    judge: {"model": model, "temperature": 0.7, "top_p": 1.0, "max_tokens": 200}
    for judge, model in MODELS.items()
}


def collected(n: int = 120, seed: int = 1, **changed: Any) -> CollectedData:
    """A sound study of labels; ``changed`` replaces tables."""
    frame = items(n, seed)
    labels = gold(frame, seed + 1)
    judgments = labels_given(labels, seed=seed + 2)
    answers = responses(judgments, seed + 3)
    parts = {
        "items": frame,
        "labels": labels,
        "judgments": judgments,
        "responses": answers,
        "requests": requests(answers, frame),
        "asked": ASKED,
    }
    return CollectedData(**(parts | changed))
