"""Made-up choices between profiles, with known effects, preferences and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy.special import expit

from conjury.inference.collecting.run_tables import choices_from_judgments
from conjury.inference.design.run_design import DrawnDesign, draw_design
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_study

LEVELS = {"tone": ["kind", "rude"], "topic": ["art", "law", "sport"], "author": ["ada", "ben", "cem", "dia"]}
UTILITY = {"tone": [0, 0.8], "topic": [0, 0.3, -0.4], "author": [0, 0.2, 0.5, -0.3]}
FORMULA = "chosen ~ tone + topic + author"
Levels = Mapping[str, Sequence[str]]
# of the level codes of two profiles, each {attribute: (T,)}: probability that the first is chosen, (T,)
Choice = Callable[[Mapping[str, np.ndarray], Mapping[str, np.ndarray]], np.ndarray]
HOTEL_LEVELS = {
    "price": ("low", "fair", "mid", "high"),
    "meal": ("none", "breakfast", "all"),
    "place": ("edge", "centre", "beach"),
    "pool": ("without", "small", "large"),
}
HOTEL_FORMULA = "chosen ~ price + meal + place + pool"
HOTEL_STUDY = """\
name: hotels
title: Which hotel would you book?
kind: conjoint
question: Which of the two hotels would you book?
design: {pairs: 600, respondents: 1, tasks: 8}
prompts:
  - {id: plain, label: Plain, template: system.j2, user: user.j2}
judges:
  - {id: fake, label: Fake model, kind: model, ask: {model: fake, settings: {temperature: 0}}}
analyses:
  - {name: amce, verb: amce, title: Effects, formula: chosen ~ price + meal + place + pool}
