"""Standard errors of every convention, beside sandwich and clubSandwich."""

import warnings
from pathlib import Path

import golden
import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import FewClusters, amce, amce_diffs, cj, mm
from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import load_choices
from conjury.inference.study import load_study
from conjury.inference.tables import write_table

FIXTURES = Path(__file__).parents[3] / "fixtures"
FORMULA = "chosen ~ tone + author + reply"
CROSSED = ["respondent", "text", "user"]
TABLES = {
    "hc0": {"vcov": "HC0"},
    "hc1": {"vcov": "HC1"},
    "hc2": {"vcov": "HC2"},
    "hc3": {"vcov": "HC3"},
    "hc0_weights": {"vcov": "HC0", "weights": "weight"},
    "hc1_weights": {"vcov": "HC1", "weights": "weight"},
    "hc2_weights": {"vcov": "HC2", "weights": "weight"},
    "hc3_weights": {"vcov": "HC3", "weights": "weight"},
    "cl_cr0_text": {"vcov": "CR0", "id": "text"},
    "cl_cr1_text": {"vcov": "CR1", "id": "text"},
    "cl_cr1s_text": {"vcov": "CR1S", "id": "text"},
    "cl_cr1_respondent_weights": {"vcov": "CR1", "id": "respondent", "weights": "weight"},
    "cl_cr0_two": {"vcov": "CR0", "id": ["text", "user"]},
    "cl_cr1_two": {"vcov": "CR1", "id": ["text", "user"]},
    "cl_cr1s_two": {"vcov": "CR1S", "id": ["text", "user"]},
    "cl_cr0_three": {"vcov": "CR0", "id": CROSSED},
    "cl_cr1_three": {"vcov": "CR1", "id": CROSSED},
    "cl_cr1s_three": {"vcov": "CR1S", "id": CROSSED},
    "cl_cr1_three_weights": {"vcov": "CR1", "id": CROSSED, "weights": "weight"},
    "cr0_text": {"vcov": "CR0", "id": "text"},
    "cr1_text": {"vcov": "CR1", "id": "text"},
    "cr1s_text": {"vcov": "CR1S", "id": "text"},
    "cr2_text": {"vcov": "CR2", "id": "text"},
    "cr2_text_from_rude": {"vcov": "CR2", "id": "text", "reference": {"tone": "rude"}},
    "cr2_respondent": {"vcov": "CR2", "id": "respondent"},
    "cr2_site": {"vcov": "CR2", "id": "site"},
}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def stimuli() -> pd.DataFrame:
    frame = pd.read_csv(FIXTURES / "data" / "stimuli.csv")
    levels = pd.read_csv(FIXTURES / "data" / "stimuli.levels.csv")
    for column, found in levels.groupby("column")["level"]:
        frame[column] = pd.Categorical(frame[column], categories=found.tolist())
    return frame


