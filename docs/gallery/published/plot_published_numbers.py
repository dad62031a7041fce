"""
Can the numbers of published tables be true together?
=====================================================

Each bar is a kind of check. Most numbers are consistent as printed; of the others the report states the
nearest numbers that are possible.
"""

from conjury.analysis.audit import check_tables

figure = check_tables(["harm_or_humor_counts", "harm_or_humor_agreement", "oogiri_means"]).plot()
