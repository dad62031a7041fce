"""``conjury conjoint``: from a file of a conjoint survey to effects, in one command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import conjury as package
from conjury.inference.errors import InputError

Run = Callable[..., Any]
JOBS, SCHOOLS, PRICES = ("None", "Cleaner", "Doctor"), ("no school", "college"), ("$50", "$200", "$1,000")


def survey(n: int = 60, tasks: int = 4, seed: int = 3) -> pd.DataFrame:
    """Choices between two profiles; doctors went to college, and nobody without school costs $1,000."""
    draw = np.random.default_rng(seed)
    rows = []
    for person in range(n):
        party, weight = ("Dem", "Rep")[person % 2], round(float(draw.gamma(4, 0.25)) + 0.1, 3)
        for task in range(tasks):
            profiles: list[dict[str, str]] = []
            while len(profiles) < 2:
                profile = {
                    "job": str(draw.choice(JOBS)),
                    "school": str(draw.choice(SCHOOLS)),
                    "price": str(draw.choice(PRICES)),
                }
                if profile["school"] == "college" or (
                    profile["job"] != "Doctor" and profile["price"] != "$1,000"
                ):
                    profiles.append(profile)
            worth = [(part["job"] == "Doctor") + draw.gumbel() for part in profiles]
            for side, profile in enumerate(profiles):
                rows.append(
                    {"resp": f"R{person}", "contest": task + 1, **profile}
                    | {"chosen": int(worth[side] == max(worth)), "party": party, "w": weight}
                )
    return pd.DataFrame(rows)


def estimates(conjury: Run, command: str, place: Path, name: str = "amce") -> pd.DataFrame:
    ended = conjury(f"{command} --json", cwd=place)
    assert ended.code == 0, ended.err
    return pd.DataFrame(json.loads(ended.out)["estimates"][name])


def by_level(frame: pd.DataFrame, column: str = "estimate") -> dict[tuple[str, str], float]:
    keys = zip(frame["feature"], frame["level"], strict=True)
    return dict(zip(keys, frame[column].astype(float), strict=True))


@pytest.mark.long
def test_effects_equal_those_of_statsmodels_with_clusters(tmp_path: Path, conjury: Run) -> None:
    smf = pytest.importorskip("statsmodels.formula.api")
    data = survey()
    data = data[data["school"] == "college"].drop(columns="school")
    data.to_csv(tmp_path / "tidy.csv", sep=";", index=False)
    results = estimates(conjury, "conjoint tidy.csv --vcov CR1S --weights w --reference price=$200", tmp_path)
    fit = smf.wls(
        "chosen ~ C(job, Treatment('None')) + C(price, Treatment('$200'))", data, weights=data["w"]
    ).fit(cov_type="cluster", cov_kwds={"groups": pd.factorize(data["resp"])[0]}, use_t=True)
    effects, errors = by_level(results), by_level(results, "std_error")
    for level in JOBS[1:]:
        term = f"C(job, Treatment('None'))[T.{level}]"
        assert effects["job", level] == pytest.approx(fit.params[term], abs=1e-9)
        assert errors["job", level] == pytest.approx(fit.bse[term], abs=1e-9)
    term = "C(price, Treatment('$200'))[T.$1,000]"
    assert effects["price", "$1,000"] == pytest.approx(fit.params[term], abs=1e-9)


@pytest.mark.long
def test_restrictions_are_found_and_averaged_over(tmp_path: Path, conjury: Run) -> None:
    data = survey(200)
    data.to_csv(tmp_path / "tidy.csv", index=False)
    ended = conjury("conjoint tidy.csv --reference price=$200 --json", cwd=tmp_path)
    document = json.loads(ended.out)
    assert document["references"] == {"job": "None", "school": "no school", "price": "$200"}
    pairs = {(part["first"], part["second"]): part["pairs"] for part in document["restrictions"]}
    assert pairs == {
        ("job", "school"): [["Doctor", "no school"]],
        ("school", "price"): [["no school", "$1,000"]],
    }
    # by hand: cells of school by its partners together, equally weighted where both levels occur
    cells = data.groupby(["school", "job", "price"])["chosen"].mean().unstack("school")
    expected = (cells["college"] - cells["no school"]).dropna().mean()
    results = by_level(pd.DataFrame(document["estimates"]["amce"]))
    assert results["school", "college"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.long
def test_a_restriction_of_two_attributes_alone_is_averaged_over_levels_of_both(
    tmp_path: Path, conjury: Run
) -> None:
    data = survey()
    data.to_csv(tmp_path / "tidy.csv", index=False)
    results = by_level(estimates(conjury, "conjoint tidy.csv --attributes job,school", tmp_path))
    jobs = data.groupby(["school", "job"])["chosen"].mean().unstack("school")
    expected = (jobs["college"] - jobs["no school"]).dropna().mean()
    assert results["school", "college"] == pytest.approx(expected, abs=1e-9)


def test_subgroups_are_compared_with_weights(tmp_path: Path, conjury: Run) -> None:
    data = survey()
    data.to_csv(tmp_path / "tidy.csv", index=False)
    command = "conjoint tidy.csv --weights w --by party --attributes job"
    gaps = by_level(estimates(conjury, command, tmp_path, "mm_diffs"))
    means = (data["chosen"] * data["w"]).groupby([data["party"], data["job"]]).sum() / data.groupby(
        ["party", "job"]
    )["w"].sum()
    assert gaps["job", "Doctor"] == pytest.approx(means["Rep", "Doctor"] - means["Dem", "Doctor"], abs=1e-9)


def test_samples_are_those_of_the_estimates(tmp_path: Path, conjury: Run) -> None:
    data = survey(20)
    data["party"] = data["party"].where(~data["resp"].isin(["R0", "R1"]))
    data["job"] = data["job"].where(data.index % 8 > 0)
    data.to_csv(tmp_path / "gaps.csv", index=False)
    command = "--all conjoint gaps.csv --by party --attributes job --table t.csv --figure f.svg"
    ended = conjury(command, cwd=tmp_path)
    used = data[data["job"].notna()]
    n_all, n_by, gone = len(used), int(used["party"].notna().sum()), len(data) - len(used)
    assert "job: Doctor" in ended.out
    assert f"{gone} profiles without a level of 'job' are in no estimate." in ended.out
    assert f"20 respondents, 4 tasks of 2 profiles each, {n_all} profiles;" in ended.out
    counts = [ended.out.count(f"N = {n} profiles of {people} ") for n, people in ((n_all, 20), (n_by, 18))]
    assert counts == [1, 2]
    table = pd.read_csv(tmp_path / "t.csv").set_index("result")
    assert {*table.loc["amce", "n_respondents"]} == {20}
    assert {*table.loc["amce_by", "n_respondents"]} == {*table.loc["mm_diffs", "n_respondents"]} == {18}
    differences = table.loc["amce_diffs"]
    clear = int(((differences["lower"] > 0) | (differences["upper"] < 0)).sum())
    drawing = (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert f"{clear} of {len(differences)} differences by party" in drawing


def test_several_values_are_excluded_and_unused_weights_are_named(tmp_path: Path, conjury: Run) -> None:
    data = survey(12).rename(columns={"w": "weight"})
    data["wave"] = data["resp"].map(lambda name: "abc"[int(name[1:]) % 3])
    data.to_csv(tmp_path / "waves.csv", index=False)
    command = "conjoint waves.csv --attributes job"
    excluded = conjury(f"--all {command} --exclude wave=a --exclude wave=c", cwd=tmp_path)
    assert "with 'wave' equal to 'a' or 'c' excluded." in excluded.out
    kept_waves = conjury(f"{command} --where wave=a --where wave=c", cwd=tmp_path)
    assert ["4 respondents" in excluded.out, "8 respondents" in kept_waves.out] == [True, True]
    note = "Note: Column 'weight' may contain survey weights, which only --weights weight uses."
    assert note in conjury(command, cwd=tmp_path).out
    assert "may contain survey" not in conjury(f"{command} --weights weight", cwd=tmp_path).out


def test_a_level_na_of_a_wide_table_and_a_group_in_ids_are_accepted(tmp_path: Path, conjury: Run) -> None:
    data = survey(12)
    per_task(data.replace("None", "NA")).to_csv(tmp_path / "wide.csv", index=False)
    data.to_csv(tmp_path / "long.csv", index=False)
    wide = estimates(conjury, "conjoint wide.csv --levels job=NA,Cleaner,Doctor --attributes job", tmp_path)
    long = estimates(conjury, "conjoint long.csv --id party,resp --by party --attributes job", tmp_path)
    assert wide["level"].tolist() == ["NA", "Cleaner", "Doctor"]
    assert wide["estimate"].tolist() == pytest.approx(long["estimate"].tolist())


@pytest.mark.long
def test_one_command_prints_and_writes_everything(
    tmp_path: Path, conjury: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # levels of narrow terminals take two lines
    survey().to_csv(tmp_path / "tidy.csv", index=False)
    ended = conjury("conjoint tidy.csv --html page.html --figure amce.svg --table all.csv", cwd=tmp_path)
    assert ended.code == 0
    for text in (
        "Column 'resp' is taken as the respondent.",
        "None (reference)",
        "60 respondents (clusters)",
    ):
        assert text in ended.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "Never shown together" in page
    assert (tmp_path / "amce.svg").exists()
    rows = pd.read_csv(tmp_path / "all.csv")
    assert {"amce", "mm"} <= set(rows["result"])
    assert rows[["level_of_interval", "n_respondents"]].drop_duplicates().to_numpy().tolist() == [[0.95, 60]]
    monkeypatch.setenv("COLUMNS", "90")
    narrow = conjury("conjoint tidy.csv --by party --figure by.svg --table by.tex", cwd=tmp_path)
    assert narrow.code == 0
    heads = [re.findall("AMCE, points.*", one.out)[0].count("95% interval") for one in (ended, narrow)]
    assert heads == [2, 1]
    latex = (tmp_path / "by.tex").read_text(encoding="utf-8")
    assert r"\label{tab:amce_by}" in latex
    assert latex.count("by respondent (60 clusters)") == latex.count(r"\begin{table}") == 6
    drawings = [(tmp_path / name).read_text(encoding="utf-8") for name in ("amce.svg", "by.svg")]
    assert ["Dem" in text and "Rep" in text for text in drawings] == [False, True]


WRITINGS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "yes and no": lambda data: data.assign(chosen=data["chosen"].map({1: "Yes", 0: "no "})),
    "truth values": lambda data: data.assign(chosen=data["chosen"].astype(bool)),
    "name of the profile": lambda data: data.assign(
        profile=data.groupby(["resp", "contest"]).cumcount().map({0: "A", 1: "B"}),
        chosen=data.groupby(["resp", "contest"])["chosen"].transform(
            lambda part: "Profile " + "AB"[int(part.to_numpy().argmax())]
        ),
    ),
    "other order": lambda data: data.sample(frac=1, random_state=1),
    "other names": lambda data: data.rename(
        columns={"resp": "CaseID", "contest": "contest_no", "chosen": "Chosen_Job"}
    ),
    "capitals and spaces": lambda data: data.assign(
        job=data["job"].where(data.index % 5 > 0, data["job"].str.upper() + " ")
    ),
}
EVERYDAY = ("yes and no", "name of the profile")


@pytest.mark.parametrize(
    "writing", [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.long) for name in WRITINGS]
)
def test_other_writings_of_one_survey_give_one_result(tmp_path: Path, conjury: Run, writing: str) -> None:
    data = survey()
    data.to_csv(tmp_path / "a.csv", index=False)
    WRITINGS[writing](data).to_csv(tmp_path / "b.tsv", sep="\t", index=False)
    first, second = (estimates(conjury, f"conjoint {name}", tmp_path) for name in ("a.csv", "b.tsv"))
    assert sorted(second["estimate"].round(9)) == sorted(first["estimate"].round(9))
    assert sorted(second["std_error"].dropna().round(9)) == sorted(first["std_error"].dropna().round(9))


def per_task(data: pd.DataFrame, names: str = "{0}{1}", choice: str = "chosen") -> pd.DataFrame:
    """One row per task, with a column of the chosen profile."""
    numbered = data.assign(profile=data.groupby(["resp", "contest"]).cumcount() + 1)
    wide = numbered.pivot(
        index=["resp", "contest"], columns="profile", values=["job", "school", "price", "chosen"]
    )
    wide.columns = pd.Index([names.format(name, number) for name, number in wide.columns])
    first = names.format("chosen", 1)
    if choice == "number":
        wide["choice"] = 2 - wide[first].astype(int)
        wide = wide.drop(columns=[first, names.format("chosen", 2)])
    return wide.reset_index()


def per_respondent(data: pd.DataFrame, names: str) -> pd.DataFrame:
    """One row per respondent."""
    tasks = per_task(data, "{0}|{1}", "number").set_index(["resp", "contest"]).unstack("contest")
    tasks.columns = pd.Index(
        [
            f"choice_{task}" if name == "choice" else names.format(*name.split("|"), task)
            for name, task in tasks.columns
        ]
    )
    return tasks.reset_index()


@pytest.mark.long
@pytest.mark.parametrize(
    ("tasks", "change"),
    [
        (4, per_task),
        (4, lambda data: per_task(data, "{0}_{1}", "number")),
        (4, lambda data: per_task(data, "p{1}_{0}", "number")),
        (2, lambda data: per_respondent(data, "{0}_t{2}_p{1}")),
        (2, lambda data: per_respondent(data, "{0}_p{1}_t{2}")),
        (4, lambda data: per_respondent(data, "{0}_{2}_{1}")),
    ],
)
def test_wide_tables_give_the_effects_of_long_ones(
    tmp_path: Path, conjury: Run, tasks: int, change: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    data = survey(30, tasks)
    data.to_csv(tmp_path / "long.csv", index=False)
    change(data).to_csv(tmp_path / "wide.csv", index=False)
    long, wide = (
        by_level(estimates(conjury, f"conjoint {name} --attributes job,price", tmp_path))
        for name in ("long.csv", "wide.csv")
    )
    assert wide == pytest.approx(long, abs=1e-9)


def test_an_export_of_qualtrics_is_read_by_the_rules_that_are_stated(tmp_path: Path, conjury: Run) -> None:
    levels = [("no", "yes"), ("yes", "no"), ("no", "yes"), ("yes", "no")] * 3
    rows = [
        f"R_{at},Post {'AB'[(at // 2) % 2]},Curse,{left},{right},{'LR'[at % 2]},IP Address,{'1' * (at < 11)}"
        for at, (left, right) in enumerate(levels)
    ]
    rows += ["R_12,I can't say,Curse,no,yes,L,Survey Preview,1", "R_13,Post A,Curse,no,yes,L,Spam,1"]
    header = "ResponseId,choice1,K-1-1,K-1-1-1,K-1-2-1,party,Status,w"
    (tmp_path / "export.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    means = by_level(estimates(conjury, "conjoint export.csv", tmp_path, "mm"))
    assert means == pytest.approx({("Curse", "no"): 0.5, ("Curse", "yes"): 0.5})
    ended = conjury("--all conjoint export.csv --by party --levels party=R,L", cwd=tmp_path)
    assert "Respondents excluded: 1 as preview, 1 as spam; 12 of 14 remain." in ended.out
    assert ended.out.count("export.csv: 14 rows, 8 columns.") == 1
    assert "party: R 12 of 6, L 12 of 6." in ended.out
    assert "6 respondents" in conjury("conjoint export.csv --where party=L", cwd=tmp_path).out
    assert "'w' are missing in row 12;" in conjury("conjoint export.csv --weights w", cwd=tmp_path).err


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        (lambda data: pd.concat([data, data]), "", "--id SURVEY,RESPONDENT"),
        (lambda data: data.assign(chosen=data["chosen"].where(data.index != 4, -99)), "", "--missing '-99'"),
        (
            lambda data: data.assign(chosen=data["chosen"].where(data.index > 1, 1)),
            "",
            "2 profiles of one task",
        ),
        (lambda data: data.assign(job=data["job"].where(data.index > 3, ".")), "", "--missing '.'"),
        (lambda data: data.assign(chosen=data["chosen"] + 1), "", "--relabel '1=1'"),
        (lambda data: data.drop(columns="resp"), "", "name it with --id"),
        (lambda data: data, "--reference job=Docter", "did you mean 'Doctor'"),
        (lambda data: data.assign(w=data["w"].where(data.index != 3, -1)), "--weights w", "row 4"),
        (lambda data: data.assign(w=data.index), "--by w", "several values for respondent"),
        (lambda data: data.assign(w=data.groupby("resp").ngroup()), "--by w", "--cut w=9.5 (the median)"),
        (lambda data: data, "--by w --cut w=2,1", "rising order"),
        (lambda data: data.replace("Rep", "I can't"), "--by party", """state --missing "I can't"."""),
        (lambda data: data, "--strict", "which is a guess"),
        (
            lambda data: per_task(data, choice="number").assign(choice=lambda wide: 2 - wide["choice"]),
            "",
            "if '1' means the first, add --relabel '1=1' --relabel '0=2'",
        ),
        (lambda data: data.assign(chosen=data["contest"] + 3), "--scale interval", "one rating per task"),
        (
            lambda data: data.assign(job="A"),
            "--attributes job,price",
            "'job' has one level only; leave it out of",
        ),
        (lambda data: data.replace("None", "NA"), "", "--levels 'job=NA,Cleaner,Doctor', else"),
        (
            lambda data: pd.concat(
                [data.assign(profile=data.index % 2), data.assign(profile=data.index % 2)]
            ),
            "",
            "tasks with 2 rows of each 'profile'",
        ),
    ],
)
def test_what_may_be_wrong_is_asked_about(
    tmp_path: Path, conjury: Run, change: Callable[[pd.DataFrame], pd.DataFrame], options: str, sentence: str
) -> None:
    change(survey(20)).to_csv(tmp_path / "tidy.csv", index=False)
    ended = conjury(f"conjoint tidy.csv {options}", cwd=tmp_path)
    assert ended.code == 2
    assert sentence in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.long
def test_a_drafted_study_gives_the_same_effects_by_fit(tmp_path: Path, conjury: Run) -> None:
    data = survey(40)
    data = data[data.groupby(["resp", "contest"])["price"].transform(lambda part: "$1,000" not in set(part))]
    data = data.rename(columns={"school": "Last school"})
    data.to_csv(tmp_path / "tidy.csv", index=False)
    command = "conjoint tidy.csv --reference price=$200 --by w --cut w=1 --draft-study study.yaml"
    drafted = by_level(estimates(conjury, command, tmp_path))
    text = (tmp_path / "study.yaml").read_text(encoding="utf-8")
    assert "formula: chosen ~ job * last_school + price" in text
    assert "No profile of the survey shows them together." in text
    ended = conjury(
        "fit study.yaml --data study_choices.parquet --by w --draws 10 --out results", cwd=tmp_path
    )
    assert ended.code == 0, ended.err
    assert set(pd.read_csv(tmp_path / "results/tables/amce_by_w.csv")["w"]) == {"below 1", "1 or more"}
    fitted = pd.read_csv(tmp_path / "results" / "tables" / "amce.csv")
    assert sorted(fitted["estimate"].round(9)) == sorted(np.round(list(drafted.values()), 9))
    again = conjury("conjoint tidy.csv --draft-study study.yaml", cwd=tmp_path)
    assert (again.code, "not overwritten" in again.err) == (2, True)


@pytest.mark.long
def test_fit_takes_labels_of_levels_for_their_ids(tmp_path: Path, conjury: Run) -> None:
    from conjury.inference.readers.prepare import load_choices
    from conjury.inference.study import load_study

    data = survey(12)
    data.to_csv(tmp_path / "tidy.csv", index=False)
    assert conjury("conjoint tidy.csv --draft-study study.yaml", cwd=tmp_path).code == 0
    study = load_study(tmp_path / "study.yaml")
    choices = pd.read_parquet(tmp_path / "study_choices.parquet")
    labels = {level.id: f" {level.label.upper()}" for part in study.attributes for level in part.levels}
    written = choices.assign(**{part.id: choices[part.id].map(labels) for part in study.attributes})
    written.to_csv(tmp_path / "labels.csv", index=False)
    ids, by_label = (load_choices(study, tmp_path / name) for name in ("study_choices.parquet", "labels.csv"))
    for part in study.attributes:
        assert by_label[part.id].astype(str).tolist() == ids[part.id].astype(str).tolist()
    assert {*ids["price"].astype(str)} == {"level_50", "level_200", "level_1_000"}


@pytest.mark.long
def test_python_gives_the_numbers_of_the_command_from_a_file_or_a_table(tmp_path: Path, conjury: Run) -> None:
    data = survey(20)
    data.to_csv(tmp_path / "tidy.csv", index=False)
    printed = estimates(conjury, "conjoint tidy.csv --weights w --by party", tmp_path, "amce_diffs")
    for source in (data, tmp_path / "tidy.csv", pa.Table.from_pandas(data)):
        effects = package.conjoint(source, weights="w", by="party")
        assert by_level(effects.results["amce_diffs"].frame) == pytest.approx(by_level(printed))
    assert "20 respondents, 4 tasks of 2 profiles each" in repr(effects)
    assert effects.frame["level"].tolist()[:2] == ["None", "Cleaner"]
    assert effects.plot() is not None
    rated = package.conjoint(data.assign(chosen=data["chosen"] * 3 + data["contest"]), by="party")
    page, of_ratings = effects.to_html(), rated.to_html()
    assert "How the file was read" in page
    for title, unit in (("Effects (AMCE) by party", "points"), ("Marginal means by party", "percent")):
        assert f"<h2>{title}, {unit}</h2>" in page
        assert f"<h2>{title}</h2>" in of_ratings
    with pytest.raises(InputError, match=r"there is no column 'weigth' \(did you mean|'weigth'"):
        package.conjoint(data, weights="weigth")


@pytest.mark.slow
def test_engines_are_compared_with_weights_and_in_subgroups(tmp_path: Path, conjury: Run) -> None:
    frame = survey()
    frame.to_csv(tmp_path / "survey.csv", index=False)
    drafted = conjury("conjoint survey.csv --draft-study s.yaml", cwd=tmp_path)
    assert drafted.code == 0, drafted.err
    command = "compare s.yaml --data s_choices.parquet --engines native,statsmodels --weights w --by party"
    ended = conjury(f"{command} --json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    differences = pd.DataFrame(json.loads(ended.out)["differences"])
    assert set(differences["party"]) == {"Dem", "Rep"}
    gaps = differences["estimate_native"] - differences["estimate_statsmodels"]
    assert gaps.abs().max() < 1e-9
    plain = conjury("compare s.yaml --data s_choices.parquet --engines native --json", cwd=tmp_path)
    assert len(json.loads(plain.out)["differences"]) < len(differences)
    ended = conjury(
        "check s.yaml --results r --data s_choices.parquet --weights w --fail-on none", cwd=tmp_path
    )
    assert ended.code == 0, ended.err
    for name in ("compare", "check"):
        ended = conjury(f"{name} s.yaml --results r --data s_choices.parquet --weights wt", cwd=tmp_path)
        assert ended.code == 2
        assert "column 'wt', the weights of the study, is missing" in " ".join(ended.err.split())
