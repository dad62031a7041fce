"""
How many people does a study with a model need?
===============================================

Lines show the power for an effect of five percentage points from people alone and with the help of a model.
The gain depends on rho, the correlation between the contributions of people and of the model.
"""

import pandas as pd

from conjury.analysis.correction import label_plan

measured = pd.DataFrame(
    {"feature": "Insult", "level": ["Sexist", "Homophobic", "Racist"], "rho": [0.3, 0.5, 0.8], "sd": 0.45}
)
plan = label_plan(measured, tasks=10, other=5000, effect=0.05)
figure = plan.plot()
