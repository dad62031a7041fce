"""A study with few profiles, in which pairs are drawn twice by chance: one number, one verdict, one rule."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import calls
from made_up.choices import HOTEL_FORMULA, hotel_choices, hotel_design, hotels_drawn_twice, write_hotels
from made_up.results import write_manifest
from scipy.stats import binom

from conjury.analysis import conjoint
from conjury.analysis.checks import diagnose
from conjury.analysis.conjoint import RepeatsExcluded, amce, bootstrap, include_repeats, reliability, wild
from conjury.analysis.conjoint.reliability.correction import SwapCorrectedEstimates
from conjury.analysis.pipeline.robustness_steps import robustness
from conjury.analysis.report import Report
from conjury.inference.design.run_design import load_design, save_design
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_study
from conjury.inference.tables import write_table

OPPOSITE = {"A": "B", "B": "A"}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return write_hotels(tmp_path_factory.mktemp("hotels") / "hotels")


@pytest.fixture(scope="module")
def choices(study: Study) -> pd.DataFrame:
    design = hotel_design(study)
    assert hotels_drawn_twice(design.tasks) > 0
    return hotel_choices(study, design, agreeing=40)


@pytest.fixture(scope="module")
def always_a(choices: pd.DataFrame) -> pd.DataFrame:
    """The same pairs, answered A but for five repeats."""
    other = choices["pair_id"].isin(choices.loc[choices["repeat"], "pair_id"].unique()[:5])
    return choices.assign(chosen=((choices["position"] == "A") != other).astype("Int8"))


def corrected(choices: pd.DataFrame) -> SwapCorrectedEstimates:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = amce(choices, HOTEL_FORMULA, id="pair_id", correct="reliability")
    assert isinstance(made, SwapCorrectedEstimates)
    return made


def report_of(study: Study, choices: pd.DataFrame, folder: Path, capsys: Any, monkeypatch: Any) -> str:
    made = robustness(study, choices, draws=19)
    monkeypatch.chdir(folder)
    (folder / "results" / "tables").mkdir(parents=True)
    for name, table in made.tables.items():
        table.to_parquet(folder / "results" / "tables" / f"{name}.parquet")
    diagnosed = {"robustness": sorted(made.tables), "notes": list(made.notes), "data": [], "alpha": 0.05}
    write_manifest(folder / "results", diagnosed=diagnosed)
    Report(folder / "results").show("reliability")
    return str(capsys.readouterr().out)


@pytest.mark.slow
def test_forty_of_sixty_repeats_agree_wherever_it_is_reported(
    study: Study, choices: pd.DataFrame, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    frame = reliability(choices, seed=1, draws=200).frame
    assert frame[["sides", "n_repeats", "n_compared"]].to_numpy().tolist() == [["swapped", 60, 60]]
    agreement = frame["agreement"].item()
    assert agreement == pytest.approx(40 / 60, rel=1e-12)
    check = next(one for one in diagnose(study, choices) if one.name == "repeat_agreement")
    assert check.table["estimate"].item() == agreement
    assert check.table["repeats"].item() == 60
    assert "66.7% of 60 repeated pairs" in check.finding
    assert check.verdict == "pass"  # 66.7% of 60 is not significantly below 75%
    assert check.p == pytest.approx(binom.cdf(40, 60, 0.75), abs=0.03)
    tau = corrected(choices).tau
    assert (tau["agreement"].item(), tau["n_compared"].item()) == (agreement, 60)
    tables = robustness(study, choices, draws=19).tables
    assert tables["reliability"]["agreement"].item() == agreement
    assert set(tables["corrected"]["source"]) == {"observed", "corrected"}
    told = report_of(study, choices, tmp_path, capsys, monkeypatch)
    stated = re.findall(r"(Above|Below|No better than|Not clearly above) chance", told, re.IGNORECASE)
    assert stated == ["above"]
    assert "0.667" in told


@pytest.mark.long
def test_a_judge_that_follows_the_position_is_not_advised_a_correction_that_is_refused(
    study: Study, choices: pd.DataFrame, always_a: pd.DataFrame, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    check = next(one for one in diagnose(study, always_a) if one.name == "repeat_agreement")
    assert "8.3% of 60 repeated pairs" in check.finding
    assert check.verdict == "error"
    assert check.remedy.startswith("Do not correct the AMCEs of fake plain")
    assert "Correct AMCEs" not in check.remedy
    with pytest.raises(InputError, match=r"agree in 8\.3% of cases, no better than chance"):
        amce(always_a, HOTEL_FORMULA, id="pair_id", correct="reliability")
    found = reliability(always_a, seed=1, draws=200).frame
    assert found["agreement"].tolist() == [5 / 60]
    assert found["correctable"].tolist() == [False]
    told = report_of(study, always_a, tmp_path, capsys, monkeypatch)
    assert told.count("chance:") == 1
    assert "fig-corrected" not in told
    both = pd.concat([choices, always_a.assign(judge_id="follower")], ignore_index=True)
    check = next(one for one in diagnose(study, both) if one.name == "repeat_agreement")
    assert check.remedy.startswith("Do not correct the AMCEs of follower plain")
    assert "For the other judges: Correct AMCEs" in check.remedy


LINKS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "repeat_of": lambda d: d.assign(pair_id=d["pair_id"].str.replace("_swapped", "_x")),
    "suffix": lambda d: d.drop(columns="repeat_of"),
    "same pair_id": lambda d: d.assign(pair_id=d["repeat_of"].fillna(d["pair_id"])).drop(columns="repeat_of"),
}


@pytest.mark.long
def test_repeats_are_linked_by_id_in_any_order_and_others_counted_as_unmatched(choices: pd.DataFrame) -> None:
    def linked(table: pd.DataFrame) -> tuple[int, Any]:
        found = reliability(table, seed=1, draws=2)
        return found.position["n_unmatched"].item(), found.frame

    for change in LINKS.values():
        lost, frame = linked(change(choices).sample(frac=1, random_state=2))
        assert (lost, frame["agreement"].item()) == (0, 40 / 60)
    own = choices["repeat_of"]
    assert linked(choices.assign(repeat_of=own.where(own.ne(own.dropna().iloc[0]), "no")))[0] == 1
    lost, frame = linked(LINKS["repeat_of"](choices).drop(columns="repeat_of"))  # content in both orders
    assert lost > 0
    assert (frame["sides"].item(), frame["n_compared"].item()) == ("swapped", 60 - lost)
    with pytest.raises(InputError, match="no repeated task"):
        reliability(choices[~choices["repeat"]])


@pytest.mark.parametrize("kind", ["human", "model"])
def test_simulated_repeats_name_the_pair_that_they_repeat(kind: str) -> None:
    judge = "human" if kind == "human" else "gpt4o"
    size = {"respondents": 20} if kind == "human" else {"pairs": 40, "swapped_share": 0.5}
    made = simulate(load_study("moderation"), 4, judges=[judge], truth=False, **size).choices
    again = made[made["repeat"]].set_index(["judge_id", "prompt_id", "repeat_of", "position"])["profile_id"]
    first = made[~made["repeat"]].set_index(["judge_id", "prompt_id", "pair_id", "position"])["profile_id"]
    exchanged = again.rename(index=OPPOSITE, level="position")
    assert made.loc[~made["repeat"], "repeat_of"].isna().all()
    assert first.loc[exchanged.index].tolist() == exchanged.tolist()


def test_designs_saved_without_links_are_read_with_them(study: Study, tmp_path: Path) -> None:
    design = hotel_design(study)
    save_design(design, tmp_path)
    write_table(design.tasks.drop(columns="repeat_of"), tmp_path / "tasks.parquet")
    read = load_design(tmp_path)
    assert read is not None
    pd.testing.assert_series_equal(read.tasks["repeat_of"], design.tasks["repeat_of"])


# --- effects -------------------------------------------------------------------------------------

VERBS = calls("verbs that exclude repeats")
OTHERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "wild": lambda d: wild(amce(d, HOTEL_FORMULA, id="price", vcov="CR1"), draws=19, seed=1),
    "bootstrap": lambda d: bootstrap(amce, d, HOTEL_FORMULA, draws=9, seed=1),
    "bootstrap of counts": lambda d: bootstrap(conjoint.cj_freqs, d, HOTEL_FORMULA, draws=9, seed=1),
}


def called(name: str, data: pd.DataFrame) -> Any:
    if name in OTHERS:
        return OTHERS[name](data)
    verb, formula, options = VERBS[name]
    return verb(data, formula, **options)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("verb", [*VERBS, *OTHERS])
def test_every_verb_excludes_repeats_and_says_so_once(choices: pd.DataFrame, verb: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = called(verb, choices)
    told = [one for one in caught if one.category is RepeatsExcluded]
    assert len({str(one.message) for one in told}) == 1
    assert re.search("120 rows of repeated pairs.*include_repeats", text := str(told[0].message))
    assert verb == "wild" or text in made.notes  # the fit that it is given has the note
    assert {Path(one.filename).name for one in told} == {Path(__file__).name}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RepeatsExcluded)
        alone = called(verb, choices[~choices["repeat"]])
    pd.testing.assert_frame_equal(made.frame, alone.frame)


def test_included_repeats_share_the_cluster_of_the_pair_that_they_repeat(study: Study) -> None:
    design = hotel_design(study, swapped_share=1.0, pairs=300)
    choices = hotel_choices(study, design, agreeing=300)
    both = include_repeats(choices)
    assert not both["repeat"].any()
    assert not both.duplicated(["judge_id", "pair_id", "sample", "position"]).any()
    made = amce(both, HOTEL_FORMULA, id="pair_id")
    assert (made.provenance.n_rows, made.provenance.n_clusters) == (1200, 300)
    first = amce(choices[~choices["repeat"]], HOTEL_FORMULA, id="pair_id").frame
    as_if_new = amce(choices.drop(columns="repeat"), HOTEL_FORMULA, id="pair_id").frame
    known = first["std_error"].notna()
    ratio = (made.frame["std_error"] / as_if_new["std_error"])[known]
    np.testing.assert_allclose(made.frame["estimate"], first["estimate"], atol=1e-12)
    np.testing.assert_allclose(made.frame["std_error"][known], first["std_error"][known], rtol=1e-10)
    assert ratio.to_numpy() == pytest.approx(np.sqrt(2), rel=0.01)


def test_repeats_are_kept_where_they_cannot_be_linked_or_the_request_names_their_column(choices) -> None:
    lost = choices["repeat_of"].where(choices["pair_id"] != choices["pair_id"].iloc[-1], "no")
    both = include_repeats(choices.assign(repeat_of=lost))
    assert int(both["repeat"].sum()) == 2
    with pytest.warns(RepeatsExcluded, match="2 rows of repeated pairs"):
        amce(both, HOTEL_FORMULA, id="pair_id")
    words = choices["repeat"].map({True: "again", False: "first"}).astype("category")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatsExcluded)
        every = amce(choices.assign(repeat=words), HOTEL_FORMULA, id="pair_id")
        compared = conjoint.amce_diffs(choices, HOTEL_FORMULA, by="repeat", id="pair_id")
    assert every.provenance.n_rows == compared.provenance.n_rows == 1320
    with pytest.raises(InputError, match="All rows are marked as repeats"):
        amce(choices[choices["repeat"]], HOTEL_FORMULA, id="pair_id")
