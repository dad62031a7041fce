"""The data from which R made the reference tables, and those tables of preferences."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
PREFERENCES = FIXTURES / "preferences"


@cache
def _table(name: str) -> pd.DataFrame:
    frame = pd.read_csv(FIXTURES / "data" / f"{name}.csv")
    levels = pd.read_csv(FIXTURES / "data" / f"{name}.levels.csv", dtype=str).groupby("column", sort=False)[
        "level"
    ]
    return frame.assign(**{column: pd.Categorical(frame[column], list(own)) for column, own in levels})


def posts() -> pd.DataFrame:
    return _table("posts").copy()


def complete_posts() -> pd.DataFrame:
    """The posts without a missing value, as the packages of R take them."""
    return posts().dropna(subset=["chosen", "tone", "topic", "author", "reply"])


def stimuli() -> pd.DataFrame:
    return _table("stimuli").copy()


def preference_choices() -> pd.DataFrame:
    """The choices from which R made the reference tables of preferences."""
    frame = pd.read_csv(PREFERENCES / "choices.csv")
    tones = pd.Categorical(frame["tone"], ["calm", "sharp", "rude", "mild"])
    return frame.assign(tone=tones, topic=pd.Categorical(frame["topic"]))


def preference_reference(name: str) -> pd.DataFrame:
    """A reference table of preferences made by R."""
    return pd.read_csv(PREFERENCES / f"{name}.csv")
