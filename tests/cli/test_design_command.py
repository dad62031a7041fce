"""``conjury design``: the card that it prints, writes and warns in."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.studies import RATINGS, items, towns, write_study

from conjury.analysis.conjoint import power
from conjury.analysis.conjoint.power import design_card_page
from conjury.inference.study import load_study
from conjury.inference.tables import read_table

pytestmark = pytest.mark.long

Told = Callable[..., str]
DESIGN = Path("runs/towns/design")
COAST = {"levels": {"place": ["coast"], "river": ["dry", "narrow"]}, "because": "Rivers widen at the coast."}


@pytest.fixture
def told(ran: Told) -> Told:
    return partial(ran, "design")


@pytest.fixture
def said(told: Told, monkeypatch: pytest.MonkeyPatch) -> Told:
    """The same without figures, which take most of the time."""
    monkeypatch.setattr(design_card_page, "_draw", lambda *arguments: {})
    return told


def study(tmp_path: Path, **changes: Any) -> Path:
    """The study of towns, with additions to its design and changes of its fields."""
    content = towns()
    content["design"] |= changes.pop("design", {})
    return write_study(tmp_path / "towns", content | changes)


def row_of(out: str, start: str) -> list[str]:
    (found,) = (line for line in out.splitlines() if re.match(rf"\s*{start}\s\s", line))
    return re.split(r"\s{2,}", found.strip())


def plain(out: str) -> str:
    """What was printed, without the line breaks of the terminal."""
    return " ".join(out.split())


class Outside(HTMLParser):
    """Whatever a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.named: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.named += [value or "" for name, value in attrs if name in ("src", "href")]


def numbers(part: str, **keys: str) -> dict[str, float]:
    table = pd.read_csv(DESIGN / "card.csv", dtype=dict.fromkeys(("judge", "level", "combination"), "string"))
    kept = table[table["part"] == part]
    for name, value in keys.items():
        kept = kept[kept[name] == value]
    return dict(zip(kept["quantity"], kept["value"], strict=True))


def test_the_card_tells_levels_power_and_cost(said: Told, tmp_path: Path) -> None:
    out = said(study(tmp_path), "--pairs 400")
    assert "3 x 3 x 2 x 3 x 3 levels make 162 combinations." in out
    assert "400 pairs were drawn for models, 40 of them repeated with positions swapped" in out
    assert "People: 10 x 3 pairs, drawn separately for each person" in out
    known = load_study(tmp_path / "towns")
    model = power(known, pairs=400, power=0.8, features=["age"]).frame["effect"].item()
    people = power(known, respondents=10, tasks=3, power=0.8, features=["age"]).frame["effect"].item()
    label, share, expected, shown, effective, *effects = row_of(out, "New")
    assert (label, share, expected, effective) == ("New", "50.0%", "400", "800")
    assert effects == [f"{model:.4f}", f"{people:.4f}"]
    assert row_of(out, "Old")[-1] == "reference"
    assert int(shown) + int(row_of(out, "Old")[3]) == 800
    small = power(known, pairs=400, amce=0.02, features=["size"]).frame["power"].min()
    assert row_of(out[out.index("Power for") :], "Size")[1] == f"{small:.2f}"
    assert row_of(out, "Judge")[1:3] == ["text", "880"]
    assert "People: not known for 10 x 3 pairs." in out
    assert "Without `ask` in the study file, and therefore without a cost: Not asked." in " ".join(
        out.split()
    )
    assert "Warnings" not in out


def test_the_page_holds_all_that_it_shows(told: Told, tmp_path: Path) -> None:
    told(study(tmp_path, design={"implausible": [COAST]}), "--pairs 300")
    page = (DESIGN / "card.html").read_text(encoding="utf-8")
    seen = Outside()
    seen.feed(page)
    assert not [name for name in seen.named if not name.startswith(("#", "data:"))]
    assert "http" not in re.sub(r'xmlns[^=]*="[^"]*"', "", page)
    assert seen.tags.count("svg") == 2
    assert page.count('role="img" aria-label="') == 2
    assert "prefers-color-scheme: dark" in page
    assert "Rivers widen at the coast" in page
    assert str(tmp_path) not in page
    assert "<code>conjury collect --dry-run</code>" in page
    names = {path.name for path in (DESIGN / "figures").iterdir()}
    assert names == {"levels-light.svg", "levels-dark.svg", "plan-light.svg", "plan-dark.svg"}


