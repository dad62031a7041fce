"""Choices of people, and of a model on their tasks and on more, with known utilities."""

import numpy as np
import pandas as pd

LEVELS = {"tone": ["kind", "rude"], "topic": ["art", "law", "sport"], "author": ["ada", "ben", "cem", "dia"]}
UTILITY = {"tone": [0, 0.8], "topic": [0, 0.3, -0.4], "author": [0, 0.2, 0.5, -0.3]}
FORMULA = "chosen ~ tone + topic + author"


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