"""


def forced_choices(
    levels: Mapping[str, Sequence[str]], codes: Mapping[str, np.ndarray], first: Any, **columns: Any
) -> pd.DataFrame:
    """Levels by their codes, (..., 2) for each attribute, and whether the first profile is chosen, (...)."""
    first = np.ravel(first).astype(bool)
    table: dict[str, Any] = {
        "pair_id": np.repeat(np.arange(first.size), 2),
        "position": np.tile(["A", "B"], first.size),
        "chosen": np.stack([first, ~first], axis=-1).ravel().astype(int),
    }
    for name, own in levels.items():
        table[name] = pd.Categorical.from_codes(np.ravel(codes[name]), list(own))
    return pd.DataFrame(table).assign(**columns)


def crossed_choices(
    pairs: int = 200,
    *,
    lean: float = 0.0,
    effect: float = 1.0,
    prompts: Sequence[str] = ("plain", "long"),
    samples: int = 1,
    by_prompt: float = 0.0,
    seed: int = 1,
) -> pd.DataFrame:
    """Choices of a model, every pair in both orders under each prompt.

    On the logit scale the first profile has ``lean`` more, and a kind one ``effect`` more than a rude one,
    plus ``by_prompt`` under every prompt but the first.
    """
    rng = np.random.default_rng(seed)
    tone, length = rng.integers(0, 2, (pairs, 2)), rng.integers(0, 2, (pairs, 2))
    rows = []
    for k, prompt in enumerate(prompts):
        weight = effect + by_prompt * (k > 0)
        for order in ("given", "swapped"):
            shown = tone if order == "given" else tone[:, ::-1]
            sides = length if order == "given" else length[:, ::-1]
            ids = np.arange(2 * pairs).reshape(pairs, 2)
            ids = ids if order == "given" else ids[:, ::-1]
            for sample in range(samples):
                p = expit(lean + weight * (shown[:, 0] - shown[:, 1]))
                first = rng.random(pairs) < p
                for side, position in enumerate("AB"):
                    rows.append(
                        pd.DataFrame(
                            {
                                "pair_id": [f"p{i:04d}" for i in range(pairs)],
                                "prompt_id": prompt,
                                "option_order": order,
                                "sample": sample,
                                "position": position,
                                "profile_id": ids[:, side],
                                "tone": np.where(shown[:, side] == 1, "kind", "rude"),
                                "length": np.where(sides[:, side] == 1, "long", "short"),
                                "chosen": np.where(first, 1 - side, side),
                            }
                        )
                    )
    table = pd.concat(rows, ignore_index=True)
    table["judge_id"], table["judge_kind"] = "gpt", "model"
    categories = {"tone": ["rude", "kind"], "length": ["short", "long"]}
    for name, levels in categories.items():
        table[name] = pd.Categorical(table[name], levels)
    return table


def in_both_orders(pairs: int = 60) -> pd.DataFrame:
    """Choices of a model that is asked every pair in both orders and prefers the first position."""
    given = model_and_people(pairs, 5, 6)[0].assign(sample=1)
    swapped = given.assign(
        position=given["position"].astype("string").map({"A": "B", "B": "A"}).astype(given["position"].dtype),
        sample=given["sample"] + 1,
    )
    flip = np.repeat(np.random.default_rng(1).random(len(given) // 2) < 0.5, 2)
    swapped["chosen"] = swapped["chosen"].where(~flip, 1 - swapped["chosen"])
    return pd.concat([given.assign(option_order="given"), swapped.assign(option_order="swapped")])


@cache
def model_and_people(pairs: int = 600, people: int = 30, each: int = 5) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Choices of gpt4o on all pairs, and of a panel ``people`` on the first ones, alike in four of five."""
    study, random = load_study("moderation"), np.random.default_rng(1)
    models = simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=pairs, truth=False).choices
    shown = models.head(2 * people * each).reset_index(drop=True)
    names = [f"person_{k % people:02d}" for k in range(people * each)]
    other = np.repeat(random.random(people * each) < 0.2, 2)
    panel = shown.assign(
        judge_id=pd.array(np.repeat(names, 2), dtype="string"),
        judge_kind=pd.Categorical(["human"] * len(shown), categories=["human", "model"]),
        prompt_id=pd.array([pd.NA] * len(shown), dtype="string"),
        panel=pd.array(["people"] * len(shown), dtype="string"),
        chosen=shown["chosen"].where(~other, 1 - shown["chosen"]),
    )
    return models, panel


def bent_ratings(
    seed: int, *, people: int = 30, tasks: int = 8, other: int = 400, rare: float | None = None
) -> pd.DataFrame:
    """Ratings of both profiles by people, or with ``rare`` whether they are above it, and by a bent model."""
    rng = np.random.default_rng(seed)
    seen, n = people * tasks, people * tasks + other
    kind = rng.integers(0, 2, (n, 2))
    quality = 0.6 * kind + rng.normal(size=(n, 2))
    noisy = quality + rng.normal(0, 0.4, (n, 2)) + 0.3 * kind
    rated = quality[:seen] + rng.normal(0, 0.3, (seen, 2))
    who = np.repeat([f"p{k}" for k in range(people)], tasks)

    def rows(values: np.ndarray, judge: Any, name: str) -> pd.DataFrame:
        pairs = np.repeat(np.arange(len(values)), 2)
        return pd.DataFrame(
            {
                "judge_id": judge, "judge_kind": name, "pair_id": pairs,
                "position": ["A", "B"] * len(values), "score": values.ravel(),
                "tone": pd.Categorical.from_codes(kind[: len(values)].ravel(), ["rude", "kind"]),
            }
        )  # fmt: skip

    model = rows(1 / (1 + np.exp(-3 * noisy - 2.5)), "gpt", "model")
    of_people = rated if rare is None else (rated > rare).astype(float)
    return pd.concat([rows(of_people, np.repeat(who, 2), "human"), model], ignore_index=True)


