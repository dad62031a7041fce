"""How a judge is asked where the study file leaves it open, and what it must not say."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from fakes.studies import LABELS, RATINGS, collect, items, towns, write_study

from conjury.inference.collecting.runs import RunFolder
from conjury.inference.errors import InputError
from conjury.inference.study import load_any_study, load_study
from conjury.inference.study.checks_items import OWN_SETTINGS

LABEL = {"form": "label", "labels": LABELS}


def line_of(folder: Path, text: str) -> int:
    lines = (folder / "study.yaml").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def refusal(folder: Path, text: str) -> str:
    """Return the error of a study, which must stand at the line that holds ``text``."""
    with pytest.raises(InputError) as caught:
        load_any_study(folder)
    message = str(caught.value)
    place = f"{folder / 'study.yaml'}:{line_of(folder, text)}: "
    assert message.startswith(place), message
    assert "\n" not in message
    return message.removeprefix(place)


@pytest.mark.parametrize("name", OWN_SETTINGS)
def test_settings_that_a_study_says_elsewhere_are_refused(tmp_path, name):
    folder = write_study(tmp_path / "s", items(RATINGS, settings={"temperature": 0, f"{name}": 1}))
    assert f"'{name}' is no setting of a judge; " in refusal(folder, f" {name}: 1")


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (RATINGS, "json"),
        (LABEL, "json"),
        ({"form": "line_labels", "labels": LABELS}, "json"),
        ({"form": "text"}, "free"),
    ],
)
def test_the_answer_follows_the_response_form(tmp_path, response, answer):
    content = items(response)
    del content["judges"][0]["ask"]["answer"]
    ask = load_any_study(write_study(tmp_path / "s", content)).judges[0].ask
    assert ask.answer == answer


def test_pairs_are_asked_for_one_token(study):
    asked = {judge.id: judge.ask.answer for judge in load_any_study(study).judges if judge.ask is not None}
    assert asked == {"judge": "token", "other": "token"}


def test_a_label_is_not_asked_for_as_one_token_but_may_be_a_structured_choice(tmp_path):
    folder = write_study(tmp_path / "s", items(LABEL, answer="token"))
    assert refusal(folder, "answer: token").endswith(
        "answers of form 'label' are longer than one token; use json, free, or choice (vLLM)."
    )
    ask = load_any_study(write_study(tmp_path / "t", items(LABEL, answer="choice"))).judges[0].ask
    assert ask.answer == "choice"


def test_subjects_are_called_profiles_in_a_conjoint_and_items_elsewhere(tmp_path):
    nouns = []
    for name, content in (("towns", towns()), ("posts", items(RATINGS))):
        del content["collect"]["noun"]
        nouns.append(load_any_study(write_study(tmp_path / name, content)).collect.noun)
    assert nouns == ["Profile", "Item"]


def test_items_without_a_modality_are_text(tmp_path):
    folder = write_study(tmp_path / "s", items(RATINGS))
    pd.read_csv(folder / "items.csv").drop(columns="modality").to_csv(folder / "items.csv", index=False)
    content = RunFolder(tmp_path / "run").content(load_any_study(folder))
    assert content.count == 4
    assert all(shown.media is None for subject in content.subjects() for shown in subject.shown)
    assert collect(folder, tmp_path / "run", dry_run=True) == 0


def test_a_conjoint_of_models_needs_no_clusters_and_no_bootstrap(tmp_path):
    content = towns()
    del content["clusters"], content["bootstrap"]
    study = load_study(write_study(tmp_path / "s", content))
    assert (study.clusters.of("human"), study.clusters.of("model")) == (("judge_id",), ("pair_id",))
    assert (study.bootstrap.unit, study.bootstrap.draws) == ("pair_id", 1000)


def test_all_missing_fields_are_named_at_once(tmp_path):
    content = towns()
    del content["title"], content["question"], content["design"]["tasks"]
    with pytest.raises(InputError, match=r"title, question, design\.tasks are missing; add them"):
        load_study(write_study(tmp_path / "s", content))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"key_variable": "my-key"}, "such as MY_API_KEY, but the file says 'my-key'"),
        ({"backend": "vlmm"}, "use one of 'openai', 'vllm', 'ray', 'simulated', 'replay'"),
        ({"answer": "jason"}, "use one of 'auto', 'token', 'choice', 'json', 'free'"),
        ({"samples": 0}, "a number of more than 0 belongs here"),
        ({"settings": {"n": 3}}, "ask for several answers with the field 'samples' of ask."),
    ],
)
def test_a_bad_value_is_answered_with_what_belongs_there(tmp_path, change, words):
    folder = write_study(tmp_path / "s", items(RATINGS, **change))
    assert words in refusal(folder, "n: 3" if "settings" in change else next(iter(change)))
