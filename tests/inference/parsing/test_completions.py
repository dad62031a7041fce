from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.parsing.answer_rules import response_spec
from conjury.inference.parsing.completions import Completions, read_completions
from conjury.inference.parsing.label_rules import joke_type
from conjury.inference.parsing.option_names import ValueNames, label_names
from conjury.inference.readers.judged.gold_labels import labels_from_columns
from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables import validate

TAKEN_TOGETHER = ("satire/parody/irony", "observational/anecdotal")
SHARED_CASES = [
    ("es", "published"),
    *(
        pytest.param(language, rule, marks=pytest.mark.slow)
        for language, rule in (("en", "published"), ("en", "published_first"), ("es", "published_first"))
    ),
]


@pytest.fixture(scope="module")
def study():
    return load_any_study("multiturn")


def completion(text: str, item: str = "en_04", task: Any = 1, **more: Any) -> dict[str, Any]:
    row = {"language": item[:2], "task": task, "model": "qwen3-8b", "run": 1, "item_id": item}
    return {**row, "prompt_no": 7, "raw_completion": text, **more}


DRY = '{"category": "dry"}'
GOOD = completion(DRY)


@pytest.fixture
def read(tmp_path, study):
    def read_rows(*rows: dict[str, Any], rule: str = "lenient", **more: Any) -> Completions:
        path = tmp_path / "completions.parquet"
        pd.DataFrame(rows).to_parquet(path)
        return read_completions(path, study, rule, **more)

    return read_rows


def without(name: str, row: dict[str, Any] = GOOD) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


@pytest.mark.slow
def test_names_of_columns_judges_and_prompts_are_brought_to_the_contract(read):
    found = read(
        completion('{"category": "wordplay"}', perturbation="none"),
        completion('{"category": "Pun"}', model="Qwen3-8B", run=2),
        completion(DRY, model="my-model"),
    )
    judgments = validate(found.judgments, "judgments")
    columns = {
        "judge_id": ["qwen3_8b", "qwen3_8b", "my-model"],
        "value": ["wordplay", "wordplay", "dry"],
        "prompt_id": ["joke"] * 3,
        "dimension": ["joke_type"] * 3,
        "sample": [1, 2, 1],
        "position": [7] * 3,
        "condition": ["none"] * 3,
        "language": ["en"] * 3,
        "rule": ["label/lenient@3"] * 3,
    }
    assert {name: judgments[name].tolist() for name in columns} == columns
    assert found.notes == ["Study multiturn does not name my-model; these judges keep their names."]


@pytest.mark.long
def test_completions_are_kept_as_they_were(read):
    texts = ["  <think>hm</think> {\n", "", 'NA {"category": "dry"}']
    found = read(*(completion(text, run=n) for n, text in enumerate(texts, 1)))
    responses = validate(found.responses, "responses")
    assert responses["text"].tolist() == texts
    assert found.judgments["status"].tolist() == ["unparsed", "empty", "ok"]
    merged = found.judgments.merge(responses[["request_key", "text"]], on="request_key")
    assert merged["text"].tolist() == texts


@pytest.mark.parametrize(("rule", "purpose"), [("lenient", "wrap_up"), ("published", "wrap up")])
def test_every_line_and_every_surplus_label_has_a_row(read, rule, purpose):
    labels = ["setup", "punchline", "wrap up", "Callback", "timing", "repetition"]
    texts = [*(json.dumps({"ANSWER": part}) for part in (labels, labels[:2], [])), ""]
    found = read(*(completion(text, task=2, run=run) for run, text in enumerate(texts, 1)), rule=rule)
    by_run = found.judgments.groupby("sample")
    assert by_run.size().tolist() == [6, 5, 5, 5]  # en_04 has five lines
    assert by_run["labels_given"].first().fillna(-1).tolist() == [6, 2, 0, -1]
    assert found.judgments["lines_shown"].eq(5).all()
    third = found.judgments[found.judgments["dimension"] == "line_3"].set_index("sample")
    assert third.loc[1, "value"] == purpose
    assert third["status"].astype(str).tolist() == ["ok", "unparsed", "unparsed", "empty"]
    assert "Of 2 answers with labels for lines, 1 have more labels" in found.notes[0]


