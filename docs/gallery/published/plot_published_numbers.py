"""
Can the numbers of published tables be true together?
=====================================================

Each bar is a kind of check on the numbers of published tables. Numbers that are not consistent as published
may be so under another definition, which the result names.
"""

from conjury.analysis.audit import check_tables
from conjury.inference.tables.files import PUBLISHED

names = ["harm_or_humor_counts", "harm_or_humor_agreement", "oogiri_correlations"]
figure = check_tables([PUBLISHED / f"{name}.csv" for name in names]).plot()
