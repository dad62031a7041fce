"""Weights and traits of respondents, from a study file and a table to results, tables and sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import yaml

from conjury.analysis.conjoint import amce, mm_diffs
from conjury.analysis.pipeline.fitting import work_of
from conjury.analysis.pipeline.loading import LoadedStudy, read_choices_of
from conjury.analysis.pipeline.runner import FitOptions, FittedResults
from conjury.analysis.report.exhibits.conjoint.conjoint_exhibits import caption_of_means
from conjury.analysis.report.method_sentences import describe_analysis
from conjury.analysis.report.paper import tables_of_result
from conjury.analysis.report.table_format import p_value
from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import with_respondents
from conjury.inference.study import load_study

pytestmark = pytest.mark.long

PARTIES = ["Rep", "Dem", "Ind"]
FORMULA = "chosen ~ cost + actor"
STUDY: dict[str, Any] = {
    "name": "climate",
    "title": "Which policy?",
    "kind": "conjoint",
    "question": "Which policy do you prefer?",
    "attributes": [
        {"id": "cost", "label": "Cost", "levels": [{"id": i, "label": f"{i} cost"} for i in ("low", "high")]},
        {
            "id": "actor",
            "label": "Actor",
            "levels": [{"id": i, "label": f"The {i}"} for i in ("state", "firm")],
        },
    ],
    "design": {"pairs": 10, "respondents": 60, "tasks": 4},
    "weights": "wt",
    "traits": [{"id": "party", "label": "Party", "levels": [{"id": i, "label": f"{i}s"} for i in PARTIES]}],
    "prompts": [{"id": "plain", "label": "Plain"}],
    "judges": [
        {"id": "human", "label": "People", "kind": "human"},
        {"id": "gpt", "label": "GPT", "kind": "model"},
    ],
    "analyses": [
        {"name": "amce", "verb": "amce", "title": "Effects", "formula": FORMULA},
        {"name": "mm", "verb": "mm", "title": "Marginal means", "formula": FORMULA},
        {"name": "by_party", "verb": "amce_diffs", "title": "By party", "formula": FORMULA, "by": ["party"]},
        {"name": "in_regions", "verb": "mm", "title": "In regions", "formula": FORMULA, "by": ["region"]},
    ],
}


def people() -> pd.DataFrame:
    """60 respondents with 4 tasks each, a weight, a party and a region in numbers."""
    rng, rows = np.random.default_rng(5), []
    for person in range(60):
        about = {
            "party": PARTIES[person % 3],
            "wt": round(float(rng.lognormal()), 3),
            "region": person % 2 + 1,
        }
        for task in range(4):
            chosen = int(rng.integers(2))
            for at, position in enumerate("AB"):
                shown = {"cost": rng.choice(["low", "high"]), "actor": rng.choice(["state", "firm"])}
                key = {"judge_id": f"r{person}", "judge_kind": "human", "pair_id": f"r{person}_{task}"}
                rows.append(
                    {**key, "task": task + 1, "position": position, **shown, "chosen": int(at == chosen)}
                )
                rows[-1] |= about
    return pd.DataFrame(rows)


PEOPLE = people()


def loaded_from(folder: Path, *tables: pd.DataFrame, **changes: Any) -> LoadedStudy:
    (folder / "study.yaml").write_text(yaml.safe_dump({**STUDY, **changes}), encoding="utf-8")
    files = [folder / f"data_{number}.csv" for number in range(len(tables))]
    for file, table in zip(files, tables, strict=True):
        table.to_csv(file, index=False)
    return read_choices_of(load_study(folder / "study.yaml"), files)


def fitted_from(loaded: LoadedStudy, draws: int = 0) -> FittedResults:
    return work_of(loaded, FitOptions(draws=draws)).run()[0]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> FittedResults:
    model = PEOPLE.drop(columns=["party", "wt", "region", "task"]).assign(
        judge_id="gpt", judge_kind="model", prompt_id="plain", chosen=1 - PEOPLE["chosen"]
    )
    return fitted_from(loaded_from(tmp_path_factory.mktemp("weighted"), PEOPLE, model))


def by_statsmodels(formula: str) -> tuple[pd.Series, pd.Series]:
    """Weighted least squares with errors by respondent and the factor G/(G-1) of the survey package."""
    levels = {"cost": ["low", "high"], "actor": ["state", "firm"], "party": PARTIES}
    data = PEOPLE.assign(**{name: pd.Categorical(PEOPLE[name], order) for name, order in levels.items()})
    groups = data["judge_id"].astype("category").cat.codes
    options = {"groups": groups, "use_correction": False}
    fit = smf.wls(formula, data, weights=data["wt"]).fit(cov_type="cluster", cov_kwds=options)
    return fit.params, fit.bse * np.sqrt(60 / 59)


def test_weighted_effects_and_their_differences_between_parties_are_those_of_statsmodels(
    fitted: FittedResults,
) -> None:
    frame = fitted.by_name["amce"].frame.query("judge == 'human'").set_index("level")
    params, errors = by_statsmodels("chosen ~ cost + actor")
    assert frame.loc["high", "estimate"] == pytest.approx(params["cost[T.high]"])
    assert frame.loc["firm", "std_error"] == pytest.approx(errors["actor[T.firm]"])
    params, errors = by_statsmodels("chosen ~ (cost + actor) * party")
    compared = fitted.by_name["by_party"].frame
    assert set(compared["judge"]) == {"human"}
    for row in compared.itertuples():
        name = f"{row.feature}[T.{row.level}]:party[T.{row.party}]"
        assert row.estimate == pytest.approx(params[name])
        assert row.std_error == pytest.approx(errors[name])


def test_means_in_each_group_of_respondents_are_weighted_means(fitted: FittedResults) -> None:
    frame = fitted.by_name["in_regions"].frame
    for row in frame.itertuples():
        rows = PEOPLE[(PEOPLE[row.feature] == row.level) & (PEOPLE["region"] == int(str(row.region)))]
        assert row.estimate == pytest.approx(np.average(rows["chosen"], weights=rows["wt"]))
    assert "by" not in frame


def test_a_model_is_compared_with_weighted_people_and_is_not_weighted_itself(fitted: FittedResults) -> None:
    frame = fitted.by_name["amce_people"].frame.set_index("level")
    alone = amce(PEOPLE, FORMULA, weights="wt", reference={"cost": "low", "actor": "state"}).frame
    model = amce(
        PEOPLE.assign(chosen=1 - PEOPLE["chosen"]), FORMULA, reference={"cost": "low", "actor": "state"}
    )
    for level in ("high", "firm"):
        assert frame.loc[level, "people"] == pytest.approx(alone.set_index("level").loc[level, "estimate"])
        assert frame.loc[level, "model"] == pytest.approx(
            model.frame.set_index("level").loc[level, "estimate"]
        )


def test_sizes_weights_and_design_effect_are_recorded_and_printed_below_tables(fitted: FittedResults) -> None:
    weights = PEOPLE.groupby("judge_id")["wt"].first()
    kish = len(weights) * (weights**2).sum() / weights.sum() ** 2
    result = fitted.by_name["by_party"]
    group = result.settings["groups"][0]
    assert (group["n_choices"], group["n_respondents"], group["weights"]) == (240, 60, "wt")
    assert group["design_effect"] == pytest.approx(kish)
    assert [part["n_respondents"] for part in group["subgroups"]] == [20, 20, 20]
    text = " ".join(table.html for table in tables_of_result(result))
    assert "N = 480 profiles" in text or "240 choices" in text
    assert f"Weighted by wt (design effect {kish:.2f} by Kish's formula)." in text.replace("&#x27;", "'")
    method = describe_analysis(fitted.by_name["amce"].settings)
    assert f"People's choices are weighted by `wt` (design effect {kish:.2f} by Kish's formula)" in method
    assert "those of models are not" in method
    assert any("left out, since party describes respondents" in note for note in fitted.all_notes)


def test_without_weights_sentences_say_so(tmp_path: Path) -> None:
    fitted = fitted_from(loaded_from(tmp_path, PEOPLE, weights=None))
    assert "Rows are not weighted." in describe_analysis(fitted.by_name["amce"].settings)
    assert "Weighted" not in tables_of_result(fitted.by_name["amce"])[0].html


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (-1, "row 6 of column 'wt' is negative"),
        (np.nan, "row 6 of column 'wt' is empty, and weights cannot be missing"),
        ("1,5", "row 6 of column 'wt' contains '1,5', which is no number"),
        (np.inf, "row 6 of column 'wt' contains 'inf', which is no number"),
    ],
)
def test_a_weight_that_is_none_is_refused_with_file_row_and_column(
    tmp_path: Path, value: object, problem: str
) -> None:
    table = PEOPLE.astype({"wt": object})
    weights = [value if at == 5 else weight for at, weight in enumerate(table["wt"])]
    table = table.assign(wt=pd.Series(weights, dtype=object))
    with pytest.raises(InputError, match=f"data_0.csv: {problem}"):
        loaded_from(tmp_path, table)


def test_missing_columns_values_beyond_the_levels_and_numbers_without_groups_are_refused(
    tmp_path: Path,
) -> None:
    cases = {
        "column 'wt', the weights of the study, is missing": PEOPLE.drop(columns="wt"),
        "column 'party', by which the analysis 'by_party' compares, is missing": PEOPLE.drop(columns="party"),
        "'Green', which is not one of its levels": PEOPLE.assign(party="Green"),
        "21 different numbers, which are no groups": PEOPLE.assign(region=np.arange(480) % 21),
        "is zero in all rows of people": PEOPLE.assign(wt=0),
    }
    for problem, table in cases.items():
        with pytest.raises(InputError, match=problem):
            loaded_from(tmp_path, table)
    twenty = loaded_from(tmp_path, PEOPLE.assign(region=np.arange(480) % 20))
    assert "more than one value in column 'region'" in " ".join(twenty.notes)


def test_weights_of_zero_single_respondents_and_changing_traits_are_noted(tmp_path: Path) -> None:
    table = PEOPLE.copy()
    table.loc[table["judge_id"].isin(["r3", "r4"]), "wt"] = 0
    table.loc[table["party"].eq("Ind") & table["judge_id"].ne("r2"), "party"] = "Dem"
    table["region"] = [3 - value if at == 0 else value for at, value in enumerate(table["region"])]
    loaded = loaded_from(tmp_path, table)
    notes = " ".join(loaded.notes)
    assert "2 respondents have the weight 0 in column 'wt'" in notes
    assert "'Ind' in column 'party' is the value of a single respondent" in notes
    assert "one respondent has more than one value in column 'region'" in notes
    fitted = fitted_from(loaded)
    group = fitted.by_name["amce"].settings["groups"][0]
    assert (group["n_choices"], group["n_respondents"], group["n_used"]) == (232, 58, 464)
    compared = fitted.by_name["by_party"].frame
    assert compared.loc[compared["party"].eq("Ind"), "std_error"].isna().all()


def test_a_level_that_a_group_never_saw_has_no_difference(tmp_path: Path) -> None:
    high = PEOPLE[(PEOPLE["party"] == "Ind") & (PEOPLE["cost"] == "high")]["pair_id"]
    fitted = fitted_from(loaded_from(tmp_path, PEOPLE[~PEOPLE["pair_id"].isin(high)]))
    frame = fitted.by_name["by_party"].frame.set_index(["party", "level"])["estimate"]
    assert np.isnan(frame["Ind", "high"])
    assert not np.isnan(frame["Dem", "high"])


def test_marginal_means_are_a_table_like_that_of_effects(fitted: FittedResults) -> None:
    means = fitted.by_name["mm"]
    html = tables_of_result(means, labels={("cost", "high"): "High cost"})[0].html
    assert "Boot std error" not in html
    assert ">Mm<" not in html

    class Titled:
        title = "Marginal means"

    assert caption_of_means(Titled()) == "Marginal means."  # type: ignore[arg-type]


def test_the_smallest_p_value_of_a_bootstrap_is_at_most_what_its_draws_can_tell() -> None:
    pairs = [(1 / 201, 200), (1 / 1001, 1000), (1 / 4, 3), (1 / 10000, 9999), (2 / 201, 200)]
    assert [p_value(*pair) for pair in pairs] == ["≤0.005", "≤0.001", "≤0.250", "<0.001", "0.00995"]


def test_python_gives_the_design_effect_with_the_same_numbers() -> None:
    weighted = mm_diffs(PEOPLE, FORMULA, by="party", id="judge_id", weights="wt")
    weights = PEOPLE.groupby("judge_id")["wt"].first()
    assert weighted.settings["design_effect"] == pytest.approx(60 * (weights**2).sum() / weights.sum() ** 2)
    assert "clustered by respondent (60 clusters). Weighted by wt" in weighted.to_markdown()


def test_a_study_takes_other_weights_and_groups_and_keeps_its_further_analyses() -> None:
    study = load_study("moderation")
    changed = with_respondents(study, "wt", ["party", "Pid 3"])
    assert (changed.weights, study.weights) == ("wt", None)
    added = [part for part in changed.analyses if part not in study.analyses]
    assert [part.name for part in added if part.name.startswith("mm_")] == [
        *("mm_by_party", "mm_differences_party", "mm_by_pid_3", "mm_differences_pid_3")
    ]
    assert [(part.verb, part.by) for part in added[:2]] == [("amce", ["party"]), ("amce_diffs", ["party"])]
    assert changed.group_columns.keys() == {"party", "Pid 3"}
    again = with_respondents(changed, None, ["region"])
    assert again.group_columns.keys() == {"region"}
    assert [part for part in study.analyses if part not in again.analyses] == []
    with pytest.raises(InputError, match="--by topic: this is an attribute of the study"):
        with_respondents(study, None, ["topic"])
