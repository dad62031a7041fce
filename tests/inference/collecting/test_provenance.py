"""Which versions of models and servers answered: recorded with answers and runs, and changes noted."""

from __future__ import annotations

import json

from fakes.studies import change_study, collect, table

from conjury.cli.commands.collecting.runs import status
from conjury.inference.backends.endpoints import find_endpoint
from conjury.inference.backends.openai.live import server_version
from conjury.inference.collecting.answering.provenance import version_notes


def test_fingerprints_are_kept_with_answers_and_a_change_under_one_name_is_noted(
    server, study, tmp_path, capsys
):
    run = tmp_path / "run"
    change_study(study, lambda content: content.update(instrument={"anchors": 3}))
    server.configure(fingerprint="fp_1", version="0.11.2")
    assert collect(study, run, base_url=server.url, pairs=4) == 0
    assert version_notes(run) == []
    assert "come from 2 versions" not in capsys.readouterr().out
    server.configure(fingerprint="fp_2", version="0.12.0")
    assert collect(study, run, base_url=server.url, occasion=2) == 0
    responses = table(run, "responses")
    assert responses.groupby("occasion")["system_fingerprint"].unique().map(list).to_dict() == {
        1: ["fp_1"],
        2: ["fp_2"],
    }
    (note,) = version_notes(run)
    assert "Answers of judge judge come from 2 versions: gpt-4o-mini-fake, fp_1 (8 answers" in note
    assert "gpt-4o-mini-fake, fp_2 (6 answers" in note
    assert "come from 2 versions" in capsys.readouterr().out.replace("\n", " ")
    status(str(study), run)
    assert "come from 2 versions" in capsys.readouterr().out.replace("\n", " ")
    settings = json.loads((run / "provenance.json").read_text())["settings"]["judge"]
    assert [one["settings"]["server_version"] for one in settings] == ["0.11.2", "0.12.0"]


def test_answers_without_a_fingerprint_and_simulated_ones_are_no_versions(server, study, tmp_path):
    run = tmp_path / "run"
    assert collect(study, run, base_url=server.url, pairs=4) == 0
    assert table(run, "responses")["system_fingerprint"].isna().all()
    (served,) = json.loads((run / "provenance.json").read_text())["served"]
    assert (served["system_fingerprint"], served["n"]) == (None, 8)
    assert version_notes(run) == []
    assert version_notes(tmp_path / "nothing") == []


def test_a_server_that_states_no_version_has_none_and_openai_is_not_asked(server, monkeypatch):
    assert server_version(find_endpoint(server.url, "OPENAI_API_KEY")) == {}
    assert server_version(find_endpoint("http://127.0.0.1:9/v1", "OPENAI_API_KEY")) == {}
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    assert server_version(find_endpoint(None, "OPENAI_API_KEY")) == {}
