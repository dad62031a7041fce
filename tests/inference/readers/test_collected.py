"""Whatever was collected is recognised: studies, runs, results folders, tables, exports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.inference.collecting import Asking, Running, collect
from conjury.inference.errors import InputError
from conjury.inference.humans.collected_export import read_export
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome, Request
from conjury.inference.readers.collected import read_collected, requests_of, texts_of
from conjury.inference.simulation import simulate, simulate_labels
from conjury.inference.study import ItemStudy, Study, load_any_study, load_study
from conjury.inference.tables import write_table


@pytest.fixture(scope="module")
def study() -> Study:
    return load_study("moderation")


@pytest.fixture(scope="module")
def choices(study: Study) -> pd.DataFrame:
    return simulate(study, 1, judges=["human"], respondents=3, truth=False).choices


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of labels with the simulated backend."""
    folder = tmp_path_factory.mktemp("run")
    asking, running = Asking(backend="simulated", samples=2), Running(pairs=3)
    collect("multiturn", "qwen3_8b", prompts=["joke"], out=folder, asking=asking, running=running)
    return folder


def test_a_study_alone_gives_its_items_gold_labels_and_settings():
    found = read_collected("multiturn")
    assert isinstance(found.study, ItemStudy)
    assert found.items is not None
    assert found.labels is not None
    assert found.asked["qwen3_8b"]["temperature"] == 0.6
    assert found.judgments is None
    assert {name: path.name for name, path in found.files.items()} == {
        "items": "items.csv",
        "labels": "labels.csv",
    }


def test_a_run_gives_tables_and_requests_as_they_were_sent(run):
    found = read_collected(run)
    assert found.study is not None
    assert found.study.name == "multiturn"
    requests = found.requests
    assert requests is not None
    assert found.responses is not None
    assert set(requests["request_key"]) == set(found.responses["request_key"])
    assert requests["judge_id"].eq("qwen3_8b").all()
    assert requests["item_id"].nunique() == 3
    assert requests["task_id"].isna().all()
    assert requests[["temperature", "top_p"]].drop_duplicates().to_numpy().tolist() == [[0.6, 0.95]]
    assert requests["max_tokens"].eq(2048).all()
    assert requests["model"].eq("Qwen/Qwen3-8B").all()
    first = requests.iloc[0]
    assert (
        str(found.items.set_index("item_id").loc[first["item_id"], "text"]).splitlines()[0] in first["user"]
    )
    assert found.asked["qwen3_8b"] | {"backend": "simulated", "max_tokens": 2048} == found.asked["qwen3_8b"]
    assert found.files["requests"].name == "ledger.sqlite"


@pytest.mark.long
def test_a_run_whose_study_does_not_ship_needs_its_name(tmp_path):
    other = load_any_study("multiturn").model_copy(update={"name": "of_our_own"})
    call = {"prompts": ["joke"], "out": tmp_path / "own", "running": Running(pairs=1)}
    collect(other, "qwen3_8b", asking=Asking(backend="simulated"), **call)
    found = read_collected(tmp_path / "own")
    assert found.study is None
    assert "of_our_own" in found.notes[0]
    assert found.judgments is not None
    named = read_collected(tmp_path / "own", other)
    assert named.study is other
    assert named.items is not None


def test_a_results_folder_gives_the_data_that_it_contains(tmp_path, choices):
    (tmp_path / "data").mkdir()
    write_table(choices, tmp_path / "data" / "choices.parquet")
    manifest = {"conjury": "1", "study_argument": "moderation", "files": []}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    found = read_collected(tmp_path)
    assert found.study is not None
    assert found.choices is not None
    assert (found.study.name, len(found.choices)) == ("moderation", len(choices))


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz"])
def test_a_table_of_choices_is_recognised_in_any_format(tmp_path, study, choices, ending):
    file = tmp_path / f"some{ending}"
    write_table(choices, file)
    found = read_collected(file, study)
    assert found.choices is not None
    assert len(found.choices) == len(choices)
    assert dict(found.files) == {"choices": file}