def panel_and_model(
    seed: int = 1,
    *,
    people: int = 30,
    tasks: int = 10,
    other: int = 1000,
    rho: float = 0.6,
    taste: float = 0.3,
    repeats: bool = False,
    tau: float = 0.0,
) -> pd.DataFrame:
    """A table of choices; ``rho`` correlates people's and the model's errors, ``taste`` differs by person.

    With ``tau`` people's answers are flipped at random, and with ``repeats`` each task is repeated, swapped.
    """
    rng = np.random.default_rng(seed)
    seen, n = people * tasks, people * tasks + other
    codes = {name: rng.integers(0, len(levels), (n, 2)) for name, levels in LEVELS.items()}
    utility = sum(np.array(UTILITY[name])[code] for name, code in codes.items())
    advantage = utility[:, 0] - utility[:, 1]
    who = np.repeat(np.arange(people), tasks)
    own = rng.normal(0, taste, (people, 2))[who]
    rude = codes["tone"] == 1
    law = codes["topic"] == 1
    moved = own[:, 0] * (rude[:seen, 0] * 1.0 - rude[:seen, 1]) + own[:, 1] * (
        law[:seen, 0] * 1.0 - law[:seen, 1]
    )
    errors = rng.normal(size=(2, n))
    errors[1] = rho * errors[0] + np.sqrt(1 - rho**2) * errors[1]
    person = advantage[:seen] + moved + errors[0, :seen] > 0
    model = 0.7 * advantage + 0.3 + errors[1] > 0

    def rows(number: np.ndarray, first: np.ndarray, judge: np.ndarray, kind: str) -> pd.DataFrame:
        table = {
            "judge_id": np.repeat(judge, 2),
            "judge_kind": kind,
            "panel": "human" if kind == "human" else None,
            "pair_id": [f"pair_{k:05d}" for k in np.repeat(number, 2)],
            "position": np.tile(["A", "B"], len(number)),
            "chosen": np.column_stack([first, ~first]).ravel().astype(float),
        }
        for name, levels in LEVELS.items():
            table[name] = pd.Categorical.from_codes(codes[name][number].ravel(), levels)
        return pd.DataFrame(table)

    names = np.array([f"human_{k:04d}" for k in who])
    shown = np.arange(seen)
    human = rows(shown, person ^ (rng.random(seen) < tau), names, "human").assign(
        repeat=False, repeat_of=None
    )
    parts = [human]
    if repeats:
        again = rows(shown, person ^ (rng.random(seen) < tau), names, "human")
        again = again.assign(
            position=np.where(again["position"] == "A", "B", "A"),
            repeat=True,
            repeat_of=again["pair_id"],
            pair_id=again["pair_id"] + "_swapped",
        )
        parts.append(again)
    parts.append(rows(np.arange(n), model, np.repeat("gpt", n), "model").assign(repeat=False, repeat_of=None))
    return pd.concat(parts, ignore_index=True)


def tasks(levels: Levels, choice: Choice, n_tasks: int, seed: int, per_judge: int = 10) -> pd.DataFrame:
    """One row per profile, with levels drawn uniformly."""
    random = np.random.default_rng(seed)
    sides = [{name: random.integers(len(own), size=n_tasks) for name, own in levels.items()} for _ in "AB"]
    first = random.random(n_tasks) < choice(*sides)
    task = np.arange(n_tasks)
    tables = [
        pd.DataFrame(
            {
                "judge_id": task // per_judge,
                "pair_id": task,
                "position": position,
                "chosen": chosen.astype(float),
            }
        ).assign(**{name: pd.Categorical.from_codes(side[name], list(own)) for name, own in levels.items()})
        for position, side, chosen in zip("AB", sides, (first, ~first), strict=True)
    ]
    return pd.concat(tables).sort_values(["pair_id", "position"], ignore_index=True)


