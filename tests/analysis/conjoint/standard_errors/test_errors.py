"""Standard errors of every convention, compared with sandwich and clubSandwich, and side by side."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import pytest
from cases import refusals
from reference_tables import FIXTURES, stimuli
from shared_folder import SHARED

from conjury.analysis.conjoint import FewClusters, amce, amce_diffs, errors_under_choices, mm, wild
from conjury.analysis.conjoint.engines import native
from conjury.analysis.conjoint.engines.coverage import _passport_row
from conjury.analysis.conjoint.engines.cregg import _columns_in_call
from conjury.analysis.conjoint.estimands import plan_of
from conjury.analysis.conjoint.request import make_request
from conjury.analysis.figures import alt, draw
from conjury.analysis.numerics.rating_panel import RowClusters
from conjury.analysis.results import Result
from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import load_choices
from conjury.inference.study import load_study
from conjury.inference.tables import write_table

FORMULA = "chosen ~ tone + author + reply"
CROSSED = ["respondent", "text", "user"]
CLUSTERS = {
    "text": "text",
    "respondent": "respondent",
    "site": "site",
    "two": ["text", "user"],
    "three": CROSSED,
}
OPTIONS = {"weights": {"weights": "weight"}, "rude": {"reference": {"tone": "rude"}}}
TABLES = [
    *(f"hc{k}{weighted}" for k in range(4) for weighted in ("", "_weights")),
    *(f"cl_{kind}_{by}" for by in ("text", "two", "three") for kind in ("cr0", "cr1", "cr1s")),
    *("cl_cr1_respondent_weights", "cl_cr1_three_weights", "cr0_text", "cr1_text", "cr1s_text"),
    *("cr2_text", "cr2_text_from_rude", "cr2_respondent", "cr2_site"),
    *("cv3_text", "cv3_respondent", "cv3_respondent_weights"),
]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def conventions(name: str) -> dict[str, object]:
    """What the name of a reference table says of the call."""
    vcov, *words = name.removeprefix("cl_").split("_")
    options: dict[str, object] = {"vcov": vcov.upper()}
    for word in words:
        options |= OPTIONS.get(word) or ({"id": CLUSTERS[word]} if word in CLUSTERS else {})
    return options


def errors(data: pd.DataFrame | None = None, **options: object):
    return amce(stimuli() if data is None else data, FORMULA, **options)


def reference(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_csv(FIXTURES / "r" / f"errors_{name}.csv")
    return table, table.filter(regex="^vcov_").to_numpy()


@pytest.mark.parametrize("name", TABLES)
def test_covariances_are_those_of_sandwich_and_clubsandwich(name: str) -> None:
    fit = errors(**conventions(name))
    table, vcov = reference(name)
    np.testing.assert_allclose(fit.fitted.solution.coef, table["coef"], rtol=1e-10)
    np.testing.assert_allclose(fit.fitted.solution.vcov, without_negative(vcov), rtol=1e-8, atol=1e-13)
    if name.startswith("cr2"):
        frame = fit.frame.dropna(subset="std_error")
        np.testing.assert_allclose(frame[["df", "p"]], table[["df", "p"]][1:], rtol=1e-8)


def without_negative(vcov: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(vcov)
    return vcov if values[0] >= 0 else vectors @ np.diag(np.maximum(values, 0)) @ vectors.T


def test_every_reference_of_errors_is_compared() -> None:
    elsewhere = {"few", "few_fixed", "some", "some_fixed"}
    found = {path.stem.removeprefix("errors_") for path in (FIXTURES / "r").glob("errors_[ch]*.csv")}
    assert found == {*TABLES, *(f"cl_cr1_{name}" for name in elsewhere)}


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


def test_columns_in_any_order_or_nested_and_files_change_nothing(tmp_path) -> None:
    data = stimuli().assign(note="x")
    one, two = (errors(id=ids).frame for ids in (CROSSED, CROSSED[::-1]))
    pd.testing.assert_frame_equal(one, two, rtol=1e-12)
    data["task"] = data["respondent"] * 1000 + data.groupby("respondent").cumcount() // 2
    nested, alone = (errors(data, id=ids, vcov="CR0").frame for ids in (["task", "respondent"], "respondent"))
    np.testing.assert_allclose(nested["std_error"], alone["std_error"], rtol=1e-10)
    write_table(data, tmp_path / "choices.parquet")
    options = {"id": ["respondent", "text"], "weights": "weight", "reference": {"tone": "rude"}}
    here, there = (errors(source, **options).frame for source in (data, tmp_path / "choices.parquet"))
    pd.testing.assert_frame_equal(here, there)
    with pytest.raises(InputError, match=r"choices.parquet: there is no column 'identity'; there are"):
        amce(tmp_path / "choices.parquet", "chosen ~ identity")
    with pytest.raises(InputError, match="no such file"):
        errors(tmp_path / "nothing.parquet")


def test_the_convention_of_cregg_is_cr1_with_the_normal_distribution() -> None:
    fits = {vcov: errors(id="text", vcov=vcov) for vcov in ("survey", "CR1")}
    survey, ours = (fit.frame.dropna() for fit in fits.values())
    np.testing.assert_allclose(survey["std_error"], ours["std_error"], rtol=1e-12)
    assert (ours["df"] == stimuli()["text"].nunique() - 1).all()
    assert (ours["upper"] > survey["upper"]).all()
    assert "df" not in survey
    assert [fit.provenance.interval for fit in fits.values()] == ["normal", "t"]


def test_degrees_of_freedom_of_crossed_clusters_are_the_least_of_satterthwaite_s() -> None:
    def df(**options: object) -> pd.Series:
        return errors(**options).frame["df"].dropna()

    each = [df(id=name, vcov="CR2") for name in CROSSED]
    np.testing.assert_allclose(df(id=CROSSED, vcov="CR1"), np.min(each, axis=0), rtol=1e-10)
    weighted = df(id=CROSSED, vcov="CR1", weights="weight")
    assert (weighted == stimuli()[CROSSED].nunique().min() - 1).all()
    assert (df(data=stimuli().assign(half=stimuli()["respondent"] % 2), id="half", vcov="CR1") == 1).all()


def dominated(rng: np.random.Generator, sizes: Sequence[int]) -> pd.DataFrame:
    """Ratings without effects on average; clusters of stated sizes differ in level and effect."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    rude = rng.integers(0, 2, len(cluster))
    level, effect = rng.normal(0, 0.3, len(sizes)), rng.normal(0, 0.5, len(sizes))
    value = level[cluster] + effect[cluster] * rude + rng.normal(0, 1, len(cluster))
    tone = pd.Categorical(np.where(rude, "rude", "kind"), ["kind", "rude"])
    return pd.DataFrame({"tone": tone, "id": cluster, "value": value, "half": np.arange(len(cluster)) % 2})