@pytest.mark.long
def test_companions_of_a_table_are_read_with_it(tmp_path):
    study = load_any_study("harm_or_humor")
    assert isinstance(study, ItemStudy)
    made = simulate_labels(study, 1, items=12, people=3, judges=["human", "gpt_4o"])
    for name, table in {"a": made.judgments, "a.items": made.items, "a.labels": made.labels}.items():
        write_table(table, tmp_path / f"{name}.parquet")
    responses = responses_of(made.judgments)
    write_table(responses, tmp_path / "a_responses.parquet")
    found = read_collected(tmp_path / "a.parquet", "harm_or_humor")
    assert set(found.files) == {"judgments", "items", "labels", "responses"}
    assert found.items is not None
    assert len(found.items) == len(made.items)
    assert found.responses is not None
    assert len(found.responses) == len(responses)


def responses_of(judgments: pd.DataFrame) -> pd.DataFrame:
    return judgments.assign(
        study="harm_or_humor",
        text="{}",
        request_key=[f"k{k}" for k in range(len(judgments))],
        created=pd.Timestamp("2026-01-01", tz="UTC"),
    )[["study", "judge_id", "judge_kind", "item_id", "prompt_id", "sample", "text", "request_key", "created"]]


def test_several_tables_are_recognised_by_their_columns(tmp_path):
    tables = {
        "one": pd.DataFrame({"judge_id": ["a"], "judge_kind": ["human"], "item_id": ["i"], "value": [3]}),
        "two": pd.DataFrame({"item_id": ["i"], "text": ["Hello."]}),
        "three": pd.DataFrame({"item_id": ["i"], "label_set": ["gold"], "label": ["x"]}),
        "four": pd.DataFrame({"judge_id": ["a"], "age": [40]}),
    }
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    found = read_collected([tmp_path / f"{name}.csv" for name in tables])
    assert set(found.files) == {"judgments", "items", "labels", "respondents"}
    assert found.study is None
    assert found.respondents is not None
    assert found.respondents["age"].tolist() == [40]


def test_a_table_of_other_columns_is_refused_with_what_there_is(tmp_path):
    file = tmp_path / "odd.csv"
    file.write_text("x,y\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"odd.csv: its columns \(x, y\) are those of no table"):
        read_collected(file)
    with pytest.raises(InputError, match="Nothing is named"):
        read_collected([])
    with pytest.raises(InputError, match="are two studies; name one of them"):
        read_collected(["multiturn", "moderation"])


def test_texts_of_messages_are_those_of_parts_without_media():
    parts = [{"type": "text", "text": "One"}, {"type": "image_url", "image_url": {}}]
    said = [("system", "Rate."), ("user", parts), ("assistant", "3"), ("user", "Two")]
    body = {"messages": [{"role": role, "content": content} for role, content in said]}
    assert texts_of(body) == ("Rate.", "One\n3\nTwo")
    assert texts_of({}) == ("", "")


def test_an_export_is_read_by_its_format(tmp_path):
    file = tmp_path / "ratings.csv"
    pd.DataFrame({"who": ["a", "b"], "what": ["i", "i"], "score": [1, 2]}).to_csv(file, index=False)
    options = {"value": {"score": "score"}, "judge": "who", "item": "what", "people": True}
    found = read_export(file, "csv", **options)
    assert found.judgments is not None
    assert found.judgments["value"].tolist() == [1, 2]
    survey = Path(__file__).resolve().parents[2] / "fixtures" / "tables" / "qualtrics.csv"
    choices = read_export(survey, "qualtrics").choices
    assert choices is not None
    assert set(choices["judge_id"]) == {"R_1", "R_2", "R_3"}
    assert choices.groupby(["judge_id", "pair_id"]).size().eq(2).all()
    with pytest.raises(InputError, match="'oops' is unknown"):
        read_export(file, "oops")
    with pytest.raises(InputError, match="contains no answers"):
        read_export(file, "prolific")


def test_requests_of_a_large_ledger_are_read_in_bulk(tmp_path, monkeypatch):
    n, path = 300, tmp_path / "ledger.sqlite"
    asked = [
        Request(f"k{k}", "m", "p", f"i{k}", 1, {"model": "m", "seed": k, "messages": []}) for k in range(n)
    ]
    with Ledger.open(path) as ledger:
        for request in ledger.pending(asked):
            ledger.record(Outcome(request.key, b'{"choices": []}'))
    monkeypatch.setattr(Ledger, "request_body", lambda *_: pytest.fail("bodies are not read one by one"))
    found = requests_of(path, None)
    np.testing.assert_array_equal(np.sort(found["seed"].to_numpy(int)), np.arange(n))
