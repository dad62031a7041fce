"""What ``correct`` and the options of a verb mean: one record per method."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from made_up.corrections import BY_RECORD, CORRECTIONS

from conjury.analysis.correction import CovariateAdjustment, DesignBased, PredictThenDebias, SwappingErrors
from conjury.analysis.correction.correction_methods import ALL_METHODS, correction_of
from conjury.inference.errors import InputError


@pytest.mark.parametrize(
    ("correct", "options", "method"),
    [
        (None, {}, None),
        ("ppi", {}, PredictThenDebias()),
        ("ppi", {"model": ["a", "b"], "folds": 2}, PredictThenDebias(model=["a", "b"], folds=2)),
        (["reliability", "ppi"], {"seed": 0}, PredictThenDebias(seed=0, reliability=True)),
        (("ppi", "reliability"), {}, PredictThenDebias(reliability=True)),
        ("dsl", {"human": "panel", "seed": 2}, DesignBased("panel", seed=2)),
        ("covariate", {"model": "gpt"}, CovariateAdjustment(model="gpt")),
        (0.1, {}, SwappingErrors(0.1)),
        ("by_level", {}, SwappingErrors("by_level")),
        ("reliability", {}, SwappingErrors()),
        (DesignBased("panel"), {}, DesignBased("panel")),
    ],
)
def test_strings_numbers_and_lists_mean_one_record(
    correct: Any, options: dict[str, Any], method: object
) -> None:
    assert correction_of(correct, options, ALL_METHODS) == method


@pytest.mark.parametrize(
    ("correct", "options", "says"),
    [
        (
            "ppi",
            {"draws": 2},
            "There is no option 'draws'; with correct='ppi' there are human, model, tuning",
        ),
        (None, {"model": "gpt"}, "model applies to correct='ppi'; give both"),
        (0.1, {"model": "gpt"}, "model applies to correct='ppi'; give both"),
        ("dsl", {"tuning": "scalar"}, "correct='dsl' has no weights to tune; omit tuning"),
        (PredictThenDebias(), {"folds": 2}, r"folds has no effect beside PredictThenDebias\(...\)"),
        (["ppi", "by_level"], {}, r"give 'ppi' or 'covariate' or 'dsl' or \['ppi', 'reliability'\], or omit"),
    ],
)
def test_what_means_no_method_is_refused(correct: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        correction_of(correct, options, ALL_METHODS)


@pytest.mark.parametrize("correct", [0.1, "dsl", ["ppi", "reliability"], DesignBased()])
def test_a_verb_takes_what_it_offers(correct: Any) -> None:
    with pytest.raises(InputError, match="give 'ppi', or omit it"):
        correction_of(correct, {})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BY_RECORD)
def test_a_record_gives_the_numbers_of_its_string(name: str) -> None:
    by_record, by_string = BY_RECORD[name](), CORRECTIONS[name]()
    pd.testing.assert_frame_equal(by_record.frame, by_string.frame)
    assert by_record.settings == by_string.settings