ONE_OF_THIRTY = (1000, *[20] * 29)


@pytest.mark.parametrize("vcov", ["survey", "CR0", "CR1", "CR1S", "CV3"])
@pytest.mark.parametrize("verb", [amce, mm, partial(amce_diffs, by="half")])
def test_one_cluster_with_most_rows_is_warned_of_by_the_effective_number_of_clusters(verb, vcov) -> None:
    data = dominated(np.random.default_rng(1), ONE_OF_THIRTY)
    with pytest.warns(FewClusters, match=r"the 30 of tone=\w+.* weigh as 2\.\d equal ones.*has 6\d%.*'CR2'"):
        verb(data, "value ~ tone", id="id", vcov=vcov)


def test_no_warning_of_unequal_clusters_with_cr2_or_where_weights_make_them_equal() -> None:
    data = dominated(np.random.default_rng(1), ONE_OF_THIRTY)
    data["weight"] = 1 / np.array(ONE_OF_THIRTY)[data["id"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewClusters)
        amce(data, "value ~ tone", id="id", vcov="CR2")
        amce(data, "value ~ tone", id="id", weights="weight", vcov="CR1")
        amce(dominated(np.random.default_rng(1), [40] * 30), "value ~ tone", id="id", vcov="CR1")
        for vcov in ("CR1", "CV3"):  # Student's t with G - 1 degrees of freedom is for few equal clusters
            amce(dominated(np.random.default_rng(1), [40] * 6), "value ~ tone", id="id", vcov=vcov)


def test_the_warning_says_how_rarely_intervals_cover_with_so_few_clusters() -> None:
    for n, covered in ((5, 88), (10, 92)):
        with pytest.warns(FewClusters, match=f"may contain the true value in only about {covered}%"):
            amce(dominated(np.random.default_rng(1), [200] * n), "value ~ tone", id="id")


def test_few_clusters_of_a_level_or_a_group_are_named_with_a_remedy() -> None:
    data = stimuli()
    fewest = data.dropna(subset="chosen").groupby("tone", observed=True)["text"].nunique()
    with pytest.warns(FewClusters, match=rf"tone=\w+ has {fewest.min()}.*vcov='CR2'"):
        errors(id="text")
    with pytest.warns(FewClusters, match="pigeonhole"):
        errors(id=["respondent", "text"])
    data["early"] = pd.Categorical(np.where(data["respondent"] <= 4, "yes", "no"), ["no", "yes"])
    with pytest.warns(FewClusters, match=r"=\w+ in early=yes has 4, \d+ of the levels"):
        found = amce_diffs(data, "chosen ~ tone", by="early", id="respondent", vcov="CR1").frame
    assert (found["df"] == 3).all()
    data["text"] = data["text"].where(data["tone"] != "rude", "rude_0")
    for vcov in ("survey", "CR1", "CR2"):
        with pytest.warns(FewClusters, match="tone=rude has one, so its effect cannot be separated"):
            errors(data, id="text", vcov=vcov)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewClusters)
        for options in ({"id": "respondent"}, {"id": "text", "vcov": "CR2"}, {"vcov": "HC1"}):
            errors(**options)


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