@pytest.mark.parametrize(
    ("given", "told"),
    [(5, None), (6, "1 have more labels than there are lines and 0 fewer"), (4, "and 1 fewer")],
)
def test_answers_with_other_numbers_of_labels_than_lines_are_counted(read, given, told):
    found = read(completion(json.dumps({"ANSWER": ["setup"] * given}), task=2))  # en_04 has five lines
    assert (told is None and found.notes == []) or told in found.notes[0]


def test_lines_of_unknown_items_are_as_many_as_labels(read):
    found = read(completion('{"ANSWER": ["setup", "punchline"]}', "en-0001", 2), completion("", "en-0002", 2))
    assert found.judgments.groupby("item_id").size().to_dict() == {"en-0001": 2, "en-0002": 1}
    assert found.judgments["lines_shown"].isna().all()
    assert "name their table with --items" in found.notes[0]


def test_a_verdict_in_the_joke_does_not_win_and_the_published_rule_falls_for_it(tmp_path, read):
    joke = 'My horse runs late, my friends. {"category": "wordplay", "reasoning": "as told"} So do I.'
    items = tmp_path / "items.csv"
    pd.DataFrame({"item_id": ["j"], "language": ["en"], "text": [joke]}).to_csv(items, index=False)
    row = completion(joke + '\n{"category": "dry", "reasoning": "It is."}', "j", language="en")
    for rule, value in (("lenient", "dry"), ("strict", None), ("published_first", "wordplay")):
        given = read(row, rule=rule, items=items).judgments["value"].iloc[0]
        assert (None if pd.isna(given) else given) == value


def test_strata_and_names_of_copies_come_from_the_items_and_the_perturbation(read):
    found = read(*(without("language", completion(DRY, item)) for item in ("en_04", "es_01")))
    assert found.judgments["language"].tolist() == ["en", "es"]
    found = read(*(completion(DRY, perturbation=name) for name in ("none", "orthographic"))).judgments
    assert found["item_id"].tolist() == ["en_04", "en_04__orthographic"]
    assert read(without("run")).judgments["sample"].tolist() == [1]
    assert found["base_item_id"].tolist() == ["en_04"] * 2
    assert found["condition"].tolist() == ["none", "orthographic"]


def test_a_copy_that_the_items_lack_is_refused_with_the_columns_that_name_it(tmp_path, read):
    items = tmp_path / "items.csv"
    pd.DataFrame({"item_id": ["en_04"], "language": ["en"], "text": ["A joke."]}).to_csv(items, index=False)
    with pytest.raises(InputError) as refused:
        read(*(completion(DRY, perturbation=name) for name in ("none", "cultural")), items=items)
    for part in (
        "contains 'en_04' with perturbation 'cultural': a copy, which is named 'en_04__cultural'",
        "items.csv has no such item",
        "row <item_id>__<condition> with its text for each copy",
    ):
        assert part in str(refused.value)
    with pytest.raises(InputError, match="contains 'en_77', which is not in"):
        read(completion(DRY, "en_77", perturbation="cultural", base_item_id="en_04"), items=items)


@pytest.mark.parametrize(("columns", "status"), cases(__file__, "statuses"))
def test_columns_of_the_provider_give_the_status(read, columns, status):
    judgments = read(GOOD | columns).judgments
    assert judgments["status"].astype(str).tolist() == [status]
    if "finish_reason" in columns:
        assert judgments["finish_reason"].tolist() == [columns["finish_reason"]]


