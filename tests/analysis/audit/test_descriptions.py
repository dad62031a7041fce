"""What a check documents can be given in a description file, and rows that cannot be end in time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import cases

from conjury.analysis.audit.arithmetic.findings import REGISTERED
from conjury.analysis.audit.arithmetic.scores import search as searching
from conjury.analysis.audit.published import check_table, read_description
from conjury.inference.errors import InputError

AGREEMENT = """
groups:
  - check: agreement
    by: [who]
    numbers:
      percent_agreement: {column: pct, percent: true}
      fleiss_kappa: kappa
      "share:a": {column: s1, percent: true}
      "share:b": {column: s2, percent: true}
    settings: {raters: 2, items: 100}
"""


def documented(name: str) -> list[str]:
    """Roles of a check: those that it is registered with, and those with a label in its docstring."""
    check = REGISTERED[name]
    text = check.run.__doc__ or ""
    return list(dict.fromkeys([*check.needs, *check.uses, *re.findall(r"``([a-z_0-9]+:[A-Z:]+)``", text)]))


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_every_documented_role_of_a_check_can_be_given_in_a_file(name: str, tmp_path: Path) -> None:
    check = REGISTERED[name]
    for role in documented(name):
        numbers = {one: one for one in check.needs} | {role.replace("LABEL", "any"): "column"}
        lines = "\n".join(f'      "{one}": {column}' for one, column in numbers.items())
        file = tmp_path / "described.yaml"
        file.write_text(f"groups:\n  - check: {name}\n    numbers:\n{lines}\n", encoding="utf-8")
        assert set(numbers) == set(read_description(file).groups[0].numbers)


def test_shares_of_labels_given_in_a_file_contradict_a_kappa(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who,pct,kappa,s1,s2\nx,80,0.9,50,50\ny,80,0.6,50,50\n", encoding="utf-8")
    (tmp_path / "a.yaml").write_text(AGREEMENT, encoding="utf-8")
    result = check_table(tmp_path / "a.csv").frame
    kappa = result[result["quantity"] == "fleiss_kappa"]
    assert kappa["verdict"].tolist() == ["inconsistent", "consistent"]
    assert "possible are 0.500 to 0.500" in kappa["reason"].iloc[0]


def test_a_role_with_a_label_is_refused_without_one(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(AGREEMENT.replace("share:a", "share"), encoding="utf-8")
    with pytest.raises(InputError, match="'share' is unknown here; did you mean 'share:LABEL'"):
        read_description(tmp_path / "a.yaml")


@pytest.mark.parametrize(("change", "words"), cases(__file__, "names_of_truth_values"))
def test_names_that_yaml_reads_as_true_or_false_are_refused_with_the_remedy(
    change: tuple[str, str], words: str, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(AGREEMENT.replace(*change), encoding="utf-8")
    with pytest.raises(InputError, match=rf"{re.escape(words)}.*quote it"):
        read_description(tmp_path / "a.yaml")


SCORES = """
groups:
  - check: scores
    by: [model]
    numbers: {accuracy: acc, precision: prec, recall: rec, f1: f1}
    settings: {n: 2200, labels: 2}
"""


@pytest.mark.long
def test_scores_that_cannot_be_are_excluded_before_the_search_begins_to_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks: list[int] = []
    walk = searching._walk
    monkeypatch.setattr(searching, "_walk", lambda *given: walks.append(1) or walk(*given))
    (tmp_path / "b.csv").write_text("model,acc,prec,rec,f1\nm,0.703,0.577,0.736,0.658\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text(SCORES, encoding="utf-8")
    steps: list[tuple[int, int]] = []
    result = check_table(tmp_path / "b.csv", progress=lambda done, of: steps.append((done, of)))
    assert set(result.frame["verdict"]) == {"inconsistent"}
    assert len(walks) < 12
    assert steps == [(0, 1)]
