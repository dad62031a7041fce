"""The section ``instrument`` of a study file: what it accepts, and sentences for what contradicts itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cases import cases
from fakes.studies import LABELS, RATINGS, items, towns, write_study

from conjury.inference.errors import InputError
from conjury.inference.study import load_any_study

FULL = cases(__file__, "full")[0]


def load(folder: Path, content: dict[str, Any], instrument: dict[str, Any]) -> Any:
    return load_any_study(write_study(folder, content | {"instrument": instrument}))


def test_an_instrument_is_loaded_and_its_samples_are_those_of_every_judge(tmp_path):
    study = load(tmp_path, towns(), FULL)
    assert study.instrument.fraction == 0.5
    assert study.instrument.swaps
    assert {judge.ask.samples for judge in study.judges if judge.ask is not None} == {2}
    assert [prompt.id for prompt in study.instrument_prompts] == ["plain", "strict"]


@pytest.mark.parametrize(("changes", "sentence"), cases(__file__, "contradictions"))
def test_contradictions_are_refused_with_the_line_and_a_remedy(tmp_path, changes, sentence):
    with pytest.raises(InputError, match=r"study\.yaml:\d+: ") as refused:
        load(tmp_path, towns(), changes)
    assert sentence in str(refused.value)


def test_facets_that_the_form_of_answers_lacks_are_refused(tmp_path):
    ratings = items(RATINGS)
    with pytest.raises(InputError, match="option_labels: only a choice has two options"):
        load(tmp_path / "a", ratings, {"facets": {"option_labels": ["letters", "numbers"]}})
    with pytest.raises(InputError, match="option_order: only choices and labels have options"):
        load(tmp_path / "b", ratings, {"facets": {"option_order": ["given", "swapped"]}})
    with pytest.raises(InputError, match="vacuum_pairs: only a conjoint of pairs has pairs"):
        load(tmp_path / "c", ratings, {"vacuum_pairs": 3})
    labels = items({"form": "label", "labels": LABELS})
    labels["collect"]["shuffle_options"] = True
    with pytest.raises(InputError, match=r"collect\.shuffle_options draws the order of labels"):
        load(tmp_path / "d", labels, {"facets": {"option_order": ["given", "swapped"]}})


def test_an_attribute_may_not_have_the_name_of_a_column_of_the_instrument(tmp_path):
    content = towns()
    content["attributes"][3]["id"] = "occasion"
    with pytest.raises(InputError, match="'occasion' is an attribute and a column of the instrument"):
        load(tmp_path / "a", content, {"anchors": 5})
    write_study(tmp_path / "b", content)
    assert load_any_study(tmp_path / "b").instrument is None
