"""Cases of sentences on simulations."""

from __future__ import annotations

import re

import numpy as np
from scipy.stats import binom

from conjury.analysis.frames.rounding import percentage
from conjury.analysis.report.sentences import missing_sentences, simulation_sentences
from conjury.analysis.report.table_format import number
from sentence_cases.drawing import Draws, case, frame, is_missing


@case("recovered_in_words")
def recovered(draws: Draws) -> str:
    n = draws.size()
    inside, booted, levels = draws.shares(n), draws.shares(n), draws.counts(n)
    error = np.abs(draws.numbers(n, missing=False))
    table = frame(in_normal=inside, in_bootstrap=booted, n_levels=levels, max_abs_error=error)
    text = simulation_sentences.recovered_in_words(simulation_sentences.average_coverage(table, ""))
    values = [k for k in range(n) if not is_missing(inside[k])]
    total = sum(levels[k] for k in values)
    assert (text == "") == (total == 0)
    if total:
        share = sum(inside[k] * levels[k] for k in values) / total
        assert text.startswith(f"Of {total} estimate")
        assert f"{percentage(share, 1)} have their true value" in text
        assert f"largest error is {number(max(error))}" in text
    return text


@case("rarely_in_words")
@case("inside_in_words")
def inside(draws: Draws) -> str:
    names = draws.names(draws.size(), "quantity")
    of = draws.counts(len(names), 3000)
    hits = [int(draws.one([0, n, max(n - 1, 0), n // 2])) for n in of]
    counts = tuple((name, k, int(n)) for name, k, n in zip(names, hits, of, strict=True))
    text = simulation_sentences.inside_in_words(simulation_sentences.CoverageShares(counts))
    for name, k, n in counts:
        assert (f"{name} " in text) == (n > 0)
        assert not n or (f"{name} 100%" in text) == (k == n)
        assert not n or (f"{name} 0%" in text) == (k == 0)
    low = missing_sentences.find_low_coverage(counts, 0.95)
    rare = missing_sentences.rarely_in_words(low)
    assert {name for name, *_ in low.groups} == {
        name for name, k, n in counts if n and k < n and binom.cdf(k, n, 0.95) * sum(of > 0) < 0.01
    }
    assert all(f"{k} of {n} intervals of {name} contain them" in rare for name, k, n in low.groups[:4])
    return f"{text} {rare}".strip()


@case("covering_in_words")
def covering(draws: Draws) -> str:
    n = draws.size()
    methods = draws.names(n, "method", 3)
    coverage = np.array([draws.one([0.95, 0.93, 0.5, 1.0]) for _ in range(n)])
    table = frame(method=methods, estimate=coverage, draws=draws.counts(n, 500) + 100, failures=0)
    text = simulation_sentences.covering_in_words(
        simulation_sentences.count_low_coverage(table, draws.one(["", "Texts"]), 0.95)
    )
    for method in set(methods):
        mine = table[table["method"] == method]
        low = sum(
            row.estimate < 0.95 - 2 * (0.95 * 0.05 / row.draws) ** 0.5 for row in mine.itertuples(index=False)
        )
        assert re.search(rf"{method} {low} of {len(mine)} \({min(mine['estimate']):.2f} to ", text)
    return text
