"""Draws people beside a model from numbers that ship: ``python docs/project/paper_figure.py``."""

from pathlib import Path

import pandas as pd

from conjury.analysis.audit import published_numbers
from conjury.analysis.figures.labels import resolve_labels
from conjury.analysis.results import Result
from conjury.inference.study import load_study

HERE = Path(__file__).parent
FRONT = HERE.parents[1] / ".github"  # of the README and the first page of the site
JUDGES = ["human", "gpt4o"]

study = load_study("moderation")
labels = {**resolve_labels(study), "human": "People", ("judges", "human"): "People"}
published = published_numbers("moderation").astype({"judge": str, "feature": str, "level": str})
references = pd.DataFrame(
    [
        {"judge": judge, "feature": part.id, "level": part.levels[0].id, "estimate": 0.0}
        for part in study.attributes
        for judge in JUDGES
    ]
)
effects = pd.concat([references, published[published["judge"].isin(JUDGES)]], ignore_index=True)
effects = effects.assign(statistic="amce", outcome="chosen")
figure = Result(effects, "amce").plot(title="", labels=labels)
figure.savefig(HERE / "paper.png", dpi=150)

for theme in ("light", "dark"):
    front = Result(effects[effects["feature"].isin(["identity", "topic"])], "amce").plot(
        title="People spare posts by Black men; GPT-4o flags posts about politics",
        labels=labels,
        subtitle="Change in the probability that a moderator sees a post first. Lines: 95% intervals",
        theme=theme,
    )
    front.savefig(FRONT / f"front-{theme}.png", dpi=200)