def reference(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_csv(FIXTURES / "r" / f"errors_{name}.csv")
    return table, table.filter(regex="^vcov_").to_numpy()


@pytest.mark.parametrize("name", TABLES)
def test_covariances_are_those_of_sandwich_and_clubsandwich(name: str) -> None:
    fit = amce(stimuli(), FORMULA, **TABLES[name])
    table, vcov = reference(name)
    np.testing.assert_allclose(fit.fitted.solution.coef, table["coef"], rtol=1e-10)
    np.testing.assert_allclose(fit.fitted.solution.vcov, without_negative(vcov), rtol=1e-8, atol=1e-13)


def without_negative(vcov: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(vcov)
    return vcov if values[0] >= 0 else vectors @ np.diag(np.maximum(values, 0)) @ vectors.T


def test_every_reference_of_errors_is_compared() -> None:
    elsewhere = {"few", "few_fixed", "some", "some_fixed"}
    found = {path.stem.removeprefix("errors_") for path in (FIXTURES / "r").glob("errors_[ch]*.csv")}
    assert found == {*TABLES, *(f"cl_cr1_{name}" for name in elsewhere)}


@pytest.mark.parametrize("name", ["cr2_text", "cr2_text_from_rude", "cr2_respondent", "cr2_site"])
def test_degrees_of_freedom_are_those_of_clubsandwich(name: str) -> None:
    frame = amce(stimuli(), FORMULA, **TABLES[name]).frame.dropna(subset="std_error")
    table, _ = reference(name)
    np.testing.assert_allclose(frame["df"], table["df"][1:], rtol=1e-8)
    np.testing.assert_allclose(frame["p"], table["p"][1:], rtol=1e-8)


@pytest.mark.parametrize(("name", "last"), [("few", 6), ("some", 20)])
def test_covariances_that_are_not_positive_semi_definite_are_repaired_as_sandwich_does(
    name: str, last: int
) -> None:
    data = stimuli().query("respondent <= @last")
    raw, fixed = reference(f"cl_cr1_{name}")[1], reference(f"cl_cr1_{name}_fixed")[1]
    assert np.linalg.eigvalsh(raw)[0] < 0
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        fit = amce(data, FORMULA, id=CROSSED, vcov="CR1")
    np.testing.assert_allclose(fit.fitted.solution.vcov, fixed, rtol=1e-8, atol=1e-13)


def test_cluster_columns_may_come_in_any_order() -> None:
    one, two = (amce(stimuli(), FORMULA, id=ids).frame for ids in (CROSSED, CROSSED[::-1]))
    pd.testing.assert_frame_equal(one, two, rtol=1e-12)


def test_a_column_nested_in_another_adds_nothing_but_its_factor() -> None:
    data = stimuli()
    data["task"] = data["respondent"] * 1000 + data.groupby("respondent").cumcount() // 2
    nested, alone = (
        amce(data, FORMULA, id=ids, vcov="CR0").frame for ids in (["task", "respondent"], "respondent")
    )
    np.testing.assert_allclose(nested["std_error"], alone["std_error"], rtol=1e-10)


def test_the_convention_of_cregg_is_cr1_with_the_normal_distribution() -> None:
    survey = amce(stimuli(), FORMULA, id="text").frame.dropna()
    ours = amce(stimuli(), FORMULA, id="text", vcov="CR1").frame.dropna()
    np.testing.assert_allclose(survey["std_error"], ours["std_error"], rtol=1e-12)
    assert (ours["df"] == stimuli()["text"].nunique() - 1).all()
    assert (ours["upper"] > survey["upper"]).all()
    assert "df" not in survey


def test_degrees_of_freedom_of_crossed_clusters_are_the_least_of_satterthwaite_s() -> None:
    data = stimuli()
    crossed = amce(data, FORMULA, id=CROSSED, vcov="CR1").frame["df"].dropna()
    each = [amce(data, FORMULA, id=name, vcov="CR2").frame["df"].dropna() for name in CROSSED]
    np.testing.assert_allclose(crossed, np.min(each, axis=0), rtol=1e-10)
    weighted = amce(data, FORMULA, id=CROSSED, vcov="CR1", weights="weight").frame["df"].dropna()
    assert (weighted == data[CROSSED].nunique().min() - 1).all()


def test_a_small_group_of_a_difference_has_its_own_degrees_of_freedom_and_is_told_of() -> None:
    data = stimuli()
    data["early"] = pd.Categorical(np.where(data["respondent"] <= 4, "yes", "no"), ["no", "yes"])
    with pytest.warns(FewClusters, match=r"=\w+ has 4, \d+ of the levels"):
        found = amce_diffs(data, "chosen ~ tone", by="early", id="respondent", vcov="CR1").frame
    assert (found["df"] == 3).all()


def test_a_level_shown_through_a_single_cluster_is_told_of_in_every_convention() -> None:
    data = stimuli()
    data["text"] = data["text"].where(data["tone"] != "rude", "rude_0")
    for vcov in ("survey", "CR1", "CR2"):
        with pytest.warns(FewClusters, match="tone=rude has one, so its effect cannot be separated"):
            amce(data, FORMULA, id="text", vcov=vcov)


def test_means_and_differences_take_the_same_conventions() -> None:
    data = stimuli()
    for options in ({"id": "text", "vcov": "CR2"}, {"id": CROSSED, "vcov": "CR1"}, {"vcov": "HC2"}):
        means = mm(data, "chosen ~ tone", **options).frame
        assert (means["std_error"] > 0).all()
        assert means["df"].notna().all()
        groups = cj(data, "chosen ~ tone", by="author", **options)
        differences = amce_diffs(data, "chosen ~ tone", by="author", **options)
        assert differences.frame["df"].notna().all()
        assert groups.frame["df"].notna().any()


def dense_cr2(
    y: np.ndarray, x: np.ndarray, clusters: np.ndarray, contrast: np.ndarray
) -> tuple[float, float]:
    """CR2 by its definition, with matrices of the size of the data."""
    m = np.linalg.inv(x.T @ x)
    residual, maker = y - x @ m @ x.T @ y, np.eye(len(y)) - x @ m @ x.T
    variance, columns = 0.0, []
    for g in np.unique(clusters):
        rows = clusters == g
        values, vectors = np.linalg.eigh(maker[np.ix_(rows, rows)])
        root = (
            vectors
            @ np.diag(np.where(values > 1e-9, 1 / np.sqrt(np.clip(values, 1e-9, None)), 0))
            @ vectors.T
        )
        direction = root @ x[rows] @ m @ contrast
        variance += (direction @ residual[rows]) ** 2
        columns.append(maker[:, rows] @ direction)
    inner = np.array(columns) @ np.array(columns).T
    return float(np.sqrt(variance)), float(np.trace(inner) ** 2 / (inner**2).sum())


def test_differences_between_groups_have_the_cr2_errors_of_one_regression_with_interactions() -> None:
    data = stimuli().dropna(subset="chosen")
    fit = amce_diffs(data, "chosen ~ tone", by="author", id="text", vcov="CR2")
    columns = []
    for author in data["author"].cat.categories:
        inside = (data["author"] == author).to_numpy(float)
        columns += [inside, *(inside * (data["tone"] == tone) for tone in data["tone"].cat.categories[1:])]
    x = np.column_stack(columns)
    for row, contrast in zip(fit.frame.itertuples(), fit.fitted.plan.contrasts, strict=True):
        error, df = dense_cr2(data["chosen"].to_numpy(float), x, data["text"].to_numpy(), contrast)
        assert row.std_error == pytest.approx(error, rel=1e-9)
        assert row.df == pytest.approx(df, rel=1e-9)


def test_clusters_of_few_rows_have_the_cr2_errors_of_the_definition() -> None:
    data = stimuli().head(240).dropna(subset="chosen").reset_index(drop=True)
    data["task"] = np.arange(len(data)) // 2
    x = np.column_stack(
        [np.ones(len(data)), *(data["tone"] == tone for tone in data["tone"].cat.categories[1:])]
    )
    x = np.column_stack([x, *(data["author"] == name for name in data["author"].cat.categories[1:])]).astype(
        float
    )
    x = np.column_stack([x, data["reply"] == data["reply"].cat.categories[1]]).astype(float)
    fit = amce(data, FORMULA, id="task", vcov="CR2")
    shown = fit.frame.dropna(subset="std_error")
    for row, contrast in zip(shown.itertuples(), np.eye(x.shape[1])[1:], strict=True):
        error, df = dense_cr2(data["chosen"].to_numpy(float), x, data["task"].to_numpy(), contrast)
        assert row.std_error == pytest.approx(error, rel=1e-9)
        assert row.df == pytest.approx(df, rel=1e-9)


def test_a_cluster_that_alone_holds_a_level_leaves_cr2_finite() -> None:
    data = pd.DataFrame(
        {"y": [1.0, 0, 1, 1, 0, 1, 0, 1], "a": list("xyxyxyzz"), "g": [1, 1, 2, 2, 3, 3, 4, 4]}
    )
    frame = amce(data, "y ~ a", id="g", vcov="CR2").frame
    assert np.isfinite(frame["std_error"].iloc[1])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"vcov": "CR9"}, "There is no vcov 'CR9'"),
        ({"vcov": "CR1"}, "CR1 needs clusters"),
        ({"vcov": "HC1", "id": "text"}, "HC1 takes rows as independent"),
        ({"vcov": "CR2", "id": CROSSED}, "one cluster column"),
        ({"vcov": "CR2", "id": "text", "weights": "weight"}, "without weights"),
        ({"vcov": "CR2", "id": "text", "family": "quasibinomial"}, "family='gaussian'"),
        ({"id": CROSSED, "engine": "statsmodels"}, "use engine='native'"),
        ({"id": ["text", "text"]}, "names a column twice"),
        ({"id": ["text", "texture"]}, "no column 'texture'"),
    ],
)
def test_a_covariance_without_meaning_is_refused(options: dict, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        amce(stimuli(), FORMULA, **options)


def test_two_clusters_give_one_degree_of_freedom() -> None:
    data = stimuli()
    data["half"] = data["respondent"] % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (amce(data, FORMULA, id="half", vcov="CR1").frame["df"].dropna() == 1).all()


def test_levels_that_rest_on_few_clusters_are_named_with_a_remedy() -> None:
    data = stimuli()
    fewest = data.dropna(subset="chosen").groupby("tone", observed=True)["text"].nunique()
    with pytest.warns(FewClusters, match=rf"tone=\w+ has {fewest.min()}.*vcov='CR2'"):
        amce(data, FORMULA, id="text")
    with pytest.warns(FewClusters, match="pigeonhole"):
        amce(data, FORMULA, id=["respondent", "text"])


@pytest.mark.parametrize("options", [{"id": "respondent"}, {"id": "text", "vcov": "CR2"}, {"vcov": "HC1"}])
def test_no_warning_where_clusters_are_many_or_errors_allow_for_few(options: dict) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewClusters)
        amce(stimuli(), FORMULA, **options)


