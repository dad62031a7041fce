"""Answered requests are asked again apart from the run, and both answers are compared."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path

import pandas as pd
import pytest
from fakes.studies import collect, table, towns, write_study

from conjury.inference.backends import lookup
from conjury.inference.collecting import Asking, Running
from conjury.inference.collecting import collect as run
from conjury.inference.collecting.rechecking import draw_keys
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.tables.files import EXAMPLES

pytestmark = pytest.mark.long

SIMULATED = Asking(backend="simulated")
REQUESTS = 88  # of two prompts


def state(folder: Path) -> dict[str, str]:
    """Contents of all files of a run, without what was asked again."""
    files = [path for path in folder.rglob("*") if path.is_file() and "recheck" not in path.parts]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def recheck(study: Path, folder: Path, share: float, **options: object):
    return run(study, "judge", out=folder, asking=SIMULATED, running=Running(recheck=share, **options))


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """A study and a run of it that is complete."""
    folder = tmp_path_factory.mktemp("complete")
    run(write_study(folder / "towns", towns()), "judge", out=folder / "run", asking=SIMULATED)
    return folder


@pytest.fixture
def study(complete, tmp_path):
    return Path(shutil.copytree(complete, tmp_path / "copy")) / "towns"


@pytest.fixture
def collected(study):
    return study.with_name("run")


def changed(monkeypatch, change) -> None:
    """Change answers of the simulated judge by a function of the request and the text."""
    usual = lookup.SimulatedBackend._text
    monkeypatch.setattr(lookup.SimulatedBackend, "_text", lambda self, one: change(one, usual(self, one)))


def test_the_draw_is_reproducible_nested_and_random():
    keys = [f"key_{number}" for number in range(1000)]
    shuffled = random.Random(1).sample(keys, len(keys))
    assert draw_keys(shuffled, 0.1, 1) == draw_keys(keys, 0.1, 1)
    assert set(draw_keys(keys, 0.01, 1)) < set(draw_keys(keys, 0.1, 1))
    assert len(draw_keys(keys, 0.1, 1)) == 100
    assert draw_keys(keys, 0.0001, 1) == draw_keys(keys, 0.001, 1)
    assert len(set(draw_keys(keys, 0.1, 1)) & set(draw_keys(keys, 0.1, 2))) < 30  # 10 expected
    assert draw_keys([], 0.5, 1) == []
    assert abs(sum(int(key[4:]) for key in draw_keys(keys, 0.5, 3)) / 500 - 499.5) < 40  # 3 standard errors


def test_what_is_asked_again_leaves_the_run_as_it_is(study, collected):
    before = state(collected)
    done = recheck(study, collected, 0.25)
    assert state(collected) == before
    assert done.tally.answered == len(done.rechecked.pairs) == 22  # 11 of 44 under each prompt
    assert done.rechecked.pairs["prompt_id"].value_counts().to_dict() == {"plain": 11, "strict": 11}
    assert not done.rechecked.pairs[["text_changed", "parsed_changed"]].any(axis=None)
    assert (done.rechecked.first, done.rechecked.second) == ("not stated", "not stated")
    with Ledger.open(collected / "recheck/seed_1/ledger.sqlite", write=False) as second:
        with Ledger.open(collected / "ledger.sqlite", write=False) as first:
            known = {key for key, *_ in first.answered("judge")}
        assert {key for key, *_ in second.answered("judge")} < known
        assert second.problems() == []


def test_changed_texts_and_changed_answers_are_told_apart(study, collected, monkeypatch):
    def change(request, text):
        if request.prompt_id == "plain":
            return f" {text}"  # other text, same answer
        return {"A": "B", "B": "It depends."}[text]

    changed(monkeypatch, change)
    pairs = recheck(study, collected, 0.1).rechecked.pairs.set_index("prompt_id")
    assert pairs["text_changed"].all()
    assert not pairs.loc["plain", "parsed_changed"].any()
    assert pairs.loc["strict", "parsed_changed"].all()  # another answer, or none that can be parsed
    written = pd.read_parquet(collected / "recheck/seed_1/rechecked.parquet")
    assert written["parsed_changed"].sum() == 5
    assert set(table(collected, "responses")["text"]) == {"A", "B"}


@pytest.mark.slow
def test_answers_of_an_instrument_are_compared_by_its_facets(tmp_path):
    shutil.copytree(EXAMPLES / "instrument", tmp_path / "flats")
    flats = tmp_path / "flats" / "flats.yaml"
    run(flats, "mini", out=tmp_path / "run", asking=SIMULATED)
    pairs = run(
        flats, "mini", out=tmp_path / "run", asking=SIMULATED, running=Running(recheck=0.05)
    ).rechecked.pairs
    assert pairs.columns.is_unique
    assert pairs["option_order"].nunique() > 1
    assert len(pairs) == len(pd.read_parquet(tmp_path / "run/recheck/seed_1/rechecked.parquet"))


def test_asking_again_resumes_and_a_larger_share_adds_to_it(study, collected):
    assert recheck(study, collected, 0.1).tally.answered == 10
    assert recheck(study, collected, 0.1).tally.answered == 0
    more = recheck(study, collected, 0.25)
    assert (more.tally.answered, len(more.rechecked.pairs)) == (12, 22)
    other = recheck(study, collected, 0.1, recheck_seed=2)
    assert other.tally.answered == 10
    assert other.prepared.folder.path.name == "seed_2"


def test_answers_that_fail_the_second_time_are_not_compared(study, collected, monkeypatch):
    changed(monkeypatch, lambda request, text: None if request.prompt_id == "plain" else text)
    done = recheck(study, collected, 0.1)
    assert done.rechecked.pairs["prompt_id"].tolist() == ["strict"] * 5
    assert done.tally.failed["rejected"] == 5


def test_the_command_reports_shares_with_intervals_and_writes_them(study, collected, monkeypatch, capsys):
    changed(monkeypatch, lambda request, text: "A")
    first = table(collected, "responses")
    assert collect(study, collected, backend="simulated", recheck=1.0) == 0
    out = capsys.readouterr().out
    share = (first["text"] == "B").mean()
    n = int((first["text"] == "B").sum())
    assert f"{n} of {REQUESTS} parsed answers changed: {share:.1%} (95% interval " in out
    assert "Batch invariance of the engine: not stated." in out
    assert "Next:" not in out
    written = pd.read_csv(collected / "recheck/seed_1/determinism.csv")
    assert written[written["condition"].isna()]["n_changed"].tolist() == [n, n]
    assert len(written) == 6  # both quantities: all, and each prompt


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recheck": 0.0}, "--recheck 0: the share"),
        ({"recheck": 1.5}, r"--recheck 1\.5: the share"),
        ({"recheck": 0.1, "export": Path("x.jsonl")}, "--recheck sends requests itself; omit --export"),
    ],
)
def test_shares_and_options_that_make_no_sense_are_refused(study, collected, options, message):
    with pytest.raises(InputError, match=message):
        run(study, "judge", out=collected, asking=SIMULATED, running=Running(**options))


def test_a_run_without_answers_has_nothing_to_ask_again(study, collected, tmp_path):
    with pytest.raises(InputError, match=r"--recheck: .* contains no run"):
        recheck(study, tmp_path / "none", 0.1)
    assert not (tmp_path / "none").exists()
    with pytest.raises(InputError, match="--recheck: judge other has no answers yet"):
        run(study, "other", out=collected, asking=SIMULATED, running=Running(recheck=0.1))
    with pytest.raises(InputError, match="inputs of this run have changed"):
        run(study, "judge", out=collected, asking=Asking(model="x"), running=Running(recheck=0.1))


def test_batch_invariance_is_read_from_the_settings_of_both(study, collected, monkeypatch):
    def states(value):
        settings = {"backend": "simulated", "batch_invariant": value, "vllm": "0.11.0", "max_num_seqs": 8}
        monkeypatch.setattr(lookup.SimulatedBackend, "settings", lambda self: settings)

    states(False)
    run(study, "judge", out=collected.with_name("other"), asking=SIMULATED)
    states(True)
    done = recheck(study, collected.with_name("other"), 0.1)
    assert (done.rechecked.first, done.rechecked.second) == ("off", "on")
    known = json.loads((collected.with_name("other") / "provenance.json").read_text())["settings"]["judge"]
    assert known[0]["settings"]["max_num_seqs"] == 8


def test_the_engine_of_a_run_is_named_with_its_batch_invariance(study, tmp_path, monkeypatch, capsys):
    settings = {"batch_invariant": True, "vllm": "0.11.0", "tensor_parallel_size": 2, "max_num_seqs": 8}
    monkeypatch.setattr(lookup.SimulatedBackend, "settings", lambda self: settings)
    assert collect(study, tmp_path / "run", backend="simulated") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert (
        "Engine of judge: batch invariance on; vllm 0.11.0, tensor parallel size 2, max_num_seqs 8." in told
    )
