"""Draws the figure of paper.md from numbers that ship: ``python docs/project/paper_figure.py``."""

from pathlib import Path

from conjury.analysis.audit import published_numbers
from conjury.analysis.results import Result
from conjury.inference.study import load_study

study = load_study("moderation")
published = published_numbers("moderation").astype({"judge": str, "feature": str, "level": str})
rows = published[published["judge"].isin(["human", "gpt4o"])].assign(statistic="amce")
figure = Result(rows.reset_index(drop=True), "amce").plot(title="", labels=study)
figure.savefig(Path(__file__).with_name("paper.png"), dpi=150)
