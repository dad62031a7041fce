"""Priors, link and scale as `conjury raters` takes them: read, refused, handed on, recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import conjury.analysis.raters as raters
from conjury.analysis.raters import ModelFit
from conjury.analysis.raters.models.fitted import Prior, changed
from conjury.cli.commands.raters.priors import Assuming
from conjury.cli.main import main
from conjury.inference.errors import InputError


def test_priors_link_and_scale_are_read() -> None:
    given = Assuming(prior=["severity_sd=0.5", "bias = 0, 0.3"], link="probit", scale="1, 2,3").read()
    assert given.given(link=True, scale=True) == {
        "priors": {"severity_sd": (0.5,), "bias": (0.0, 0.3)}, "link": "probit", "scale": (1.0, 2.0, 3.0),
    }  # fmt: skip
    assert Assuming().read().given(link=False, scale=False) == {}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((["severity_sd"], None, None), "write NAME=NUMBERS"),
        ((["severity_sd=half"], None, None), "'half' is no list of numbers"),
        ((["severity_sd=inf"], None, None), "'inf' is no list of numbers"),
        ((["severity_sd="], None, None), "no list of numbers"),
        ((["a=1", "a=2"], None, None), "'a' is given twice"),
        ((None, "probbit", None), "did you mean 'probit'"),
        ((None, None, "5"), "two ratings at least"),
        ((None, None, "1,2,2"), "named twice"),
        ((None, None, "1-5"), "'1-5' is no list of numbers"),
    ],
)
def test_what_cannot_be_read_is_refused(given: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Assuming(**dict(zip(("prior", "link", "scale"), given, strict=True))).read()


@pytest.mark.parametrize(("link", "scale"), [("probit", None), (None, "1,2")])
def test_models_without_a_link_or_a_scale_refuse_one(link: str | None, scale: str | None) -> None:
    with pytest.raises(InputError, match="leave it out"):
        Assuming(link=link, scale=scale).read().given(link=False, scale=False)


def test_the_model_gets_what_was_assumed_and_the_manifest_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def model(judgments: pd.DataFrame, **options: Any) -> ModelFit:
        asked.update(options)
        priors = changed(
            {"severity_sd": Prior("half_normal", (1.0,), "SD of severities")}, options.get("priors")
        )
        return ModelFit(pd.DataFrame({"group": ["human"], "estimate": [0.5]}), "made_up", priors=priors)

    rows = [(judge, "human", item, value) for judge in "ab" for item, value in (("x", 1), ("y", 3))]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    table.to_csv(tmp_path / "j.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(raters, "rater_model", model)
    monkeypatch.setattr(ModelFit, "save", lambda self, path: path)
    options = [
        "--prior",
        "severity_sd=0.5",
        "--link",
        "probit",
        "--scale",
        "1,2,3",
        "--target-accept",
        "0.95",
    ]
    monkeypatch.setattr("sys.argv", ["conjury", "raters", "j.csv", *options])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    assert (asked["link"], asked["scale"]) == ("probit", (1.0, 2.0, 3.0))
    assert asked["target_accept"] == 0.95
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text(encoding="utf-8"))
    settings = manifest["results"][0]["settings"]
    assert settings["priors"] == {"severity_sd": "SD of severities: half-normal with sd 0.5"}
    assert (settings["priors_changed"], settings["scale"]) == ({"severity_sd": [0.5]}, [1.0, 2.0, 3.0])


def test_an_unknown_prior_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(judge, "human", item, value) for judge in "ab" for item, value in (("x", 1), ("y", 3))]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    table.to_csv(tmp_path / "j.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["conjury", "raters", "j.csv", "--prior", "sevrity_sd=0.5"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "no prior 'sevrity_sd' (did you mean 'severity_sd'?)" in capsys.readouterr().err