def assert_cr2(frame: pd.DataFrame, data: pd.DataFrame, design: list, cluster: str, contrasts) -> None:
    x, y = np.column_stack(design).astype(float), data["chosen"].to_numpy(float)
    for row, contrast in zip(frame.itertuples(), contrasts, strict=True):
        expected = dense_cr2(y, x, data[cluster].to_numpy(), contrast)
        assert (row.std_error, row.df) == pytest.approx(expected, rel=1e-9)


def dummies(data: pd.DataFrame, name: str) -> list[pd.Series]:
    return [data[name] == level for level in data[name].cat.categories[1:]]


def test_cr2_errors_of_groups_and_of_clusters_of_few_rows_are_those_of_the_definition() -> None:
    data = stimuli().dropna(subset="chosen")
    fit = amce_diffs(data, "chosen ~ tone", by="author", id="text", vcov="CR2")
    design = []
    for author in data["author"].cat.categories:
        inside = data["author"] == author
        design += [inside, *(inside & tone for tone in dummies(data, "tone"))]
    assert_cr2(fit.frame, data, design, "text", fit.fitted.plan.contrasts)
    data = stimuli().head(240).dropna(subset="chosen").reset_index(drop=True)
    data["task"] = np.arange(len(data)) // 2
    design = [
        np.ones(len(data)),
        *(one for name in ("tone", "author", "reply") for one in dummies(data, name)),
    ]
    frame = errors(data, id="task", vcov="CR2").frame.dropna(subset="std_error")
    assert_cr2(frame, data, design, "task", np.eye(len(design))[1:])


def test_degrees_of_freedom_of_rows_are_rows_less_columns_of_the_groups_compared() -> None:
    data = stimuli().dropna(subset="chosen")
    sizes = data["author"].value_counts(sort=False)
    one = amce(data, "chosen ~ tone", vcov="HC2").frame["df"].dropna()
    assert (one == len(data) - 3).all()
    found = amce_diffs(data, "chosen ~ tone", by="author", vcov="HC1").frame
    for author, rows in found.groupby("author", observed=True):
        assert (rows["df"] == sizes[author] + sizes.iloc[0] - 2 * 3).all()


def test_a_cluster_that_alone_holds_a_level_leaves_cr2_finite() -> None:
    data = pd.DataFrame({"y": [1.0, 0, 1, 1, 0, 1, 0, 1], "a": list("xyxyxyzz"), "g": np.arange(8) // 2})
    assert np.isfinite(amce(data, "y ~ a", id="g", vcov="CR2").frame["std_error"].iloc[1])


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "standard errors"))
def test_a_covariance_without_meaning_is_refused(match, columns, options) -> None:
    with pytest.raises(InputError, match=match):
        errors(**options)


@pytest.mark.long
@pytest.mark.shared
def test_errors_by_stimulus_are_as_much_larger_as_was_found_for_gemini() -> None:
    study = load_study("moderation")
    choices = load_choices(study, SHARED / "data" / "moderation" / "gemini_baseline_flash.csv.gz")
    formula = study.analysis("amce").formula
    pair, text, user = (amce(choices, formula, id=name).frame for name in ("pair_id", "text", "user"))
    by_text, by_user = (
        (by["std_error"] / pair["std_error"]).groupby(pair["feature"], observed=True).agg(["min", "max"])
        for by in (text, user)
    )
    assert by_text.loc["topic"].round(1).tolist() == [2.8, 3.6]
    assert by_text.loc["slur"].round(1).tolist() == [1.2, 2.4]
    assert by_user.loc["identity"].tolist() == pytest.approx([1.14, 1.24], abs=0.03)


# --- one table of all choices --------------------------------------------------------------------

