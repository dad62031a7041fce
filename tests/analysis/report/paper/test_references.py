"""References of results: known once, in the bibliography, and those of the estimators' docstrings."""

from __future__ import annotations

import inspect
import re

import pytest

from conjury.analysis import conjoint, raters
from conjury.analysis.frames.kinds import kind_of, kinds
from conjury.analysis.pipeline.manifest import RecordedResult
from conjury.analysis.report.markup import read_bibliography
from conjury.analysis.report.paper.references import BIBLIOGRAPHY, OF_SETTINGS, cite, entries, works_of

DOCUMENTED = {
    "amce": conjoint.amce, "mm": conjoint.mm, "afcp": conjoint.afcp,
    "share_preferring": conjoint.share_preferring, "agreement": raters.agreement,
}  # fmt: skip


def test_every_reference_is_in_the_bibliography_with_authors_and_year() -> None:
    of_kinds = [kind.references for kind in kinds().values()]
    used = {key for keys in (*of_kinds, *OF_SETTINGS.values()) for key in keys}
    assert used <= set(entries())
    assert all(re.search(r"\(\d{4}\), \S", cite(key)) for key in used - {"holm1979"})


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_references_are_those_of_the_estimator(kind: str) -> None:
    text = inspect.getdoc(DOCUMENTED[kind]) or ""
    known = read_bibliography(BIBLIOGRAPHY)
    authors = [known[key]["author"].split(",")[0] for key in kind_of(kind).references]
    assert any(author in text for author in authors), (kind, authors)


def test_only_works_that_were_used_are_cited() -> None:
    plain = RecordedResult("amce", "amce", settings={"vcov": "CR2", "draws": None})
    assert works_of([plain]) == ["hainmueller2014", "pustejovsky2018"]
    drawn = RecordedResult("amce", "amce", settings={"vcov": "survey", "draws": 50, "id": "text, user"})
    assert set(works_of([drawn])) == {"hainmueller2014", "lumley2004", "efron1979", "cameron2011"}
    assert works_of([RecordedResult("frequencies", "cj_freqs")]) == []


SAMPLED = ["label_model", "rater_model", "dimension_model", "choice_model", "variance_components"]


@pytest.mark.parametrize("kind", ["scores", "means", "alt_test", "reliability", "mm_diffs", *SAMPLED])
def test_the_bootstrap_is_cited_where_data_were_resampled(kind: str) -> None:
    drawn = works_of([RecordedResult(kind, kind, settings={"draws": 1000})])
    assert ("efron1979" in drawn) == (kind not in SAMPLED)
    assert "efron1979" not in works_of([RecordedResult(kind, kind, settings={"draws": 0})])
    posterior = RecordedResult("amce", "amce", settings={"engine": "bayes", "draws": 1000})
    assert works_of([posterior]) == ["hainmueller2014"]


def test_covariates_are_not_prediction_powered() -> None:
    adjusted = RecordedResult("a", "prediction_powered", settings={"correct": "covariate", "slopes": "level"})
    assert works_of([adjusted]) == ["lin2013"]
    tuned = RecordedResult("a", "prediction_powered", settings={"correct": "ppi", "tuning": "coefficient"})
    assert set(works_of([tuned])) == {"kluger2025", "angelopoulos2023"}
    items = RecordedResult("a", "prediction_powered_items", settings={"correct": "ppi", "tuning": "none"})
    assert works_of([items]) == ["kluger2025"]
