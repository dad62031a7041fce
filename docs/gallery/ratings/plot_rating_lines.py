"""
How does a model's rating increase with that of people?
=======================================================

Each point is a response. A line that is flatter than the diagonal means that the model distinguishes less
between good and bad responses than people do.
"""

from conjury.analysis.raters import rating_lines
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
simulated = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
options = {"dimensions": "funniness", "by": "modality", "cluster": "topic_id", "draws": 200}
figure = rating_lines(simulated.judgments, simulated.items, **options).plot(labels=study)