def test_a_parquet_file_gives_the_numbers_of_its_data_frame(tmp_path: Path) -> None:
    data = stimuli().assign(note="x")
    write_table(data, tmp_path / "choices.parquet")
    options = {"id": ["respondent", "text"], "weights": "weight", "reference": {"tone": "rude"}}
    here, there = (amce(source, FORMULA, **options).frame for source in (data, tmp_path / "choices.parquet"))
    pd.testing.assert_frame_equal(here, there)


def test_a_parquet_file_without_the_column_is_refused(tmp_path: Path) -> None:
    write_table(stimuli(), tmp_path / "choices.parquet")
    with pytest.raises(InputError, match=r"choices.parquet: there is no column 'identity'; the columns are"):
        amce(tmp_path / "choices.parquet", "chosen ~ identity")
    with pytest.raises(InputError, match="no such Parquet file"):
        amce(tmp_path / "nothing.parquet", FORMULA)


def test_intervals_are_named_after_their_distribution() -> None:
    named = {
        vcov: amce(stimuli(), FORMULA, id="text", vcov=vcov).provenance.interval for vcov in ("survey", "CR2")
    }
    assert named == {"survey": "normal", "CR2": "t"}


@pytest.mark.shared
def test_errors_by_stimulus_are_as_much_larger_as_was_found_for_gemini() -> None:
    study = load_study("moderation")
    choices = load_choices(study, golden.SHARED / "data" / "moderation" / "gemini_baseline_flash.csv.gz")
    formula = study.analysis("amce").formula
    by = {name: amce(choices, formula, id=name).frame for name in ("pair_id", "text", "user")}
    feature = by["pair_id"]["feature"]
    ratios = {
        name: (by[name]["std_error"] / by["pair_id"]["std_error"]).groupby(feature, observed=True)
        for name in ("text", "user")
    }
    lowest, highest = ratios["text"].min().round(1), ratios["text"].max().round(1)
    assert (lowest["topic"], highest["topic"]) == (2.8, 3.6)
    assert (lowest["slur"], highest["slur"]) == (1.2, 2.4)
    assert ratios["user"].min()["identity"] == pytest.approx(1.14, abs=0.03)
    assert ratios["user"].max()["identity"] == pytest.approx(1.24, abs=0.03)
