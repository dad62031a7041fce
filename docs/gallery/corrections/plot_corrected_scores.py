"""
How accurate is a judge, estimated from few labels by people?
=============================================================

People labelled a quarter of the texts. Labels by another model make the estimated scores more precise,
although they are not treated as correct; alone they would be misleading.
"""

from conjury.analysis.benchmark import score, scores
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("harm_or_humor")
simulated = simulate_labels(study, seed=1, items=900, judges=["gpt_4o", "gemini_3_pro"])
judgments = simulated.judgments.query("prompt_id == 'text'")
labels = simulated.labels.replace({"label": {"explicit": "harmful", "implicit": "harmful"}})
few = labels[labels["item_id"].isin(labels["item_id"].sample(frac=0.25, random_state=1))]
judged, other = (judgments[judgments["judge_id"] == name] for name in ("gpt_4o", "gemini_3_pro"))
other = other.rename(columns={"dimension": "label_set", "value": "label"}).dropna(subset="label")
options = {"metrics": ["accuracy", "macro_f1"], "missing": ["wrong"]}
model = {"gemini_3_pro": score(judged, other)}
figure = scores(score(judged, few), correct="ppi", model=model, **options).plot(labels=study)