WORDS = [
    *("rows (HC0)", "respondent (survey)", "text (CR1)", "text (CR2)", "user (CR2)", "text (wild bootstrap)"),
    *("text + user (CR1)", "respondent + text + user (CR1)", "text + user (pigeonhole)"),
    "text + user (mixed model)",
]


def under_choices(data: pd.DataFrame, draws: int = 19, **options: object):
    return errors_under_choices(data, FORMULA, pair="judge_id", draws=draws, seed=3, **options)


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return stimuli().rename(columns={"respondent": "judge_id"})


@pytest.fixture(scope="module")
def found(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return under_choices(data, draws=99, slopes="reply")


def rows(found, choice: str) -> pd.DataFrame:
    return found.frame[found.frame["choice"] == choice].reset_index(drop=True)


@pytest.mark.long
def test_choices_come_in_words_with_the_errors_and_limits_of_their_own_fits(found, data) -> None:
    assert list(found.frame["choice"].cat.categories) == WORDS
    assert found.frame["choice"].cat.ordered
    assert set(found.frame.groupby("choice", observed=True).size()) == {5}
    for choice, options in {
        "rows (HC0)": {"vcov": "HC0"},
        "respondent (survey)": {"id": "judge_id"},
        "text (CR2)": {"id": "text", "vcov": "CR2"},
        "text + user (CR1)": {"id": ["text", "user"], "vcov": "CR1"},
    }.items():
        own = errors(data, **options).frame.dropna(subset="std_error")
        columns = ["estimate", "std_error", "lower", "upper"]
        np.testing.assert_allclose(rows(found, choice)[columns], own[columns], rtol=1e-12)
    base, text = rows(found, "rows (HC0)"), rows(found, "text (CR1)")
    assert (base["ratio"] == 1).all()
    np.testing.assert_allclose(text["ratio"], text["std_error"] / base["std_error"])
    assert text["ratio"].max() > 1.4
    drawn = rows(found, "text (wild bootstrap)")
    assert drawn[["std_error", "df", "ratio"]].isna().all(axis=None)
    made = wild(errors(data, id="text", vcov="CR1"), draws=99, seed=3).frame.dropna(subset="lower")
    np.testing.assert_allclose(drawn["lower"], made["lower"])
    mixed = rows(found, "text + user (mixed model)")
    assert set(mixed["clusters"]) == {"text, user, text:reply"}
    assert set(mixed["n_clusters"]) == {12}


@pytest.mark.long
def test_what_cannot_be_computed_is_left_out_with_its_reason(data) -> None:
    found = under_choices(data.drop(columns="user"))
    assert [word for word in found.frame["choice"].cat.categories if word not in WORDS] == [
        "respondent + text (CR1)",
        "text (mixed model)",
    ]
    assert len(found.frame["choice"].cat.categories) == 7
    assert "There is no column 'user', so standard errors by it are not estimated." in found.notes
    bare = under_choices(data.drop(columns=["user", "text"]))
    assert list(bare.frame["choice"].cat.categories) == WORDS[:2]
    alone = under_choices(data.assign(user="only one"))
    assert "text (CR2)" in set(alone.frame["choice"])
    assert "user (CR2)" not in set(alone.frame["choice"])
    assert any(note.startswith("user (CR2) was excluded: ") for note in alone.notes)
    with pytest.raises(InputError, match="loudness"):
        errors_under_choices(data, "chosen ~ loudness", pair="judge_id")


@pytest.mark.long
def test_the_figure_has_a_panel_for_each_attribute_and_its_words_the_largest_ratios(found) -> None:
    figure = found.plot(labels={"tone": "How it is said"})
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["How it is said", "Author", "Reply", "Standard errors over those of independent rows"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [WORDS[k] for k in (0, 1, 6, 9)]
    grid = [label.get_text() for label in figure.axes[-1].get_yticklabels()]
    assert grid == [word for word in WORDS if "wild" not in word]
    told = alt(Result(found.frame, "standard_errors"))
    assert "5 effects under 4 of 10 choices" in told
    largest = found.frame.groupby(["feature", "choice"], observed=True)["ratio"].max()
    for feature in ("tone", "author", "reply"):
        own = largest[feature]
        assert f"{feature.capitalize()} {own.max():.1f}, {own.idxmax()}" in told
    for frame, words in (
        (pd.concat([found.frame] * 2), "one judge and prompt"),
        (found.frame[:0], "no rows"),
    ):
        with pytest.raises(InputError, match=words):
            draw(Result(frame, "standard_errors"))


def test_intervals_are_drawn_around_the_estimate_and_zero_is_marked_where_it_is_near() -> None:
    columns = ["level", "estimate", "lower", "upper"]
    frame = pd.DataFrame([("near", 0.05, -0.05, 0.15), ("far", -0.5, -0.6, -0.4)], columns=columns)
    frame = frame.assign(feature="reply", choice="rows (HC0)", clusters="", method="HC0", ratio=1.0)
    axes = draw(Result(frame, "standard_errors")).axes[0]
    segments = [segment.tolist() for part in axes.collections for segment in part.get_segments()]
    np.testing.assert_allclose([ends[0][0] for ends in segments], [-0.1, -0.1, -0.05])
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["Near\n0.050", "Far\n\N{MINUS SIGN}0.500"]


@pytest.mark.long
def test_the_jackknife_is_that_of_fits_without_each_cluster_in_every_design() -> None:
    data = stimuli().query("respondent <= 12")
    for verb, formula, options in (
        (mm, FORMULA, {}),
        (amce_diffs, "chosen ~ tone + reply", {"by": "author"}),
        (amce, "chosen ~ tone * reply + author", {}),
    ):
        whole = verb(data, formula, id="respondent", vcov="CV3", **options).frame
        left = [
            verb(data[data["respondent"] != one], formula, **options).frame["estimate"].to_numpy()
            for one in data["respondent"].unique()
        ]
        n = len(left)
        squares = ((np.array(left) - whole["estimate"].to_numpy()) ** 2).sum(axis=0) * (n - 1) / n
        known = whole["std_error"].notna()
        np.testing.assert_allclose(whole["std_error"][known], np.sqrt(squares[known]), rtol=1e-8)
        assert (whole["df"][known] == n - 1).all()


def test_a_level_of_one_cluster_has_a_jackknife_error_and_crossed_clusters_are_refused() -> None:
    data = stimuli()
    alone = data.assign(author=pd.Categorical(np.where(data["respondent"] == 1, "one", "rest")))
    found = amce(alone, "chosen ~ tone + author", id="respondent", vcov="CV3").frame
    assert np.isfinite(found["std_error"].dropna()).all()
    with pytest.raises(InputError, match="CV3 is defined for one cluster column"):
        errors(id=CROSSED, vcov="CV3")
    with pytest.raises(InputError, match="CV3 needs clusters"):
        errors(vcov="CV3")


@pytest.mark.parametrize("vcov", ["CR1", "CR2", "CV3"])
def test_squares_of_influences_add_up_to_the_covariance_of_the_fit(vcov: str) -> None:
    fit = errors(id="site", vcov=vcov)
    plan = fit.fitted.plan
    own = native.influence(plan, native.fits_of(plan), vcov, plan.cells.clusters)
    np.testing.assert_allclose(own.T @ own, fit.fitted.solution.vcov, rtol=1e-8, atol=1e-14)


def test_strata_without_clusters_take_each_row_as_one() -> None:
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"a": rng.choice(["x", "y"], 200), "s": np.repeat(["one", "two"], 100)})
    data["y"] = (rng.random(200) < np.where(data["s"] == "one", 0.2, 0.8)).astype(float)
    alone = amce(data, "y ~ a", strata="s").frame["std_error"].dropna()
    numbered = amce(data.assign(row=range(200)), "y ~ a", strata="s", id="row").frame["std_error"].dropna()
    assert np.allclose(alone, numbered, rtol=1e-12)


def test_clusters_of_other_units_count_in_a_plan_of_independent_rows() -> None:
    data = pd.DataFrame({"a": list("xxyy") * 10, "g": ["m", "f"] * 20, "y": [0.0, 1.0, 1.0, 0.0] * 10})
    plan = plan_of(make_request("amce_diffs", "y ~ a", by="g"), data)
    units = RowClusters(np.repeat(np.arange(10), 4), 10)
    assert set(plan.cluster_counts(units, answered=True)) == {10}


def test_a_level_that_is_never_shown_does_not_make_two_even_levels_three() -> None:
    shares = np.array([0.5, 0.5, 0.0])
    assert [_passport_row(shares, place, 0.3, False) for place in (0, 1)] == [
        ("tone", "kind"),
        ("tone", "rude"),
    ]
    assert _passport_row(np.array([0.4, 0.3, 0.3]), 1, 0.3, False) == ("author", "ben")


def test_only_columns_that_a_call_names_travel_to_r() -> None:
    data = pd.DataFrame(columns=["chosen", "tone", "person", "w", "unrelated"])
    options = {"id": "~ person", "weights": "w", "alpha": 0.05}
    assert _columns_in_call(data, "chosen ~ tone", options) == ["chosen", "tone", "person", "w"]