def test_all_numbers_are_in_the_table(said: Told, tmp_path: Path) -> None:
    said(study(tmp_path, design={"implausible": [COAST], "restrictions": [TINY]}), "--pairs 300")
    level = numbers("levels", feature="age", level="new")
    assert level["expected"] == pytest.approx(600 * level["probability"])
    assert {"drawn", "probability", "expected", "shown"} == set(level)
    contrast = numbers("contrasts", feature="age", level="new", judge="models")
    assert contrast["effective"] == pytest.approx(1 / contrast["std_error"] ** 2)
    assert set(numbers("contrasts", judge="human", feature="age", level="new")) >= {"detectable", "power"}
    coast = numbers("implausible", combination="Place = Coast and River = Dry or Narrow")
    assert coast["pairs"] == pytest.approx(300 * (1 - (1 - coast["probability"]) ** 2))
    assert numbers("restrictions", combination="Size = Small and Trains = Often")["cells"] == 18
    assert numbers("ties", feature="size", reference="trains")["cramers_v"] > 0.1
    cost = numbers("costs, text", judge="judge")
    assert (cost["requests"], cost["cost"] > cost["batch_cost"] > 0) == (660, True)


TINY = {"levels": {"size": ["small"], "trains": ["often"]}}


def test_implausible_combinations_are_warned_of_with_the_way_out(said: Told, tmp_path: Path) -> None:
    out = said(study(tmp_path, design={"implausible": [COAST]}), "--pairs 900")
    share = 1 / 3 * 2 / 3
    pairs = 100 * (1 - (1 - share) ** 2)
    assert (
        "- Implausible: Place = Coast and River = Dry or Narrow (Rivers widen at the coast). Expected in "
        f"{1800 * share:,.0f} profiles and {pairs:.1f}% of pairs, drawn in "
    ) in plain(out)
    assert "move its entry from implausible to restrictions" in plain(out)
    drawn = re.search(r"drawn in ([\d,]+) profiles and ([\d,]+) pairs", plain(out))
    assert drawn is not None
    tables = [pd.read_parquet(DESIGN / f"{name}.parquet") for name in ("tasks", "profiles")]
    shown = tables[0][~tables[0]["repeat"].astype(bool)].merge(tables[1], on="profile_id")
    here = (shown["place"] == "coast") & shown["river"].isin(["dry", "narrow"])
    assert int(drawn[1].replace(",", "")) == here.sum()
    assert int(drawn[2].replace(",", "")) == shown.loc[here, "task_id"].nunique()


def test_a_restriction_takes_the_warning_away_and_explains_itself(said: Told, tmp_path: Path) -> None:
    made = study(tmp_path, design={"implausible": [COAST], "restrictions": [COAST]})
    out = said(made, "--pairs 400")
    assert "Implausible" not in out
    assert "162 combinations; restrictions allow 126 of them" in out
    assert row_of(out, "Place = Coast and River = Dry or Narrow")[1:] == [
        "36 (22.2%)",
        "22.2%",
        "Rivers widen at the coast.",
    ]
    assert "Resulting dependence (Cramer's V): Place and River 0.33." in plain(out)
    assert "- Restrictions make Place and River dependent (Cramer's V 0.33)" in plain(out)
    profiles = pd.read_parquet(DESIGN / "profiles.parquet")
    assert not ((profiles["place"] == "coast") & profiles["river"].isin(["dry", "narrow"])).any()


def test_analyses_that_leave_a_tie_out_are_warned_of(said: Told, tmp_path: Path) -> None:
    analyses = [
        {"name": "amce", "verb": "amce", "title": "Effects", "formula": "chosen ~ place + river + age"}
    ]
    out = said(study(tmp_path, design={"restrictions": [COAST]}, analyses=analyses), "--pairs 100")
    assert "Analysis amce: restrictions tie place with river" in plain(out)
    assert "write place * river in the formula" in plain(out)
    analyses[0]["formula"] = "chosen ~ place * river"
    joined = study(tmp_path, design={"restrictions": [COAST]}, analyses=analyses)
    out = said(joined, "--pairs 100", "--out joined")
    assert "write place * river" not in out
    assert "AMCEs of place average over the levels of river that meet both" in plain(out)


