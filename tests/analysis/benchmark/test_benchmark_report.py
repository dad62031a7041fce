"""Reports on benchmarks: cards that show any text as text, printed numbers, checks, sections."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import made_up_benchmark as made
import pandas as pd
import pytest

from conjury.analysis.audit.compare import harm_beside, jokes_beside, printed_numbers
from conjury.analysis.audit.harm_or_humor import harm_checks, implied
from conjury.analysis.figures import figure_of
from conjury.analysis.figures.raters.naming import Names
from conjury.analysis.pipeline.manifest import entry_of
from conjury.analysis.pipeline.run import Named, tables_of
from conjury.analysis.raters import Result
from conjury.analysis.report import BenchmarkReport
from conjury.analysis.report.exhibits.benchmark import LEADS, reading, section
from conjury.analysis.report.exhibits.benchmark_layouts import lay_out
from conjury.analysis.report.exhibits.cards import LONGEST_ANSWER, card_markdown, shown
from conjury.analysis.report.markup import to_html
from conjury.inference.errors import InputError
from conjury.inference.tables import write_table

HOSTILE = [
    made.MARKUP,
    "<img src=x onerror=alert(1)>",
    "</td></tr></table><h1>taken</h1>",
    "```\n```{=html}\n<b>taken</b>\n```",
    "{{< include /etc/passwd >}} {{< meta title >}}",
    "conjurytoken0end conjurytoken1end CONJURYTOKEN2END",
    "::: {.callout-note}\ntaken\n:::",
    "[@calderon2025] @fig-scores $x^2$ ![](https://example.org/x.png)",
    "line\n\n\nafter blank lines\n\n# heading",
    "\u202egnol\u202c \x00 \ufeff",
    "&lt;b&gt; &#60;script&#62;",
]


def card(text: str, raw: str | None = "raw") -> pd.DataFrame:
    return pd.DataFrame(
        {"card": 1, "reason": "hard", "task": "harm", "item_id": "j1", "text": text, "media": "",
         "gold": "implicit", "judge": ["gpt", "pal"], "prompt": "text", "answer": ["safe", ""],
         "status": ["ok", "refused"], "right": 0.0, "raw": [raw, None]}
    )  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_shown_and_do_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "references.bib").write_text("", encoding="utf-8")
    page = to_html(card_markdown(card(text, text), Names(None)), tmp_path, "references.bib")
    for markup in ("<script", "<img", "<h1", "<b>", "{{<", "class='callout", "\u202e", "\x00"):
        assert markup not in page
    assert page.count("<table") == 2
    assert ("taken" in page) == ("taken" in text)


def test_shown_text_reads_as_it_was_written() -> None:
    from html import unescape

    for text in HOSTILE[:5]:
        assert unescape(shown(text).replace("<br>", "\n")) == text


def test_long_answers_are_cut_and_say_so() -> None:
    long = "abc " * LONGEST_ANSWER
    told = card_markdown(card("A joke.", long), Names(None))
    assert f"({len(long) - LONGEST_ANSWER:,} more characters)" in told


def test_cards_say_gold_answers_and_why_there_is_none() -> None:
    told = card_markdown(card("A joke."), Names({("harm", "implicit"): "Implicit harm"}))
    for text in ("Implicit harm", "A joke.", "Safe", "(refused)", "raw", "rarely right"):
        assert text in told
    bare = card("A joke.", None)
    assert "word by word" not in card_markdown(bare, Names(None))


def test_lines_are_labelled_one_below_the_other() -> None:
    frame = card("One.\nTwo.").assign(gold="1 setup\n2 punchline", answer=["1 setup\n2 -", ""])
    told = card_markdown(frame, Names(None))
    assert "1 Setup<br>2 Punchline" in told
    assert "1 Setup<br>2 -" in told


def test_lines_and_indents_of_texts_survive_where_spaces_are_collapsed() -> None:
    told = card_markdown(card("One.\n\n  Two.\n\tThree."), Names(None))
    assert "One.<br><br>&nbsp;&nbsp;Two.<br>&nbsp;&nbsp;&nbsp;&nbsp;Three.</td>" in told
    assert "pre-wrap" not in told
    assert not re.search(r"<table[^>]*font-size", told)
    assert told.count("<div style='font-size:85%;'>") == told.count("<colgroup>") == 2


@pytest.mark.parametrize(
    "name",
    ["scores", "harm", "passes", "confusion", "by_label", "robustness", "differences", "readings"],
)  # fmt: skip
def test_tables_name_judges_in_words(name: str) -> None:
    made_up = getattr(made, name)()
    tables = lay_out(made_up, name, made.WORDS)
    assert tables
    assert "Qwen3-8B" in tables[0].as_raw_html()
    assert "qwen3_8b" not in tables[0].as_raw_html()


def test_labels_beyond_the_lines_shown_are_a_column_of_readings() -> None:
    plain = made.readings()
    rule = plain.frame["rule"].iloc[-1]
    frame = plain.frame.assign(task="line", n_surplus=(plain.frame["rule"] == rule) * 7)
    [table, *_] = lay_out(replace(plain, frame=frame), "readings", made.WORDS)
    assert "Surplus labels" in table.as_raw_html()
    assert ">7</td>" in table.as_raw_html()
    [table, *_] = lay_out(plain, "readings", made.WORDS)
    assert "Surplus labels" not in table.as_raw_html()


def test_scores_are_read_beside_the_most_frequent_label() -> None:
    result = made.scores(by=())
    over = result.extra["over_baseline"].assign(lower=-0.3, upper=[-0.1, 0.1] * 6)
    over.loc[over["task"] == "line", ["lower", "upper"]] = [0.1, 0.2]
    pooled = replace(
        result, extra={"over_baseline": over}, settings={**result.settings, "strata": ["language"]}
    )
    told = reading(pooled, Names(made.WORDS))
    below = over[(over["task"] == "joke_type") & (over["missing"] == "wrong") & (over["upper"] < 0)]
    assert (
        f"{len(below)} of 3 judges are right less often than always giving the most frequent label of each"
        in told
    )
    assert "Purpose of a line: the highest share of right answers is that of" in told
    assert "; 0 of 3 judges are below that label, 3 above it." in told
    assert "0 more often" in told
    assert told.endswith("on the same items whose 95% interval does not hold 0.")


def test_the_dashed_line_of_pooled_scores_is_the_most_frequent_label_of_each_stratum() -> None:
    frame = made.scores(by=()).frame.query("metric == 'accuracy' and task == 'line'")
    by_stratum = frame[frame["judge"] == "majority class"].assign(
        judge="majority class by stratum", estimate=0.45
    )
    figure = figure_of(Result(pd.concat([frame, by_stratum]), "scores", settings={"by": []}))
    drawn = {text.get_text() for text in figure.legends[0].get_texts()}
    assert drawn == {"Always the most frequent label of each stratum", "Random label"}


def test_no_limit_of_agreement_with_gold_is_claimed() -> None:
    assert "expected to agree" not in LEADS["annotators"]


def test_labels_are_said_to_be_given_too_often_only_where_adjusted_p_and_gold_allow() -> None:
    result = made.by_label(["setup", "tag", "timing"], ["gpt"])
    frame = result.frame.assign(ratio=[3.0, 9.0, 5.0], n_predicted=[180, 45, 300], n_gold=[60, 5, 60],
                                n_answers=[60, 5, 60], p_adjusted=[0.01, 0.01, 0.2])  # fmt: skip
    told = reading(replace(result, frame=frame), Names(None))
    assert "Setup (3.0 times" in told
    assert "Tag" not in told
    assert "Timing" not in told


def test_labels_that_are_never_given_are_marked_in_the_table() -> None:
    result = made.by_label(["setup", "tag"], ["gpt"])
    frame = result.frame.assign(ratio=0.0, n_predicted=0, n_gold=[60, 5], n_answers=[120, 10], p_adjusted=0.9)
    page = lay_out(replace(result, frame=frame), "by_label", {})[0].as_raw_html()
    assert page.count("0.00\u00a0\N{DOWNWARDS ARROW}") == 1
    assert "120" in page


def test_lengths_are_read_once_a_task_with_what_cannot_be_computed() -> None:
    ends = pd.DataFrame({"judge": list("abcd") * 2, "prompt": "p", "task": ["joke_type"] * 4 + ["line"] * 4,
                         "metric": "accuracy", "estimate": [-0.2, -0.2, 0.3, 0.1] * 2,
                         "p_adjusted": [0.01, 0.2, 0.01, float("nan")] + [0.5] * 4})  # fmt: skip
    told = reading(Result(ends, "errors", extra={"ends": ends}), Names(made.WORDS))
    first, second = told.split(". ")
    assert "in 1 of 4 judges, more often in 1" in first
    assert "1 cannot be computed" in first
    assert second.startswith("Purpose of a line: right less often")
    assert "in 0 of 4 judges, more often in 0" in second


def test_copies_among_answers_are_said_in_bold() -> None:
    samples = pd.DataFrame(
        {
            "judge": ["a", "b", "b"],
            "stratum": ["", "", "language en"],
            "n_samples": 5,
            "n_silent": [0, 0, 1],
            "n_distinct": [5, 5, 1],
            "groups": ["ABCDE", "ABCDE", "AAAA-"],
        }
    )
    result = Result(made.passes().frame, "passes", extra={"samples": samples})
    assert "**Some answers are copies of each other**: in 1 of 2 cells" in reading(result, Names(None))
    assert reading(made.passes(), Names(None)) == ""


def test_macro_f1_follows_from_what_was_printed_of_texts_and_pictures() -> None:
    found = implied(printed_numbers("harm_or_humor_metrics"), printed_numbers("harm_or_humor_counts"))
    apart = (found["implied_macro_f1"] - found["macro_f1"]).abs()[found["table"] < 6]
    assert len(apart) == 42
    assert (apart < 0.001).sum() == 40
    clips = found[found["table"] == 6]
    assert (clips["macro_f1"] > clips["accuracy"]).all()
    assert clips.loc[clips["judge"] == "GPT-5 Pro", "specificity"].item() > 1


def test_checks_say_that_printed_agreement_cannot_be_that_of_pairs() -> None:
    told = harm_checks().set_index("check")["finding"]
    assert "6 of 6 cells" in told["agreement above chance"]
    assert "6 of 6 models" in told["macro-F1 of clips"]


def test_numbers_of_judges_who_were_printed_stand_beside_print() -> None:
    frame = made.harm().frame.assign(judge=lambda rows: rows["judge"].replace("qwen3_8b", "gpt_5_2"))
    results = {"scores_modality_language": Result(frame, "scores")}
    found = harm_beside(results, {"gpt_5_2": "GPT-5.2"}).frame
    assert set(found["judge"]) == {"gpt_5_2"}
    text = found[(found["set"] == "text en") & (found["metric"] == "accuracy")]
    assert text["printed"].item() == pytest.approx(0.903)
    with pytest.raises(InputError, match="no printed number"):
        harm_beside(results, {"qwen3_32b": "Another"})
    for nothing in (results, {}):
        with pytest.raises(InputError, match="no printed number"):
            harm_beside(nothing, {})


def test_without_answers_by_published_rules_there_is_nothing_beside_print() -> None:
    with pytest.raises(InputError, match="no published number"):
        jokes_beside({}, pd.DataFrame())


def test_answers_to_perturbed_items_stand_beside_print_by_condition() -> None:
    gold = pd.DataFrame({"item_id": ["j1", "j2", "j3"], "label_set": "joke_type", "label": ["dry"] * 3})
    plain = pd.DataFrame({"judge_id": "qwen3_8b", "judge_kind": "model", "item_id": gold["item_id"],
                          "dimension": "joke_type", "value": "dry", "language": "en"})  # fmt: skip
    copies = plain.assign(item_id=plain["item_id"] + "__drift", base_item_id=plain["item_id"], value="dark",
                          condition="drift")  # fmt: skip
    both = pd.concat([plain.assign(condition="none"), copies], ignore_index=True)
    found = jokes_beside({"v1": both}, gold)
    accuracy = found.frame[found.frame["metric"] == "accuracy"].set_index("condition")
    assert accuracy["table"].to_dict() == {"none": 9, "drift": 15}
    assert accuracy["aligned"].to_dict() == {"none": 1, "drift": 0}
    assert any(
        "252 published numbers are not compared" in note and "cultural" in note for note in found.notes
    )
    alone = jokes_beside({"v1": plain}, gold)
    assert set(alone.frame["condition"]) == {"none"}
    assert any("336 published numbers" in note and "drift" in note for note in alone.notes)
    as_published = jokes_beside({"v1": both.replace({"condition": {"drift": "sem_drift"}})}, gold)
    pd.testing.assert_frame_equal(as_published.frame, found.frame)
    other = jokes_beside({"v1": both.replace({"condition": {"drift": "shuffled"}})}, gold)
    assert any(
        "Answers under shuffled are not compared" in note and "drift" in note and "sem_drift" in note
        for note in other.notes
    )
    without_bases = jokes_beside({"v1": plain.assign(condition="none")}, gold)
    assert without_bases.frame["aligned"].equals(alone.frame["aligned"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    results = {
        "scores": made.scores(by=()),
        "scores_language": made.scores(),
        "cards": Result(card(made.MARKUP, made.MARKUP), "cards"),
    }
    records = []
    for name, result in results.items():
        for table, frame in tables_of(Named(name, name, result)).items():
            write_table(frame, tmp_path / "tables" / f"{table}.parquet")
        records.append(entry_of(Named(name, f"Title of {name}", result, 0.1)))
    labels = {"judges": {"qwen3_8b": "Qwen3-8B"}, "levels": {}, "features": {}}
    manifest = {"format": 2, "conjury": "0", "study": "multiturn", "title": "Jokes", "labels": labels, "results": records,
                "created": "2026-01-01T00:00:00+00:00", "data": [], "notes": [], "files": []}  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return tmp_path


@pytest.mark.long
def test_a_report_shows_every_result_of_a_kind_and_the_rules_for_missing_answers_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conjury.analysis.report.exhibits.benchmark.picture", lambda *_: "drawn")
    report = BenchmarkReport(folder)
    report.show("scores")
    told = capsys.readouterr().out
    assert "fig-scores}" in told
    assert "fig-scores-language}" in told
    assert "fig-scores-policies}" in told
    assert "fig-scores-language-policies}" not in told
    report.show("robustness")
    assert capsys.readouterr().out == ""
    report.show("cards")
    assert "<script" not in capsys.readouterr().out


def test_a_result_that_cannot_be_drawn_keeps_its_table(folder: Path) -> None:
    bare = made.scores(by=()).frame.assign(estimate=float("nan"))
    write_table(bare, folder / "tables" / "scores.parquet")
    told = section(BenchmarkReport(folder), "scores")
    assert "There is nothing to draw" in told
    assert "@tbl-scores" in told
    assert "fig-scores}" not in told


def test_a_report_says_why_nothing_stands_beside_print(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    BenchmarkReport(folder).published()
    assert "--parser published" in capsys.readouterr().out
    BenchmarkReport(folder).checks()
    assert capsys.readouterr().out.strip() == ""


@pytest.mark.parametrize("name", ["scores", "passes"])
def test_baselines_are_the_last_rows_of_each_group(name: str) -> None:
    result = getattr(made, name)(by=())
    own = result.frame[~result.frame["judge"].isin(["majority class", "random"])]
    first = own[own["task"] == "joke_type"]
    late = own[own["task"] == "line"]
    base = own[own["judge"] == made.FEW[0]].assign(judge="random", judge_kind="baseline", prompt="")
    early = pd.concat([first[first["judge"] == made.FEW[0]], base, late], ignore_index=True)
    [table, *_] = lay_out(replace(result, frame=early, extra={}), name, made.WORDS)
    judges = {"Random label", *(made.WORDS.get(("judges", each), "Falcon3 10b") for each in made.FEW)}
    texts = re.findall(r">([^<>]+)<", table.as_raw_html())
    rows = [text for text in texts if text in judges or text.endswith(("Kind of joke", "Purpose of a line"))]
    ends = [rows[at - 1] for at, text in enumerate(rows) if at and text not in judges] + rows[-1:]
    assert ends == ["Random label"] * len(ends)
    assert {"OLMo3.1-32B", "Falcon3 10b", "Random label"} <= set(rows)
