"""Tables with one row per rating: shapes of public releases; the same numbers as of a column per rater."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pyreadstat
import pytest
import yaml
from cases import cases

from conjury import agreement, alt_test, judge, read
from conjury.inference.errors import InputError
from conjury.inference.tables.reading import ReadingRules
from tests.support.messes.clean_tables import cohen
from tests.support.rating_exports import MODEL, PEOPLE, answers

Run = Callable[..., Any]
SHAPES = yaml.safe_load(Path("tests/fixtures/public_ratings.yaml").read_text(encoding="utf-8"))
FIRST = ("MQM, scores by segment", "MQM, errors by rater", "SQM, without a header", "HelpSteer")
CONVERTED = {"polars": "from_pandas", "pyarrow": "Table.from_pandas", "duckdb": "from_df"}
QUICK = " --draws 0 --coefficient cohen --figures none --json"


def written(shape: dict[str, Any]) -> tuple[str, pd.DataFrame]:
    """The content of a file of that shape, and the answers x of its raters by item."""
    draws, lines, scores = random.Random(7), [], []
    for n in range(30):
        cells: dict[str, Any] = {"n": n, "system": ("alpha", "beta", "gamma")[n % 3], "segment": n // 3}
        raters = []
        for k in (1, 2, 3):
            x, y, z = (min(5, max(1, 1 + n % 5 + draws.choice([-1, 0, 0, 0, 1]))) for _ in "xyz")
            one = {"k": k, "x": x, "y": y, "z": z, "bit": 1 + x % 2, "word": ("Bad", "Good", "Best")[x % 3]}
            cells |= {f"{name}{k}": value for name, value in one.items()}
            one |= {"gender": ("Man", "Woman")[k % 2], "age": 20 + k, "seconds": draws.randrange(20, 400)}
            one |= {"status": ("APPROVED", "AWAITING REVIEW", "TIMED-OUT")[k - 1]}
            one |= {"judge": ("ann", "bob", "gpt4_pair")[k - 1], "vote": ("model_a", "model_b", "tie")[x % 3]}
            raters.append(one)
        parts = raters if shape.get("by") == "rating" else [raters[0]]
        lines += [shape["row"].format(**cells, **one) for one in parts]
        scores.append([one["x"] for one in raters])
    header, frame = shape.get("header"), pd.DataFrame(scores, columns=[*"abc"])
    if header == "[":
        return "[" + ",\n".join(lines) + "]", frame
    return "\n".join([*([header] if header else []), *lines]) + "\n", frame


@pytest.mark.parametrize("name", ["Rater Nr.", "Coder-No.", "Annotator #", "Bewerter Nr", "Évaluateur"])
def test_a_column_that_numbers_raters_is_one_of_raters(name: str, tmp_path: Path, conjury: Run) -> None:
    rows = [f"t{item},{rater},{(item * rater) % 5}" for item in range(9) for rater in (1, 2, 3)]
    (tmp_path / "r.csv").write_text("\n".join([f"Text,{name},Rating", *rows]), encoding="utf-8")
    assert "Next: conjury agreement r.csv" in conjury("read r.csv", cwd=tmp_path).out


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FIRST else pytest.mark.long) for name in SHAPES]
)
def test_a_public_release_is_read_and_the_next_command_runs(name: str, tmp_path: Path, conjury: Run) -> None:
    shape = SHAPES[name]
    content, scores = written(shape)
    (tmp_path / shape["file"]).write_text(content, encoding="utf-8")
    ended = conjury(f"read {shape['file']} {shape.get('options', '')} --json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    following = json.loads(ended.out)["next"]
    assert following.startswith(shape["next"])
    command = following.removeprefix("conjury ")
    if command == following or "COLUMN" in command.split():
        return
    ended = conjury(command + (QUICK if command.startswith("agreement") else " --json"), cwd=tmp_path)
    assert ended.code == 0, ended.err
    if "kappa" in shape:
        rows = pd.DataFrame(next(iter(json.loads(ended.out)["estimates"].values())))
        rows = rows[(rows["dimension"] == shape["kappa"]) & (rows["weights"] == "nominal")]
        pairs = list(combinations(shape.get("raters", "abc"), 2))
        expected = sum(cohen(scores, *pair) for pair in pairs) / len(pairs)
        among = rows[rows["against"].isna()] if "against" in rows else rows
        assert among["estimate"].tolist() == pytest.approx([expected])


def long_and_wide() -> tuple[pd.DataFrame, pd.DataFrame]:
    wide = answers(tuple("12345"), gaps=0).assign(eva=lambda table: table["ann"].to_numpy()[::-1])
    rows = wide.melt("item", var_name="coder", value_name="tone").sample(frac=1, random_state=3)
    return rows.reset_index(drop=True), wide


@pytest.mark.parametrize(
    "library",
    [
        *("", "read", "sample", "Lauf", "labels"),
        *(pytest.param(name, marks=pytest.mark.long) for name in CONVERTED),
    ],
)
def test_rows_and_columns_of_ratings_give_the_same_numbers(library: str, tmp_path: Path) -> None:
    rows, wide = long_and_wide()
    frame, columns = cast(tuple[Any, Any], (rows, wide))
    if library in CONVERTED:
        frame = attrgetter(CONVERTED[library])(pytest.importorskip(library))(rows)
    elif library == "read":
        named = rows.rename(columns={"coder": "who", "tone": "grade given", "item": "what"})
        frame = read(named, ReadingRules(rater_column="who", rating_column=("grade given",), id="what"))
    elif library in ("sample", "Lauf"):  # numbers as text, of answers that the model gave twice
        again = rows[rows["coder"] == MODEL].assign(**{library: "2"})
        frame = pd.concat([rows.assign(**{library: "1"}), again], ignore_index=True)
    elif library == "labels":  # of values, of two dimensions; in the order that is stated
        table = rows.assign(tone=rows["tone"].astype(int), mood=rows["tone"].astype(int))
        words: dict[Any, str] = dict(enumerate(("bad", "low", "even", "high", "top"), 1))
        path = str(tmp_path / "table.dta")
        pyreadstat.write_dta(table, path, variable_value_labels={"tone": words, "mood": words})
        frame = read(path, ReadingRules(rating_column=("tone", "mood"), scale="ordinal"))
        named = wide.replace({str(number): word for number, word in words.items()})
        columns = read(named, ReadingRules(levels={"": tuple(words.values())}))
    results = [agreement(table, ["cohen"], draws=0) for table in (frame, columns)]
    assert ("in the order of --levels: bad, low, even" in str(results[1].notes)) == (library == "labels")
    of_rows, of_columns = (result.frame for result in results)
    assert (MODEL in set(of_rows["among"])) == (library in ("sample", "Lauf"))
    numbers = ["among", "against", "weights", "estimate", "lower", "upper"]
    pd.testing.assert_frame_equal(
        of_rows.query("among != @MODEL and dimension != 'mood'")[numbers], of_columns[numbers]
    )


@pytest.mark.long
def test_judge_and_alt_test_take_rows_of_ratings() -> None:
    tables = long_and_wide()
    shares = [alt_test(table, draws=0).frame["advantage_probability"][0] for table in tables]
    assert shares[0] == pytest.approx(shares[1])
    results = [judge(table, MODEL, PEOPLE).frame.set_index("name")["estimate"] for table in tables]
    assert results[0]["weighted_kappa"] == pytest.approx(results[1]["weighted_kappa"])


@pytest.mark.long
def test_what_takes_one_row_per_answer_refuses_rows_of_ratings(tmp_path: Path, conjury: Run) -> None:
    long_and_wide()[0].to_csv(tmp_path / "long.csv", index=False)
    for command in ("automate long.csv --certainty tone", "compare-systems long.csv --system coder"):
        refused = conjury(command, cwd=tmp_path)
        assert refused.code == 2
        assert "long.csv: each row is one rating, and this command takes one row per answer" in refused.err
    same = conjury(f"compare-runs long.csv long.csv --judge {MODEL} --human {PEOPLE[0]}", cwd=tmp_path)
    assert "differ in 0.0% of" in same.out


@pytest.mark.parametrize(("change", "options", "problem"), cases(__file__, "wrong_rows"))
def test_what_is_wrong_in_rows_of_ratings_is_named(
    change: dict[str, Any], options: dict[str, Any], problem: str
) -> None:
    rows, _ = long_and_wide()
    rows.loc[0, list(change)] = list(change.values())
    if "item" in change:
        rows.loc[1, ["item", "coder"]] = rows.loc[0, ["item", "coder"]].tolist()
    with pytest.raises(InputError) as refusal:
        agreement(read(rows, ReadingRules(**options)), ["cohen"], draws=0)
    assert problem in str(refusal.value)


@pytest.mark.long
def test_cells_of_submissions_that_were_returned_are_not_asked_about(tmp_path: Path, conjury: Run) -> None:
    rows, _ = long_and_wide()
    is_returned = rows["coder"] == "eva"
    status = is_returned.map({True: "RETURNED", False: "APPROVED"})
    table = rows.assign(status=status, tone=rows["tone"].mask(is_returned, "-99"))
    table.to_csv(tmp_path / "rows.csv", index=False)
    for command in ("agreement rows.csv --draws 0", "judge rows.csv --judge ann --human bob,eva"):
        ended = conjury(command, cwd=tmp_path)
        assert ended.code == 0, ended.err
        assert "that Prolific did not accept excluded" in ended.out
    assert "people: 'bob'" in ended.out


@pytest.mark.parametrize(("content", "is_data"), cases(__file__, "headers"))
def test_a_first_row_of_data_is_never_taken_for_the_header(
    content: str, is_data: bool, tmp_path: Path
) -> None:
    path = tmp_path / "some.csv"
    path.write_text(content, encoding="utf-8")
    n_rows = len(content.splitlines())
    if is_data:
        with pytest.raises(InputError, match=r"looks like data.*--header-row 0.*--header-row 1"):
            read(path)
        bare = read(path, ReadingRules(header_row=0)).frame
        assert (len(bare), bare.columns[0]) == (n_rows, "column 1")
    else:
        assert list(read(path).frame.columns) == content.splitlines()[0].split(",")


@pytest.mark.parametrize("groups", ["item,people,,model", "item,people,people,model"])
def test_headings_of_several_columns_are_not_names(groups: str, tmp_path: Path) -> None:
    names, rows = "id,ann,bob,gpt", [f"i{k},{k % 3},{k % 2},{k % 3}" for k in range(5)]
    path = tmp_path / "two.csv"
    path.write_text("\n".join([groups, names, *rows]), encoding="utf-8")
    pd.DataFrame([line.split(",") for line in (groups, names, *rows)]).to_excel(
        tmp_path / "two.xlsx", header=False, index=False
    )
    for each in (path, tmp_path / "two.xlsx"):
        with pytest.raises(
            InputError, match=r"line 1 \('item', 'people', 'model'\) .*; state --header-row 2,"
        ):
            read(each)
        assert list(read(each, ReadingRules(header_row=2)).frame.columns) == names.split(",")
    path.write_text("\n".join(["id,ann,,gpt", *rows]), encoding="utf-8")
    assert len(read(path).frame) == len(rows)