def test_few_pairs_are_warned_of(said: Told, tmp_path: Path) -> None:
    out = said(study(tmp_path), "--pairs 3")
    assert "is in none of the pairs drawn; draw more pairs." in out
    assert "--stimulus-sd" not in out  # towns have no stimuli
    assert re.search("what a judge is shown of them: (?!profile_id)", out)
    assert re.search(r"of less than 200 profiles \(.*Size 4[,)].*; plan more pairs or merge levels", out)
    assert row_of(out, "New")[-2:-1] == ["none"]


def test_unequal_shares_that_wear_off_are_warned_of(said: Told, tmp_path: Path) -> None:
    attributes = towns()["attributes"][:3]
    for level, share in zip(attributes[0]["levels"], (0.8, 0.1, 0.1), strict=True):
        level["probability"] = share
    analyses: list[dict[str, Any]] = []
    made = study(tmp_path, attributes=attributes, analyses=analyses)
    (made / "truth.csv").unlink()
    out = said(made, "--pairs 900")
    assert "Size: Small is shown 600 times where 1,440 are expected." in out
    assert "without replacement, so shares become more equal" in out


def test_profiles_judged_one_at_a_time_have_a_card_without_power(told: Told, tmp_path: Path) -> None:
    content = {
        "collect": towns()["collect"] | {"form": "single"},
        "response": {"form": "ratings", "scales": [{"id": "nice", "label": "Nice", "maximum": 4}]},
    }
    out = told(study(tmp_path, **content), "--pairs 40")
    assert "power is planned for pairs only" in out
    assert "Effective" not in out
    assert {path.name for path in (DESIGN / "figures").iterdir()} == {"levels-light.svg", "levels-dark.svg"}


def test_a_card_fits_a_narrow_terminal(said: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = said(study(tmp_path), "--pairs 300")
    card = out[out.index("Levels") :].splitlines()
    assert max(map(len, card)) <= 80
    assert "Expected  " not in out
    assert row_of(out, "New")[:2] == ["New", "50.0%"]


def test_a_design_of_another_study_file_is_not_overwritten(said: Told, refused: Told, tmp_path: Path) -> None:
    said(study(tmp_path), "--pairs 20")
    before = (DESIGN / "card.html").read_bytes()
    error = refused("design", study(tmp_path, design={"restrictions": [TINY]}), "--pairs 20")
    assert "restrictions of the study file have changed since the design was drawn" in error
    assert (DESIGN / "card.html").read_bytes() == before
    profiles = pd.read_parquet(DESIGN / "profiles.parquet")
    profiles.drop(columns="place").to_parquet(DESIGN / "profiles.parquet")
    error = refused("design", study(tmp_path), "--pairs 20")
    assert "was drawn without place, which the study file now contains" in error


def test_a_wrong_restriction_is_refused_with_its_line(refused: Told, tmp_path: Path) -> None:
    made = study(tmp_path, design={"restrictions": [{"levels": {"place": ["cost"], "river": ["dry"]}}]})
    error = refused("design", made)
    assert "restrictions, place: 'cost' is unknown here; did you mean 'coast'?" in error
    line = int(error.split(":")[2])
    assert (made / "study.yaml").read_text().splitlines()[line - 1].strip() == "- cost"


def test_items_that_people_rated_elsewhere_become_an_assignment(told: Told, tmp_path: Path) -> None:
    folder = write_study(tmp_path / "posts", items(RATINGS))
    rated = pd.DataFrame({"judge_id": ["ann", "bob"], "judge_kind": "human", "item_id": "post_0", "value": 1})
    rated.assign(dimension="threat").to_csv(tmp_path / "rated.csv", index=False)
    printed = told(f"{folder} --panel {tmp_path / 'rated.csv'} --out runs/rated")
    assert "1 item by 2 people" in printed
    assert read_table(Path("runs/rated/design/assignment.parquet"))["rater"].tolist() == ["ann", "bob"]
