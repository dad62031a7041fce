"""A small study of hotels: 108 profiles, so that some pairs are drawn twice by chance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from conjury.inference.collecting.run_tables import choices_from_judgments
from conjury.inference.design.drawn import DrawnDesign, draw_design
from conjury.inference.study import Study, load_study

LEVELS = {
    "price": ("low", "fair", "mid", "high"),
    "meal": ("none", "breakfast", "all"),
    "place": ("edge", "centre", "beach"),
    "pool": ("without", "small", "large"),
}
FORMULA = "chosen ~ price + meal + place + pool"
STUDY = """\
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


def hotels(folder: Path) -> Study:
    """Write the study into a folder and read it."""
    folder.mkdir(parents=True, exist_ok=True)
    named = {id: [{"id": one, "label": one.capitalize()} for one in own] for id, own in LEVELS.items()}
    parts = [{"id": id, "label": id.capitalize(), "levels": own} for id, own in named.items()]
    text = STUDY + yaml.safe_dump({"attributes": parts}, sort_keys=False)
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    (folder / "system.j2").write_text("Reply with {{ options[0] }} or {{ options[1] }}.\n", encoding="utf-8")
    (folder / "user.j2").write_text("{{ question }}\n{{ A }}\n{{ B }}\n", encoding="utf-8")
    return load_study(str(folder / "study.yaml"))


def design_of(study: Study, swapped_share: float = 0.1, pairs: int = 600) -> DrawnDesign:
    """Pairs of which at least one that is repeated was drawn before with its positions exchanged."""
    return draw_design(study, pairs, swapped_share, seed=3)


def drawn_twice(tasks: pd.DataFrame) -> int:
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


def choices_of(study: Study, design: DrawnDesign, agreeing: int) -> pd.DataFrame:
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
