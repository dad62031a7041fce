"""What checks found, for people and for programs: text, JSON, SARIF, page; with hostile content."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from conjury.analysis.checks.output.check_findings import Findings, counts, record, to_json, verdict_counts
from conjury.analysis.checks.output.checks_page import to_page
from conjury.analysis.checks.output.checks_text import further_lines, lines
from conjury.analysis.checks.output.sarif import sarif, to_sarif
from conjury.analysis.checks.registry import Question
from conjury.analysis.frames.notes import Note, read_note

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e\n| $x$ {table}"
LABELS = {("judges", "a"): "Judge of the study", ("gender", "f"): "Women", "gender": "Gender"}
TABLE = pd.DataFrame({"judge": ["a"], "prompt": ["b"], "estimate": [0.2]})
EVIDENCE = pd.DataFrame(
    {"judge_id": HOSTILE, "item_id": [f"i{k}" for k in range(30)], "row": range(1, 31), "gap": float("nan")}
)


def ask(code: str, name: str) -> Question:
    return Question(code, name, f"Title of {name}", "Is it?", "It follows.", "Do it.", "rule")


def findings(hostile: str = HOSTILE) -> Findings:
    error = ask("CJ401", "one").answer(TABLE, "error", f"Found {hostile}.", rows=EVIDENCE, p=0.001)
    warning = ask("CJ301", "two").answer(TABLE, "warning", "Found, too.")
    ignored = ask("CJ302", "three").answer(TABLE, "error", "Known.")
    checks = [
        replace(warning, reads=("judgments",)),
        replace(ignored, suppressed=f"It is known {hostile}", reads=("judgments",)),
        replace(error, reads=("responses", "judgments")),
        ask("CJ402", "four").answer(TABLE, "pass", "All is well."),
        ask("CJ501", "five").not_applicable("There is nothing."),
    ]
    files = {"judgments": Path("data/a b.csv"), "responses": Path("data/raw.parquet")}
    return Findings(checks, hostile, ("data/a b.csv",), files, {"judgments": 1_200}, ("A note.",))


@pytest.mark.long
def test_every_output_puts_a_finding_in_words_and_programs_have_its_parts() -> None:
    who = Note("", judge="a", prompt="p_1")
    finding = Note.of("{level} is at {x:+.1f} for {who}, of {judges}.", level=("gender", "f"), x=-1, who=who,
        judges=["a", "human"])  # fmt: skip
    remedy = Note.of("Ask {judge} again.", judge="a")
    answers = [ask("CJ301", "two").answer(TABLE, "error", finding, ["Then."], remedy)]
    answers += [ask("CJ302", "three").answer(TABLE, "warning", "gpt_4 is at -1 {x}.")]  # as plain text
    found = Findings(answers, labels=LABELS)
    words = (
        "Gender: Women is at \N{MINUS SIGN}1.0 for Judge of the study, p 1, "
        "of Judge of the study, people. Then."
    )
    plain = "gpt_4 is at \N{MINUS SIGN}1 {x}."
    checks = json.loads(to_json(found))["checks"]
    [run] = json.loads(to_sarif(found))["runs"]
    outputs = [
        "\n".join(lines(found)),
        to_page(found),
        *(result["message"]["text"] for result in run["results"]),
    ]
    for text in (outputs[0], outputs[1], outputs[2], checks[0]["finding"] + checks[0]["remedy"]):
        assert words in text
        assert "Ask Judge of the study again." in text
    for text in (outputs[0], outputs[1], outputs[3], checks[1]["finding"]):
        assert plain in text
    assert [read_note(check["finding_parts"]) for check in checks] == [check.finding for check in answers]
    assert checks[0]["finding_parts"]["values"]["part1"]["values"]["level"] == ["gender", "f"]
    assert answers[0].finding == "gender=f is at -1.0 for a p_1, of a, human. Then."


def test_verdicts_are_counted_and_suppressed_ones_do_not_count() -> None:
    found = findings()
    assert counts(found) == {"error": 1, "warning": 1, "suppressed": 1, "pass": 1, "not_applicable": 1}
    assert verdict_counts(found) == "1 error, 1 warning, 1 suppressed, 1 passes, 1 does not apply"
    assert found.worst == "error"
    assert replace(found, checks=found.checks[:2]).worst == "warning"
    assert replace(found, checks=found.checks[1:2]).worst == "pass"
    assert verdict_counts(replace(found, checks=[])) == "0 errors, 0 warnings"


def test_the_terminal_shows_errors_first_with_evidence_consequence_and_remedy() -> None:
    text = [*lines(findings()), *further_lines(findings())]
    heads = [line for line in text if line and not line.startswith(" ")]
    kinds = [line.split()[0] for line in heads[2:6]]
    assert kinds == ["ERROR", "WARNING", "IGNORED", "passes"]
    assert "         Evidence: 30 rows, the first:" in text
    assert "         Consequence: It follows." in text
    assert "         What to do: Do it." in text
    assert any("There is nothing." in line for line in text)
    assert [line for line in text if not line.isprintable()] == []  # whatever data contain
    assert text[-1].startswith("On sound data, all tests together alarm in at most 5% of studies.")


def test_the_record_is_json_with_p_rates_and_evidence() -> None:
    made = json.loads(to_json(findings()))
    assert made == json.loads(json.dumps(record(findings()), default=str))
    [error] = [check for check in made["checks"] if check["code"] == "CJ401"]
    assert error["evidence"]["rows"] == 30
    assert len(error["evidence"]["first"]) == 20
    assert error["evidence"]["first"][0] == {"judge_id": HOSTILE, "item_id": "i0", "row": 1}
    assert (error["p"], error["false_alarms"]["kind"], error["suppressed"]) == (0.001, "rule", None)
    assert made["counts"]["suppressed"] == 1
    assert made["battery"]["statement"].startswith("On sound data")


def test_sarif_has_a_rule_per_check_and_a_result_per_alarm() -> None:
    log = json.loads(to_sarif(findings()))
    assert log == json.loads(json.dumps(sarif(findings())))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
    [run] = log["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert [rule["id"] for rule in rules] == ["CJ301", "CJ302", "CJ401", "CJ402", "CJ501"]
    for rule in rules:
        assert rule["name"].isalnum()
        assert all(rule[part]["text"] for part in ("shortDescription", "fullDescription", "help"))
        assert rule["properties"]["falseAlarmRate"]
    assert [result["ruleId"] for result in results] == ["CJ301", "CJ302", "CJ401"]
    for result in results:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("warning", "error")
        assert result["message"]["text"]
    assert results[1]["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": f"It is known {HOSTILE}"}
    ]
    assert "suppressions" not in results[0]


def test_sarif_locates_evidence_by_file_and_line_where_files_have_lines() -> None:
    found = findings()
    [run] = sarif(found)["runs"]
    whole, _, rows = run["results"]
    assert whole["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "data/a%20b.csv"}}}]
    assert len(rows["locations"]) == 10
    first = rows["locations"][0]
    assert first["physicalLocation"] == {"artifactLocation": {"uri": "data/raw.parquet"}}
    assert first["logicalLocations"][0]["fullyQualifiedName"].endswith("item_id=i0, row=1")
    lined = replace(found.checks[2], reads=("judgments",))
    [run] = sarif(replace(found, checks=[lined]))["runs"]
    assert run["results"][0]["locations"][1]["physicalLocation"]["region"] == {"startLine": 3}
    [run] = sarif(replace(found, checks=[lined], files={}))["runs"]
    assert "physicalLocation" not in run["results"][0]["locations"][0]


CLOSING_TAGS = ('"><img src=x onerror=alert(1)>', "</title></main>")
BROKEN_TAGS = [pytest.param(text, marks=pytest.mark.slow) for text in CLOSING_TAGS]


@pytest.mark.long
@pytest.mark.parametrize("text", [HOSTILE, *BROKEN_TAGS])
def test_the_page_escapes_whatever_data_contain(text: str) -> None:
    page = to_page(findings(text))
    body = page.partition("</style>")[2]
    assert "<script" not in body
    assert "<img" not in body
    assert body.count("</main>") == 1
    assert page.count("</title>") == 1
    assert "Suppressed because: It is known" in body
    assert "30 rows of evidence, the first 20" in body
    assert body.index("CJ401") < body.index("CJ301") < body.index("CJ302") < body.index("CJ402")


def test_the_page_shows_all_checks_and_each_alarm_in_a_figure_that_says_what_it_shows() -> None:
    page = to_page(replace(findings("text"), labels=LABELS))
    assert page.count('<svg role="img" aria-label=') == 4  # all checks, two alarms and a suppressed one
    assert "Judge of the study" in page
    assert "var(--figure-" in page
    assert "--figure-0:" in page
    ids = [part.partition('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
