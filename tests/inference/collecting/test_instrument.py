"""Runs of a study with an instrument: facets, vacuum and same-quality pairs, parsers, and later occasions."""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.studies import (
    LABELS,
    RATINGS,
    change_study,
    collect,
    items,
    requests_of,
    table,
    towns,
    write_study,
)

from conjury.inference.collecting import Asking, Running, preview
from conjury.inference.errors import InputError
from conjury.inference.parsing import Answer
from conjury.inference.parsing.answer_rules import AnswerReader
from conjury.inference.readers.judgments import load_judgments
from conjury.inference.readers.prepare import load_choices
from conjury.inference.study import load_any_study, load_study
from conjury.inference.tables import validate

FACETS = {
    "option_order": ["given", "swapped"],
    "option_labels": ["letters", "numbers", "first_second"],
    "sample": 2,
    "parser": ["strict", "lenient"],
}
INSTRUMENT = {
    "facets": FACETS,
    "fraction": 0.5,
    "vacuum_pairs": 6,
    "same_quality_pairs": 4,
    "irrelevant": ["river"],
    "anchors": 5,
}
TEMPLATE = "{{ question }} %s: say {{ options[0] }} or {{ options[1] }}."
SCALES = "%s{%% for scale in scales %%}{{ scale.first }} to {{ scale.last }}{%% endfor %%}"
ONE = ["judge_id", "prompt_id", "pair_id", "sample", "option_labels", "occasion", "parser", "position"]


