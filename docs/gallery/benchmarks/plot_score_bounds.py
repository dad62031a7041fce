"""
How low could accuracy be, had all items been answered?
=======================================================

The bars extend from all missing answers wrong to all of them right, and the dashed lines add sampling error.
Models with many missing answers have wide bars.
"""

from conjury.analysis.benchmark import bounds, score
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("multiturn")
judges = ["qwen3_32b", "olmo3_1_32b", "qwen3_8b", "falcon3_10b"]
simulated = simulate_labels(study, seed=1, items=100, judges=judges)
judgments = simulated.judgments.query("dimension == 'joke_type'")
scored = score(judgments, simulated.labels, items=simulated.items).of(condition="none")
figure = bounds(scored, metrics=["accuracy"], draws=200).plot(labels=study)
