from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge

from conjury.analysis.raters import read_ratings
from conjury.analysis.raters.models.ordinal.density import PRIORS, Density
from conjury.analysis.raters.models.ordinal.ordinal_data import cells, ordinal_data
from conjury.analysis.raters.models.ordinal.ordinal_draws import STEEP, STEP, WIDEST, grid, grid_step
from conjury.analysis.raters.models.ordinal.rater_model import FEW, MANY, usual_numbers
from conjury.analysis.raters.models.ordinal.rater_tables import (
    end_notes,
    equal_shares,
    groups_at_ends,
    notes_on_nonfollowers,
)
from conjury.inference.errors import InputError


def table_of(rows):
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])


def judgments(**changes):
    rows = [
        (judge, "model" if judge == "gpt" else "human", item, (at + len(judge) + int(item)) % 3)
        for item in "123456"
        for at, judge in enumerate(["ann", "bob", "gpt"])
    ]
    return table_of(rows).assign(**changes)


def arranged(table, covariates=(), **options):
    return ordinal_data(read_ratings(table, **options), covariates)


def test_people_come_first_each_model_is_a_group_and_each_rating_in_one_cell_of_its_item():
    table = judgments()
    table["panel"] = table["judge_id"].map({"ann": "north", "bob": "south"})
    data = arranged(table)
    assert (data.groups, data.n_panels, data.models) == (("north", "south", "gpt"), 2, ("gpt",))
    assert any("cannot be separated" in note for note in data.notes)
    found = cells(arranged(judgments()))
    length = np.diff(found.rating_start)
    of_item = np.split(found.item_cell, found.item_start[1:-1])
    counted = sum(w * length[c].sum() for w, c in zip(found.item_weight, of_item, strict=True))
    assert (counted, found.item_weight.sum()) == (18, 6)
    alike = [(judge, "human", item, 1 + (item > 4)) for item in range(10) for judge in ("ann", "bob")]
    assert sorted(cells(arranged(table_of(alike))).item_weight) == [5, 5]


@pytest.mark.parametrize(("panel", "covariate"), [("raw_a", "age_sd_group"), ("a_sd_b", "is_raw_text")])
def test_panels_and_covariates_may_be_called_as_parameters_are(panel, covariate):
    table = pd.concat([judgments(), judgments(judge_id="cem", judge_kind="human").drop_duplicates("item_id")])
    table["panel"] = np.where(table["judge_kind"] == "human", panel, "")
    table[covariate] = np.where(table["item_id"].astype(int) > 3, "high", "low")
    data = arranged(table, [covariate])
    density = Density(data, cells(data), PRIORS, "logit", grid(grid_step(data)))
    for made in (density.kept(density.start()), density.prior_draw(np.random.default_rng(1))):
        assert made[f"quality_{covariate}"].shape == (2,)
        assert made[f"severity_sd_{panel}"].shape == ()
        assert f"severity_raw_{panel}" not in made


def test_an_item_with_two_values_of_a_covariate_is_refused():
    table = judgments()
    table["age"] = np.where(np.arange(len(table)) == 4, "old", "young")
    with pytest.raises(InputError, match="item '2' has two values of 'age'; keep one"):
        arranged(table, ["age"])


@pytest.mark.parametrize(
    ("people", "items", "expected"), [(2, 3000, FEW), (10, 300, FEW), (20, 100, FEW), (20, 101, MANY)]
)
def test_few_people_or_few_ratings_get_more_chains_and_draws_to_adapt_in(people, items, expected):
    ratings = {f"p{j}": (np.arange(items) + j) % 4 for j in range(people)}
    assert usual_numbers(arranged(by_judge(ratings))) == expected


@pytest.mark.long
def test_the_grid_is_finer_where_items_have_more_ratings():
    people = [judgments(judge_id=judgments()["judge_id"] + str(k), judge_kind="human") for k in range(5)]
    assert grid_step(arranged(pd.concat(people))) < grid_step(arranged(judgments()))
    # fifteen people rate each item
    expected = min(STEP / np.sqrt(1 + 15 * STEEP**2 / 4), WIDEST)
    assert grid_step(arranged(pd.concat(people))) == pytest.approx(expected)
    single = pd.concat([judgments(), judgments().query("judge_id == 'gpt'").assign(judge_id="llama")])
    gpt = single[single["judge_id"] == "gpt"]
    asked = pd.concat([single.assign(sample=1), *(gpt.assign(sample=k) for k in range(2, 9))])
    many = pd.concat([asked.assign(item_id=asked["item_id"] + name) for name in "abcd"])
    assert arranged(many).own.any()
    assert grid_step(arranged(many)) < grid_step(arranged(single))
    assert grid(0.4).weights.sum() == pytest.approx(1)
    assert grid(0.4).n_window % 4 == 0


