"""
How accurate is a judge, from few labels of people?
===================================================

People labelled a quarter of the items. Labels by a second model make the estimated scores more precise; they
do not replace those of people, and alone they would mislead.
"""

from conjury.analysis.benchmark import score, scores
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("harm_or_humor")
simulated = simulate_labels(study, seed=1, items=400, judges=["human", "gpt_4o", "gemini_3_pro"])
judgments, labels = simulated.judgments, simulated.labels
few = labels[labels["item_id"].isin(labels["item_id"].sample(frac=0.25, random_state=1))]
judged = judgments[judgments["judge_id"] == "gpt_4o"]
other = judgments[judgments["judge_id"] == "gemini_3_pro"].rename(columns={"dimension": "label_set"})
model = score(judged, other.rename(columns={"value": "label"}).dropna(subset="label"))
options = {"metrics": ["accuracy", "macro_f1"], "missing": ["wrong"]}
figure = scores(score(judged, few), correct="ppi", model=model, **options).plot(labels=study)
