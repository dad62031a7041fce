"""
Does it matter how missing answers count?
=========================================

Some models refuse to label some texts. Where these answers count as wrong, such models score lower than where
they are excluded, and the order of models can change.
"""

from conjury.analysis.benchmark import score, scores
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("harm_or_humor")
judges = ["gpt_4o", "gemini_3_pro", "human"]
simulated = simulate_labels(study, seed=1, items=300)
scored = score(simulated.judgments, simulated.labels, items=simulated.items, policy=study.missing)
figure = scores(scored, metrics=["accuracy"], draws=200).plot(part="policies", labels=study)