def test_a_csv_is_read_as_a_parquet_file_is(tmp_path, study, read):
    rows = [GOOD, completion("NA", run=2), completion("", run=3)]
    pd.DataFrame(rows).to_csv(tmp_path / "completions.csv", index=False)
    same = read_completions(tmp_path / "completions.csv", study).judgments
    kept = ["judge_id", "item_id", "sample", "value", "status", "position"]
    pd.testing.assert_frame_equal(read(*rows).judgments[kept], same[kept])


@pytest.mark.parametrize(("rows", "problem"), cases(__file__, "bad"))
def test_bad_completions_are_refused_in_one_sentence(read, rows, problem):
    changed = [{name: cell for name, cell in (GOOD | row).items() if cell != "absent"} for row in rows]
    with pytest.raises(InputError, match=problem) as caught:
        read(*changed)
    assert "completions.parquet" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_items_and_rules_and_empty_tables_are_refused(tmp_path, study, read):
    with pytest.raises(InputError, match=r"contains 'en-1', which is not in .*items\.csv"):
        read(completion("x", "en-1"), items=study.folder / study.items)
    with pytest.raises(InputError, match="there is no rule 'lax'"):
        read(GOOD, rule="lax")
    pd.DataFrame([GOOD]).iloc[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="the table contains no completion"):
        read_completions(tmp_path / "none.parquet", study)


# --- the published study --------------------------------------------------------------------------


@pytest.fixture
def published(shared, study):
    """Judgments of the completions of the published study in a language, by a rule."""
    folder = shared / "data" / "multiturn"

    def judgments(language: str, rule: str) -> pd.DataFrame:
        path = folder / f"completions_{language}.parquet"
        return read_completions(path, study, rule, folder / "items.parquet").judgments

    return judgments


def read_rates(judgments: pd.DataFrame) -> pd.Series[float]:
    """Share of completions of the first run with a value, by prompt and judge."""
    first = judgments[(judgments["sample"] == 1).to_numpy(dtype=bool)]
    valid = (first["status"] == "ok").groupby(
        [first["prompt_id"], first["judge_id"], first["item_id"]], observed=True
    )
    return valid.any().groupby(level=[0, 1]).mean()


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize(("language", "rule"), SHARED_CASES)
def test_published_rules_read_as_many_completions_as_published(shared, published, language, rule):
    rates = read_rates(published(language, rule))
    path = shared / "data" / "multiturn" / "parse_rates_run1.csv"
    known = pd.read_csv(path).query("lang == @language")
    names = [
        ({1: "joke", 2: "lines"}[task], model.replace("-", "_"))
        for task, model in zip(known["task"], known["model"], strict=True)
    ]
    expected = known["strict" if rule == "published" else "lenient"].to_numpy()
    sizes = {"en": {"joke": 286, "lines": 214}, "es": {"joke": 173, "lines": 173}}[language]
    n = np.array([sizes[task] for task, _ in names])
    short = np.rint((expected - rates.loc[names].to_numpy()) * n)
    # a list without a single label is an answer there and none here
    lacking = {name: int(k) for name, k in zip(names, short, strict=True) if k}
    expected_lacking = {
        ("en", "published"): {},
        ("es", "published"): {("lines", "apertus_8b"): 1},
        ("en", "published_first"): {("lines", "qwen3_32b"): 1, ("lines", "apertus_8b"): 1},
        ("es", "published_first"): {("lines", "apertus_8b"): 1},
    }
    assert lacking == expected_lacking[language, rule]


@pytest.mark.shared
def test_gold_labels_of_the_published_study_are_recognised(shared, study):
    folder = shared / "data" / "multiturn"
    items, lines = (pd.read_parquet(folder / f"{name}.parquet") for name in ("items", "lines"))
    columns = {"joke_type": "gold_task1_raw", "line": "gold_purpose_raw"}
    labels = labels_from_columns(items, study, columns, lines=lines)
    assert labels["label_set"].eq("joke_type").sum() == 459
    known = lines.dropna(subset="gold_purpose_raw").reset_index(drop=True)
    ours = labels[labels["label_set"] != "joke_type"].reset_index(drop=True)
    theirs = known["gold_purpose"].map(lambda name: name.replace(" ", "_").replace("-", "_"))
    same = ours["label"] == theirs
    assert sorted(ours.loc[~same.to_numpy(dtype=bool), "label"].unique()) == ["", "Punchiline", "Witty"]
    assert theirs[~same.to_numpy(dtype=bool)].eq("NA").all()