def write(folder: Path, instrument: dict[str, Any], pairs: int = 40) -> Path:
    content = towns() | {"instrument": instrument}
    content["design"]["pairs"] = pairs
    write_study(folder, content)
    for name in ("plain", "strict"):
        (folder / f"{name}.j2").write_text(TEMPLATE % name, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a study and a run of it on two occasions."""
    folder = tmp_path_factory.mktemp("instrument")
    study = write(folder / "towns", INSTRUMENT)
    for occasion in (1, 2):
        assert collect(study, folder / "run", backend="simulated", occasion=occasion) == 0
    return folder


@pytest.mark.long
def test_every_combination_of_the_fraction_is_asked_of_every_pair_in_its_order(run):
    choices = table(run / "run", "choices")
    first = choices[(choices["parser"] == "strict") & (choices["occasion"] == 1)]
    assert not choices.duplicated(ONE).any()
    facets = ["prompt_id", "option_order", "option_labels", "sample"]
    assert len(first[facets].drop_duplicates()) == 12
    sizes = first[first["pair_kind"] == "design"].groupby(facets, observed=True)["pair_id"].nunique()
    assert set(sizes) == {35}
    for one in ("prompt_id", "option_order", "option_labels", "sample"):
        assert len(set(first.drop_duplicates(facets)[one].value_counts())) == 1


@pytest.mark.long
def test_testing_pairs_are_what_they_are_called_and_nothing_else_is_identical(run):
    choices = table(run / "run", "choices")
    attributes = ["size", "place", "age", "trains"]
    shown = choices.drop_duplicates(["pair_id", "position"]).set_index(["pair_id", "position"]).sort_index()
    a, b = shown.xs("A", level="position"), shown.xs("B", level="position")
    same = a["profile_id"] == b["profile_id"]
    assert set(a["pair_kind"][same]) == {"vacuum"}
    assert same.sum() == 6
    assert not same[a["pair_kind"] != "vacuum"].any()
    quality = a["pair_kind"] == "same_quality"
    assert quality.sum() == 8  # in both orders
    for name in attributes:
        assert (a[name][quality] == b[name][quality]).all()
    assert (a["river"][quality] != b["river"][quality]).all()
    assert (choices["option_order"] == "given")[choices["pair_kind"] == "vacuum"].all()


@pytest.mark.long
def test_the_question_shows_the_facets_and_the_answer_is_coded_alike(run):
    requests = requests_of(run / "towns", run=run / "run", samples=2)
    by_labels = {request.arrangement["option_labels"]: request for request in requests}
    names = {"letters": "Town A", "numbers": "Town 1", "first_second": "First town"}
    for labels, request in by_labels.items():
        system, user = (message["content"] for message in request.body["messages"])
        options = {"letters": "A or B", "numbers": "1 or 2", "first_second": "First or Second"}[labels]
        assert options in system
        assert names[labels] in user
    responses = table(run / "run", "responses").set_index("request_key")
    judgments = table(run / "run", "judgments")
    said = responses["text"].loc[judgments["request_key"]].to_numpy()
    coded = pd.Series(said).map({"A": "A", "1": "A", "First": "A", "B": "B", "2": "B", "Second": "B"})
    assert (judgments["value"].astype("string") == coded.astype("string").to_numpy()).all()
    assert set(coded) == {"A", "B"}


@pytest.mark.parametrize("options", [["A", "B"], ["1", "2"], ["First", "Second"]])
def test_probabilities_are_those_of_the_profile_in_position_a_whatever_it_is_called(run, options):
    rivals = [{"token": name, "logprob": math.log(p)} for name, p in zip(options, (0.3, 0.6), strict=True)]
    token = {"token": options[1], "logprob": math.log(0.6), "top_logprobs": rivals}
    reader = AnswerReader(load_study(run / "towns"), "default", lambda column, subject: 0)
    answer = Answer(options[1], tokens=[token])
    _, [(dimension, reading)] = reader.parse("plain", "pair_000001", answer, (), {"options": options})
    assert (dimension, reading.value, reading.rule) == ("choice", "B", "choice/token@2")
    assert reading.probability == pytest.approx(1 / 3)
    assert reading.outside == pytest.approx(0.1)


def test_swapped_means_exchanged_positions_of_the_same_pair(run):
    choices = table(run / "run", "choices")
    swapped = choices[choices["option_order"] == "swapped"].drop_duplicates(["pair_id", "position"])
    given = choices[choices["option_order"] == "given"].drop_duplicates(["pair_id", "position"])
    both = swapped.merge(given, left_on=["repeat_of", "position"], right_on=["pair_id", "position"])
    flipped = swapped.assign(position=swapped["position"].map({"A": "B", "B": "A"}))
    same = flipped.merge(given, left_on=["repeat_of", "position"], right_on=["pair_id", "position"])
    assert len(both) == len(same) == len(swapped)
    assert (same["profile_id_x"] == same["profile_id_y"]).all()
    assert swapped["repeat"].all()


def planned(study: Path, out: Path, **running: Any) -> Any:
    asking = Asking(backend="simulated")
    return preview(str(study), "judge", asking=asking, running=Running(**running), out=out).plan


@pytest.mark.long
def test_costs_count_the_requests_and_parsers_are_free(run, tmp_path):
    responses = table(run / "run", "responses")
    whole = planned(run / "towns", tmp_path / "new")
    assert whole.total == (responses["occasion"] == 1).sum() == 44 * 6 + 44 * 6 + 6 * 6
    part = planned(run / "towns", run / "run", pairs=7)
    assert (part.total, part.answered, part.remaining) == (12 * 7 + 12 * 4 + 6 * 6,) * 2 + (0,)
    assert len(table(run / "run", "judgments")) == 2 * len(responses)


@pytest.mark.long
def test_occasions_ask_the_anchors_again_resume_and_change_nothing_of_the_first(run, tmp_path):
    responses = table(run / "run", "responses")
    again = responses[responses["occasion"] == 2]
    assert set(again["pair_kind"]) == {"anchor"}
    assert len(again) == 5 * 2 * 6
    facets = ["prompt_id", "task_id", "sample", "option_labels"]
    first = responses[(responses["occasion"] == 1) & (responses["pair_kind"] == "anchor")]
    assert set(first[facets].itertuples(index=False)) == set(again[facets].itertuples(index=False))
    assert not set(first["request_key"]) & set(again["request_key"])
    study = write(tmp_path / "towns", INSTRUMENT)
    assert collect(study, tmp_path / "run", backend="simulated") == 0
    before = table(tmp_path / "run", "responses")
    assert collect(study, tmp_path / "run", backend="simulated", prompts=["plain"], occasion=2) == 0
    plan = planned(study, tmp_path / "run", occasion=2)
    assert (plan.total, plan.answered) == (60, 30)
    assert collect(study, tmp_path / "run", backend="simulated", occasion=2) == 0
    after = table(tmp_path / "run", "responses")
    pd.testing.assert_frame_equal(after[after["occasion"] == 1].reset_index(drop=True), before)
    assert (after["occasion"] == 2).sum() == 60


@pytest.mark.long
def test_a_request_is_the_same_on_a_later_occasion_with_the_seed_of_the_first(server, tmp_path):
    server.configure(keep=True)
    study = write(tmp_path / "towns", {"facets": {"sample": 2}, "anchors": 2}, pairs=3)
    for occasion in (1, 2):
        assert collect(study, tmp_path / "run", base_url=server.url, occasion=occasion) == 0
    seen = [json.dumps(body, sort_keys=True) for body in server.bodies()]
    assert len(seen) == 3 * 4 + 2 * 4
    assert set(seen[12:]) <= set(seen[:12])
    assert len(set(seen[12:])) == 8


@pytest.mark.long
def test_an_occasion_needs_anchors_and_answers_of_the_one_before(tmp_path):
    study = write(tmp_path / "a" / "towns", INSTRUMENT)
    with pytest.raises(InputError, match="--samples 3: the instrument of the study has 2 samples"):
        collect(study, tmp_path / "a" / "run", backend="simulated", samples=3)
    with pytest.raises(InputError, match="judge judge has no answers of occasion 1"):
        collect(study, tmp_path / "a" / "run", backend="simulated", occasion=2)
    assert collect(study, tmp_path / "a" / "run", backend="simulated", pairs=5) == 0
    with pytest.raises(InputError, match="judge judge has no answers of occasion 2"):
        collect(study, tmp_path / "a" / "run", backend="simulated", occasion=3)
    without = write_study(tmp_path / "b" / "towns", towns())
    with pytest.raises(InputError, match="study towns has no anchors to ask again"):
        collect(without, tmp_path / "b" / "run", backend="simulated", occasion=2)


def test_ordinary_analyses_have_the_design_on_its_first_occasion_by_one_parser(run):
    study, notes = load_study(run / "towns"), []
    path = run / "run" / "choices.parquet"
    choices = load_choices(study, path, notes=notes)
    validate(choices, "choices")
    assert choices["pair_id"].str.startswith("pair_").all()
    assert choices["pair_id"].nunique() == 80
    assert len(choices) == 40 * 12 * 2
    assert not choices.duplicated(["judge_id", "prompt_id", "pair_id", "sample", "position"]).any()
    assert "pair_kind" not in choices
    excluded = next(note for note in notes if "instrument" in note)
    for words in ("vacuum pairs", "same-quality pairs", "later occasions", "parsers other than strict"):
        assert words in excluded
    assert any("count as samples" in note for note in notes)
    everything = load_choices(study, path, ordinary=False)
    assert len(everything) == len(table(run / "run", "choices"))


@pytest.mark.long
def test_a_run_keeps_its_instrument_but_parsers_may_change(run, tmp_path):
    study = write(tmp_path / "towns", INSTRUMENT)
    assert collect(study, tmp_path / "run", backend="simulated", pairs=5) == 0
    change_study(study, lambda content: content["instrument"]["facets"].update(parser=["lenient"]))
    assert collect(study, tmp_path / "run", backend="simulated", pairs=5) == 0
    assert set(table(tmp_path / "run", "choices")["parser"]) == {"lenient"}
    change_study(study, lambda content: content["instrument"].update(fraction=1))
    with pytest.raises(InputError, match=r"instrument\.fraction"):
        collect(study, tmp_path / "run", backend="simulated", pairs=5)
    change_study(study, lambda content: content["instrument"].update(fraction=0.5, anchors=6))
    with pytest.raises(
        InputError, match="vacuum pairs, same-quality pairs or anchors in the study file have changed"
    ):
        collect(study, tmp_path / "run", backend="simulated", pairs=5)


def test_prompts_that_do_not_show_a_facet_are_refused_before_anything_is_sent(server, tmp_path):
    study = write_study(tmp_path / "towns", towns() | {"instrument": {"facets": FACETS}})
    with pytest.raises(InputError, match="prompt plain does not show whether option_labels is"):
        collect(study, tmp_path / "run", base_url=server.url)
    assert not server.counts()["arrivals"]
    content = items(RATINGS) | {"instrument": {"facets": {"scale_direction": ["ascending", "descending"]}}}
    rated = write_study(tmp_path / "posts", content)
    with pytest.raises(
        InputError, match=r"whether scale_direction is ascending or descending; use \{\{ scale"
    ):
        requests_of(rated)


def test_scales_run_in_both_directions_and_labels_in_both_orders(tmp_path):
    content = items(RATINGS) | {"instrument": {"facets": {"scale_direction": ["ascending", "descending"]}}}
    rated = write_study(tmp_path / "rated", content)
    (rated / "plain.j2").write_text(SCALES % "", encoding="utf-8")
    texts = [request.body["messages"][0]["content"] for request in requests_of(rated)]
    assert texts[:2] == ["0 to 41 to 7", "4 to 07 to 1"]
    content = items({"form": "label", "labels": LABELS})
    content["instrument"] = {"facets": {"option_order": ["given", "swapped"]}, "anchors": 1}
    labelled = write_study(tmp_path / "labelled", content)
    order = "{% for label in labels %}{{ label.id }} {% endfor %}"
    (labelled / "plain.j2").write_text(order, encoding="utf-8")
    requests = requests_of(labelled)
    assert [request.body["messages"][0]["content"] for request in requests[:2]] == [
        "hateful offensive fine",
        "fine offensive hateful",
    ]
    assert [request.arrangement["option_order"] for request in requests[:2]] == ["given", "swapped"]
    usual, swapped = requests_of(labelled, settings={"seed": 3})[:2]
    name = f"3:{usual.subject_id}:{usual.prompt_id}:1"  # as without an instrument
    assert usual.body["seed"] == zlib.crc32(name.encode()) >> 1
    assert swapped.body["seed"] == zlib.crc32(f"{name}:swapped".encode()) >> 1


@pytest.mark.long
def test_items_have_anchors_and_ordinary_judgments_are_those_of_the_first_occasion(server, tmp_path):
    content = items({"form": "label", "labels": LABELS})
    facets = {"option_order": ["given", "swapped"], "parser": ["strict", "lenient"]}
    content["instrument"] = {"facets": facets, "anchors": 2}
    study = write_study(tmp_path / "posts", content)
    (study / "plain.j2").write_text("{% for label in labels %}{{ label.id }} {% endfor %}", encoding="utf-8")
    for occasion in (1, 2):
        assert collect(study, tmp_path / "run", base_url=server.url, occasion=occasion) == 0
    judgments = table(tmp_path / "run", "judgments")
    assert len(judgments) == (4 * 2 + 2 * 2) * 2
    assert set(judgments["item_id"][judgments["pair_kind"] == "anchor"]) == {"post_0", "post_1"}
    loaded = load_judgments(tmp_path / "run" / "judgments.parquet", study=load_any_study(study))
    assert len(loaded) == 4 * 2
    assert set(loaded["sample"]) == {1, 2}
