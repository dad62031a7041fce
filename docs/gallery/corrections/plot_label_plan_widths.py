"""
How narrow can a model make the intervals of 100 people?
========================================================

The limit of each effect is reached with infinitely many tasks of the model. A correlation of 0.3 saves hardly
anything, and one of 0.8 almost half of the width.
"""

import pandas as pd

from conjury.analysis.correction import label_plan

measured = pd.DataFrame(
    {"feature": "Insult", "level": ["Sexist", "Homophobic", "Racist"], "rho": [0.3, 0.5, 0.8], "sd": 0.45}
)
figure = label_plan(measured, people=[100], tasks=10, other=5000).plot()