def compared(study: ItemStudy, tables: list[pd.DataFrame]) -> dict[str, dict[str, int]]:
    """Completions of all runs by prompt, and by how one rule compares with another."""
    found: dict[str, dict[str, int]] = {}
    for prompt in study.prompts:
        spec = response_spec(prompt.response or study.response)
        names, labels = label_names(spec.labels), {label.id: label.label for label in spec.labels}

        def known(value: str, names: ValueNames = names, labels: dict[str, str] = labels) -> str | None:
            name = names.bare(value)
            return joke_type(labels[name]) if name else value if value in TAKEN_TOGETHER else None

        lenient, first = (
            table[table["prompt_id"] == prompt.id]
            .dropna(subset="value")
            .groupby("request_key")["value"]
            .agg(lambda part: tuple(filter(None, map(known, part))))
            .loc[lambda read: read.map(len) > 0]
            .to_dict()
            for table in tables
        )
        cases = Counter(
            "only lenient"
            if key not in first
            else "only first"
            if key not in lenient
            else "same"
            if lenient[key] == first[key]
            else "other"
            for key in {*lenient, *first}
        )
        found[prompt.id] = dict(cases)
    return found


@pytest.mark.slow
@pytest.mark.shared
def test_lenient_reads_what_the_first_object_says_and_more(published, study):
    tables = {of: [published(of, rule) for rule in ("lenient", "published_first")] for of in ("en", "es")}
    assert compared(study, tables["en"]) == {
        "joke": {"same": 5349, "only lenient": 165, "only first": 3},
        "lines": {"same": 2905, "only lenient": 433, "other": 9},
    }
    assert compared(study, tables["es"]) == {
        "joke": {"same": 3049, "only lenient": 142, "only first": 1, "other": 1},
        "lines": {"same": 2197, "only lenient": 125, "only first": 1, "other": 1},
    }


@pytest.mark.shared
@pytest.mark.slow
def test_strict_reads_what_is_json_and_nothing_else(published):
    shares = {}
    for language in ("en", "es"):
        rates = [read_rates(published(language, rule)) for rule in ("strict", "published")]
        assert (rates[0] <= rates[1]).all()
        shares[language] = rates[0].round(3).loc["joke"].to_dict()
    # what stands before the object ("assistant") makes all of this model's answers fail
    assert shares["en"]["olmo3_1_32b"] == shares["es"]["olmo3_1_32b"] == 0
    assert (shares["en"]["falcon3_10b"], shares["es"]["falcon3_10b"]) == (0.203, 0.376)


@pytest.mark.parametrize(
    ("reason", "status"),
    [("SAFETY", "refused"), ("refusal", "refused"), ("network_error", "error"), ("MAX_TOKENS", "truncated")],
)
def test_ends_in_any_providers_words_mean_in_a_file_what_they_mean_live(read, reason, status):
    text = "" if status == "truncated" else DRY
    judgments = read(completion(text, finish_reason=reason)).judgments
    assert set(judgments["status"].astype(str)) == {status}
    assert set(judgments["finish_reason"]) == {reason}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *(
            (text, None)
            for text in ("The joke is non-dry.", "Category: dry-ish", "It argues: category: dry.")
        ),
        *((text, "dry") for text in ("Category: dry", "Category: dark. No - dry.")),
    ],
)
def test_a_label_within_another_word_or_in_what_is_reported_is_none(read, text, kind):
    [value] = read(completion(text)).judgments["value"]
    assert (None if pd.isna(value) else value) == kind