def profiles_with_gaps(n: int = 3_000, seed: int = 1) -> pd.DataFrame:
    """Profiles of respondents and texts, with missing outcomes, features and groups."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "a": rng.choice(["x", "y", "z"], n),
            "b": rng.choice(["it's", 'a "b"'], n),
            "c": rng.random(n) < 0.4,
            "g": rng.choice(["m", "f"], n),
            "respondent": rng.integers(0, 150, n),
            "text": rng.choice([f"t{k}" for k in range(40)], n),
            "w": rng.choice([0.0, 0.5, 1.0, 2.3], n),
        }
    )
    data["y"] = (rng.random(n) < 0.4 + 0.1 * (data["a"] == "y")).astype(float)
    data.loc[rng.random(n) < 0.05, "y"] = np.nan
    data.loc[rng.random(n) < 0.02, ["a", "g"]] = None
    data["score"] = data["y"] + rng.normal(size=n)
    return data


def write_hotels(folder: Path) -> Study:
    """Write the study into a folder and read it."""
    folder.mkdir(parents=True, exist_ok=True)
    named = {id: [{"id": one, "label": one.capitalize()} for one in own] for id, own in HOTEL_LEVELS.items()}
    parts = [{"id": id, "label": id.capitalize(), "levels": own} for id, own in named.items()]
    text = HOTEL_STUDY + yaml.safe_dump({"attributes": parts}, sort_keys=False)
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    (folder / "system.j2").write_text("Reply with {{ options[0] }} or {{ options[1] }}.\n", encoding="utf-8")
    (folder / "user.j2").write_text("{{ question }}\n{{ A }}\n{{ B }}\n", encoding="utf-8")
    return load_study(str(folder / "study.yaml"))


def hotel_design(study: Study, swapped_share: float = 0.1, pairs: int = 600) -> DrawnDesign:
    """Pairs of which at least one that is repeated was drawn before with its positions exchanged."""
    return draw_design(study, pairs, swapped_share, seed=3)


def hotels_drawn_twice(tasks: pd.DataFrame) -> int:
    """Repeats that show an earlier drawn pair, other than their own, in the same positions."""
    shown = tasks.pivot(index="task_id", columns="position", values="profile_id").astype(int)
    first = tasks.drop_duplicates("task_id").set_index("task_id")
    marked = first["repeat"].astype(bool).reindex(shown.index)
    again = shown[marked]
    others = shown[~marked].reset_index(drop=True)
    return int(
        again.apply(
            lambda row: bool(((others["A"] == row["A"]) & (others["B"] == row["B"])).any()), axis=1
        ).sum()
    )


def hotel_choices(study: Study, design: DrawnDesign, agreeing: int) -> pd.DataFrame:
    """Choices of one model, of whose repeats a given number name the same profile as the first time."""
    rng = np.random.default_rng(1)
    shown = design.tasks.pivot(index="task_id", columns="position", values="profile_id").astype(int)
    names = list(design.tasks["task_id"].unique())
    worth = design.profiles.set_index("profile_id")
    utility = sum(
        worth[a.id].cat.codes * w for a, w in zip(study.attributes, (-0.4, 0.3, 0.3, 0.2), strict=True)
    )
    advantage = utility.loc[shown.loc[names, "A"]].to_numpy() - utility.loc[shown.loc[names, "B"]].to_numpy()
    picked = dict(zip(names, advantage + rng.logistic(size=len(names)) > 0, strict=True))
    repeats = [name for name in names if name.endswith("_swapped")]
    agree = rng.permutation(np.arange(len(repeats)) < agreeing)
    for name, same in zip(repeats, agree, strict=True):
        picked[name] = picked[name.removesuffix("_swapped")] != same
    judgments = pd.DataFrame(
        {
            "judge_id": "fake",
            "judge_kind": "model",
            "prompt_id": "plain",
            "task_id": pd.array(names, dtype="string"),
            "sample": 0,
            "value": np.where([picked[name] for name in names], "A", "B"),
            "status": "ok",
            "probability": np.nan,
            "origin": "simulated",
        }
    )
    return choices_from_judgments(judgments, design.tasks, design.profiles, ["A", "B"])
