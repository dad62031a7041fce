"""Verdicts that stand alone at an error: thresholds, exact limits, decisions, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import conjury
from conjury.inference.errors import InputError

ERRORS = [0.05, 0.1, 0.3]


def verdicts(n: int = 3000, labelled: int = 1500, seed: int = 1) -> pd.DataFrame:
    """Verdicts that are right with a probability that grows with the confidence."""
    rng = np.random.default_rng(seed)
    sure, label = rng.uniform(0, 1, n), np.where(rng.random(n) < 0.6, "pass", "fail")
    wrong = rng.random(n) < 0.5 * (1 - sure) ** 2
    verdict = np.where(wrong, np.where(label == "pass", "fail", "pass"), label)
    person = pd.Series(label, dtype=object)
    person[rng.permutation(n)[labelled:]] = None
    return pd.DataFrame({"verdict": verdict, "sure": sure, "person": person, "wrong": wrong})


def test_limits_are_those_of_clopper_and_pearson_among_the_rows_from_the_threshold_on() -> None:
    table = verdicts()
    result = conjury.automate(table, "verdict", "person", "sure", errors=ERRORS)
    rows = result.frame.set_index("name")
    thresholds = result.extra["thresholds"].query("`class` == ''").set_index("error")
    for error in ERRORS:
        inside = table["sure"] >= thresholds.loc[error, "threshold"]
        assert rows.loc[f"automated_share[error={error:g}]", "estimate"] == inside.mean()
        among = table[inside & table["person"].notna()]
        row = rows.loc[f"automated_error[error={error:g}]"]
        assert (row["n"], row["estimate"]) == (len(among), among["wrong"].mean())
        test = stats.binomtest(int(among["wrong"].sum()), len(among), alternative="less")
        assert row["upper"] == pytest.approx(test.proportion_ci(1 - 0.05 / 4).high)
        assert row["upper"] <= error
    shares = [rows.loc[f"automated_share[error={error:g}]", "estimate"] for error in ERRORS]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_next_larger_share_would_not_be_allowed() -> None:
    table = verdicts()
    share = conjury.automate(table, "verdict", "person", "sure", errors=[0.05]).frame["estimate"][0]
    next_threshold = np.sort(table["sure"])[::-1][int(np.ceil((share + 0.05) * len(table))) - 1]
    among = table[(table["sure"] >= next_threshold) & table["person"].notna()]
    assert stats.binom.cdf(among["wrong"].sum(), len(among), 0.05) > 0.05 / 4


def share_by_loops(sure: np.ndarray, labelled: np.ndarray, wrong: np.ndarray, error: float) -> float:
    """The largest share of rows whose tests all pass, from one of four places on at 0.0125 each."""
    falling = sorted(sure, reverse=True)
    cuts = sorted({falling[int(np.ceil(k * len(sure) / 20)) - 1] for k in range(1, 21)}, reverse=True)
    counts = [(sum(labelled[sure >= cut]), sum(wrong[sure >= cut])) for cut in cuts]
    starts = [place for place, (n, _) in enumerate(counts) if (1 - error) ** n <= 0.0125]
    best = 0.0
    for part in np.array_split(starts, 4):
        for place in range(part[0], len(cuts)) if len(part) else ():
            n, k = counts[place]
            if stats.binomtest(k, n, error, alternative="less").pvalue > 0.0125:
                break
            best = max(best, float(np.mean(sure >= cuts[place])))
    return best


@pytest.mark.parametrize("error", [0.1, 0.2])
def test_shares_are_those_of_four_sequences_of_tests_also_where_confidence_is_tied(error: float) -> None:
    shares = []
    for seed in range(8):
        table = verdicts(400 + seed, 250, seed)
        table["sure"] = table["sure"].round(1 + seed % 2)
        labelled = table["person"].notna().to_numpy()
        expected = share_by_loops(table["sure"].to_numpy(), labelled, labelled & table["wrong"], error)
        rows = conjury.automate(table, "verdict", "person", "sure", errors=[error]).frame
        assert rows.loc[rows["class"] == "", "estimate"].iloc[0] == pytest.approx(expected)
        shares.append(expected)
    assert len(set(shares)) > 3


def test_subgroups_have_the_error_among_their_automated_rows_and_sentences_have_the_numbers() -> None:
    table = verdicts().assign(language=lambda t: np.where(t.index % 10, "en", "de"))
    table["rare"] = np.where(table["sure"].rank(ascending=False) == 1, "yes", "no")
    table.loc[table["rare"] == "yes", "person"] = np.where(
        table.loc[table["rare"] == "yes", "verdict"] == "pass", "fail", "pass"
    )
    errors = [0.001, 0.05, 0.3]
    result = conjury.automate(table, "verdict", "person", "sure", errors=errors, by=["language", "rare"])
    rows = result.frame[result.frame["measure"] == "automated_error"].set_index(["by", "level"])
    alone = ~result.extra["decisions"]["person_needed_0.05"]
    labelled = table["person"].notna()
    wrong = labelled & (table["person"] != table["verdict"])
    for by, level in (("language", "de"), ("language", "en"), ("rare", "no")):
        inside = alone & (table[by] == level)
        row, k, n = rows.loc[(by, level)], int((inside & wrong).sum()), int((inside & labelled).sum())
        limit = stats.binomtest(k, n, alternative="less").proportion_ci(0.95).high
        assert (row["n"], row["estimate"], row["lower"]) == (n, pytest.approx(k / n), 0)
        assert row["upper"] == pytest.approx(limit)
    assert rows.loc[("rare", "yes"), ["estimate", "upper", "n"]].tolist() == [1, 1, 1]
    k, n = int((alone & wrong).sum()), int((alone & labelled).sum())
    limit = stats.binomtest(k, n, alternative="less").proportion_ci(1 - 0.05 / 4).high
    assert result.verdict[0] == (
        f"At an error of 0.05 the judge may decide {alone.mean():.1%} of 3,000 rows alone: among {n:,} "
        f"labelled rows of these {k / n:.1%} are wrong, at most {limit:.1%} with confidence 95%."
    )
    assert "No share can stand alone at an error of 0.1%:" in result.verdict[2]
    names = [f"automated_share[{name}][error=0.05]" for name in ("fail", "pass")]
    fail, passed = result.frame.set_index("name").loc[names, "estimate"]
    assert result.verdict[3] == (
        f"Separately for what the judge says, an error of 0.05 allows {fail:.1%} of its 'fail', "
        f"{passed:.1%} of its 'pass'."
    )
    assert (
        result.verdict[4]
        == f"People gave another label in {wrong.sum()} of {labelled.sum():,} labelled rows."
    )


@pytest.mark.slow
def test_the_error_is_larger_than_stated_in_at_most_one_of_twenty_tables() -> None:
    beyond = 0
    for seed in range(400):
        table = verdicts(1500, 400, seed)
        threshold = conjury.automate(table, "verdict", "person", "sure", errors=[0.1]).extra["thresholds"]
        at = float(threshold.query("`class` == ''")["threshold"].iloc[0])
        # Above a threshold t the error of uniform confidence is (1 - t)^2 / 6.
        beyond += np.isfinite(at) and (1 - at) ** 2 / 6 > 0.1
    assert beyond <= 400 * 0.05 + 2.5 * np.sqrt(400 * 0.05 * 0.95)


def test_what_the_judge_says_is_bounded_apart_and_people_get_the_other_rows(tmp_path) -> None:  # type: ignore[no-untyped-def]
    table = verdicts()
    table.loc[:9, "sure"] = np.nan
    result = conjury.automate(table, "verdict", "person", "sure", errors=[0.1])
    assert {"automated_share[pass][error=0.1]", "automated_share[fail][error=0.1]"} <= set(
        result.frame["name"]
    )
    needed = result.extra["decisions"]["person_needed_0.1"]
    assert needed[:10].all()
    share = result.frame.set_index("name").loc["automated_share[error=0.1]", "estimate"]
    assert (~needed).sum() == round(share * (len(table) - 10))
    assert "10 rows without a verdict or a confidence: for people." in result.notes


def test_few_labels_allow_nothing() -> None:
    result = conjury.automate(verdicts(200, 20), "verdict", "person", "sure", errors=[0.01, 0.05])
    assert result.frame["measure"].tolist() == ["automated_share"] * 6
    assert (result.frame["estimate"] == 0).all()
    assert result.verdict[0].startswith("No share can stand alone at an error of 1% or 5%")


def test_labels_of_sure_verdicts_alone_are_noticed() -> None:
    table = verdicts()
    table["person"] = table["person"].where(table["sure"] > 0.6)
    notes = conjury.automate(table, "verdict", "person", "sure").notes
    assert any("labelled rows by the judge's confidence" in note for note in notes)


@pytest.mark.parametrize(
    ("change", "options", "part"),
    [
        ({"sure": "high"}, {}, "'sure' in row 1 is no number"),
        ({"verdict": np.linspace(0, 1, 3000), "person": np.linspace(0, 1, 3000)}, {}, "contains ratings"),
        ({"item": [1, 2, 3] * 1000}, {"id": "item"}, "'item' repeats"),
        ({"person": None}, {}, "label some rows"),
        ({}, {"errors": [5]}, "errors has 5"),
        ({}, {"certainty": "certainty"}, "no column 'certainty'"),
    ],
)
def test_tables_that_allow_no_exact_limit_are_refused(
    change: dict[str, object], options: dict[str, object], part: str
) -> None:
    with pytest.raises(InputError) as refusal:
        conjury.automate(verdicts().assign(**change), "verdict", "person", **{"certainty": "sure", **options})
    assert part in str(refusal.value)


def test_an_error_that_is_named_twice_has_one_row_and_is_written_as_it_was_named() -> None:
    table = verdicts(300, 100)
    once, twice = (
        conjury.automate(table, "verdict", "person", "sure", errors=errors)
        for errors in ([0.015, 0.3], [0.3, 0.015, 0.3])
    )
    assert sorted(once.frame["name"]) == sorted(twice.frame["name"])
    assert any("at an error of 1.5%" in sentence for sentence in once.verdict)


def test_rows_on_which_people_are_divided_are_counted_in_a_note() -> None:
    table = verdicts(300, 200)
    table["second"] = table["person"].where(table.index % 4 > 0, "pass")
    divided = ((table["person"] == "fail") & (table["second"] == "pass")).sum()
    result = conjury.automate(table, "verdict", ["person", "second"], "sure", errors=[0.3])
    assert any(note.startswith(f"{divided} rows with as many people for one label") for note in result.notes)


@pytest.mark.parametrize(
    ("change", "options", "part"),
    [
        ({}, {"errors": []}, "errors is empty"),
        ({"sure": np.inf}, {}, "'sure' in row 1 is no number ('inf')"),
        ({"item": None}, {"id": "item"}, "column 'item' is empty in row 1"),
    ],
)
def test_further_requests_that_cannot_be_are_refused(change, options, part: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError) as refusal:
        conjury.automate(verdicts(50, 50).assign(**change), "verdict", "person", "sure", **options)
    assert part in str(refusal.value)


def test_copies_of_rows_are_refused_since_exact_limits_need_independent_rows() -> None:
    table = verdicts(50, 50).assign(text=[f"comment {k}" for k in range(50)])
    with pytest.raises(InputError, match="row 51 repeats an earlier row in every column"):
        conjury.automate(pd.concat([table, table.head(2)]), "verdict", "person", "sure")


def test_labels_that_follow_the_verdict_are_named_in_a_note() -> None:
    table = verdicts(2000, 2000)
    chosen = np.random.default_rng(5).random(2000) < np.where(table["verdict"] == "fail", 0.6, 0.1)
    known = table.assign(person=table["person"].where(chosen), sampling_probability=0.5)
    notes = conjury.automate(known, "verdict", "person", "sure", errors=[0.1]).notes
    assert any(note.startswith("People labelled rows by the judge's verdict") for note in notes)
    assert any(note.startswith("'sampling_probability' is not used") for note in notes)
    assert not any(
        "judge's verdict" in note for note in conjury.automate(verdicts(), "verdict", "person", "sure").notes
    )


def test_labels_of_models_or_chosen_rows_certify_nothing() -> None:
    table = verdicts(600, 400)
    with pytest.raises(InputError, match="all 400 labels of 'person' were written by a model"):
        conjury.automate(table.assign(label_by="model gpt-5"), "verdict", "person", "sure")
    with pytest.raises(InputError, match=r"400 labels are of rows that people chose.*; label some"):
        conjury.automate(table, "verdict", "person", "sure", labelled={"sampled": "chosen"})
    by_judge = conjury.automate(table, "verdict", "person", "sure", labelled={"sampled": "judge"})
    assert "400 labelled rows were drawn by the judge's answer" in by_judge.claims().does_not_say
    half = np.arange(600) < 300
    some = conjury.automate(
        table.assign(label_by=np.where(half, "model", "person ann")), "verdict", "person", "sure"
    )
    people = conjury.automate(table.assign(person=table["person"].mask(half)), "verdict", "person", "sure")
    assert some.settings["n_labelled"] == people.settings["n_labelled"]
    assert some.frame["upper"].tolist() == pytest.approx(people.frame["upper"].tolist(), nan_ok=True)
    assert any("were written by a model and are not used" in note for note in some.notes)
