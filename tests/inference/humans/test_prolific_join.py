"""Demographics and statuses of Prolific joined to judgments. The fixture is made up."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.humans import Imported, join_prolific

EXPORT = Path(__file__).resolve().parents[2] / "fixtures" / "humans" / "prolific.csv"


def judged(*ids: str) -> Imported:
    frame = pd.DataFrame({"judge_id": list(ids), "judge_kind": "human", "item_id": "j1", "value": 3})
    return Imported(frame.assign(dimension="wit", sample=1, status="ok"), ())


def person(number: int) -> str:
    return f"5f{number:022d}"


def test_demographics_are_joined_and_withheld_ones_are_missing() -> None:
    made = join_prolific(judged(person(1), person(2), person(3)), EXPORT)
    frame = made.judgments
    assert frame["age"].fillna(-1).tolist() == [31, -1, -1]
    assert frame["sex"].fillna("").tolist() == ["Female", "", "Male"]
    assert frame["student_status"].fillna("").tolist() == ["No", "", ""]
    assert frame["prolific_approvals"].tolist() == [120, 33, 7]
    assert "People whose demographics are missing (CONSENT_REVOKED): 1." in made.notes
    assert "People whose demographics are missing (DATA_EXPIRED): 1." in made.notes


@pytest.mark.parametrize(
    "flags",
    [[False, True, 0, "no", ""], ["FALSE", "yes", "0", "No", "false"], [0, 1, 0, 0, 0]],
)
def test_flags_of_an_earlier_table_are_no_reasons(flags: list[object]) -> None:
    before = judged(*[person(k) for k in (1, 2, 3, 5, 9)])
    before.judgments["excluded"] = flags
    assert join_prolific(before, EXPORT).judgments["excluded"].fillna("").tolist() == [
        *("", "marked as excluded; Prolific: rejected", "Prolific: timed-out", "", "Prolific: returned")
    ]


def test_people_are_found_by_submission_ids_and_unknown_people_are_counted() -> None:
    assert join_prolific(judged("6a01", "6a05"), EXPORT).judgments["age"].tolist() == [31, 44]
    made = join_prolific(judged(person(1), "someone"), EXPORT)
    assert made.judgments["age"].isna().tolist() == [False, True]
    assert "Judges who are not in Prolific's export, so its columns are missing: 1." in made.notes
    assert "Submissions in Prolific's export without judgments: 4." in made.notes


def test_a_person_with_two_submissions_counts_once_where_one_was_accepted(tmp_path: Path) -> None:
    text = EXPORT.read_text()
    returned = text.splitlines()[1].replace("6a01", "6a77").replace("APPROVED", "RETURNED")
    file = tmp_path / "prolific.csv"
    file.write_text(text + returned + "\n")
    made = join_prolific(judged(person(1)), file).judgments
    assert made["prolific_status"].tolist() == ["APPROVED"]
    assert made["excluded"].isna().all()
    file.write_text(text + returned.replace("RETURNED", "APPROVED") + "\n")
    with pytest.raises(InputError, match="repeats '5f0000000000000000000001'"):
        join_prolific(judged(person(1)), file)


def test_files_that_are_no_export_or_contain_nobody_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of its ids is among the judgments \(such as 'nobody'\)"):
        join_prolific(judged("nobody"), EXPORT)
    file = tmp_path / "other.csv"
    file.write_text("id,age\n1,2\n")
    with pytest.raises(InputError, match="there is no column 'Participant id'"):
        join_prolific(judged("1"), file)
    with pytest.raises(InputError, match="column 'pid' is missing"):
        join_prolific(judged(person(1)), EXPORT, "pid")