def test_the_first_of_few_repeated_ratings_is_that_of_the_lowest_sample():
    table = judgments(sample=1)
    again = table[table["judge_id"] == "ann"].head(2).assign(sample=2, value=lambda x: (x["value"] + 1) % 3)
    for rows in (pd.concat([table, again]), pd.concat([again, table])):
        data = arranged(rows)
        assert (data.sample == 1).all()
        assert len(data.judge) == len(table)


def test_own_effects_are_estimated_where_answers_are_repeated_and_share_a_cell():
    many = pd.concat([judgments(item_id=[f"{k}-{i}" for i in judgments()["item_id"]]) for k in range(5)])
    gpt = many[many["judge_id"] == "gpt"].assign(sample=2)
    data = arranged(pd.concat([many.assign(sample=1), gpt]))
    assert data.own.tolist() == [False, True]
    few = arranged(pd.concat([many.assign(sample=1), gpt.head(3)]))
    assert not few.own.any()
    assert len(few.judge) == len(many)
    assert any("too few" in note for note in few.notes)
    parts = cells(data)
    length = np.diff(parts.rating_start)
    of_item = [sorted(length[cell]) for cell in np.split(parts.item_cell, parts.item_start[1:-1])]
    assert of_item == [[1, 1, 2]] * len(of_item)
    assert parts.item_weight.sum() == 30


def test_each_panel_of_one_person_has_a_note_and_one_of_two_has_none():
    def notes(table):
        return [note for note in arranged(table).notes if "is one person" in note]

    table = judgments()
    assert notes(table) == []
    assert notes(table.assign(panel=table["judge_id"].map({"ann": "north", "bob": "south"}))) == [
        f"Panel '{panel}' is one person: severity is part of the thresholds, and no spread within the panel "
        "is estimated."
        for panel in ("north", "south")
    ]


def test_a_person_with_one_rating_for_everything_is_named():
    table = judgments()
    table.loc[table["judge_id"] == "bob", "value"] = 2
    assert any(note.startswith("bob gave the same rating") for note in arranged(table).notes)


def rated_by(**judges):
    return arranged(by_judge(judges), scale=range(5))


def test_shares_of_equal_ratings_are_of_different_people_and_of_models_with_people():
    data = rated_by(ann=[1, 2, 4], bob=[1, 3, None], cy=[2, 3, None], gpt=[1, 3, 4])
    people, model = equal_shares(data.category, data)
    assert people == pytest.approx((1 / 3 + 1 / 3) / 2)
    assert model == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)


def test_a_group_at_the_end_of_the_scale_is_found_and_told():
    even = [k % 5 for k in range(20)]
    data = rated_by(ann=even, bob=[*even[1:], 0], gpt=[3, 3, *[4] * 18])
    ends = groups_at_ends(data)
    assert ends == {"gpt": (4.0, 0.9)}
    (note,) = end_notes(ends, data)
    assert note.startswith("gpt gave 4 in 90% of its ratings")
    assert "covariates" in note


def test_a_person_who_does_not_follow_the_panel_is_named_with_an_interval():
    data = rated_by(ann=[0, 1, 2, 3, 4, 1], bob=[0, 1, 2, 3, 3, 2], gpt=[0, 1, 2, 3, 4, 2])
    slope = np.ones((1001, 3))
    slope[:, 1] = np.linspace(0, 0.4, 1001)
    draws = SimpleNamespace(of_group=np.ones((1001, 2)), slope=slope)
    [note] = notes_on_nonfollowers(draws, data, 0.1)
    assert note.startswith("'bob' follows the panel far less than its other people do")
    assert ": discrimination 0.20 (0.02 to 0.38), a typical person's is 1.00;" in note
