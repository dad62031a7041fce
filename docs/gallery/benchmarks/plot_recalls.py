"""
Which kinds of harm do models overlook?
=======================================

Each colour is a kind of gold label, and the points are the shares of such texts that a model detects. An
overall accuracy does not show which kind a model misses.
"""

from conjury.analysis.benchmark import score, scores
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("harm_or_humor")
judges = ["gpt_4o", "gemini_3_pro", "gpt_5_2"]
simulated = simulate_labels(study, seed=1, items=600, judges=judges)
judgments = simulated.judgments.query("prompt_id == 'text'")
scored = score(judgments, simulated.labels, covers=study.gold.covers, items=simulated.items)
figure = scores(scored, missing=["wrong"], draws=200).plot(part="recalls", labels=study)
