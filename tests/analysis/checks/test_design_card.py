"""The numbers of a design card agree with power analyses, with counts by hand, and with repeated studies."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats.contingency import association

from conjury.analysis.conjoint import power
from conjury.analysis.conjoint.power.design_card_numbers import (
    MODELS,
    SMALL,
    DesignCard,
    PairPlan,
    cramers_v,
    make_card,
)
from conjury.inference.design.profiles import attribute_cells
from conjury.inference.study import Study
from conjury.inference.study.study_fields import Analysis, Combination, Design

pytestmark = pytest.mark.long

NEVER = Combination(levels={"identity": ["anonymous"], "reply": ["agree", "disagree"]})
CALM = Combination(levels={"topic": ["politics"], "curse": ["no_curse"]}, because="Politics is loud.")


@pytest.fixture(scope="module")
def shown(study) -> pd.DataFrame:
    return drawn(study, 600, 1)


@pytest.fixture(scope="module")
def card(study, shown) -> DesignCard:
    return card_of(study)


@pytest.fixture(scope="module")
def contrasts(card) -> pd.DataFrame:
    return card.contrasts.set_index(["plan", "level"])


def changed(study: Study, formula: str = "", **design: list[Combination]) -> Study:
    """The study with other combinations, and one analysis if a formula is given."""
    made = Design(pairs=600, respondents=50, tasks=4, **design)  # type: ignore[arg-type]
    analyses = [Analysis(name="amce", verb="amce", title="Effects", formula=formula)] if formula else []
    return study.model_copy(update={"design": made, "analyses": analyses or study.analyses})


def drawn(study: Study, pairs: int, seed: int) -> pd.DataFrame:
    """Profiles of independent draws, two rows per pair."""
    cells = attribute_cells(study)
    rows = np.random.default_rng(seed).choice(len(cells), 2 * pairs, p=cells["probability"])
    return cells.drop(columns="probability").iloc[rows].reset_index(drop=True)


def card_of(study: Study) -> DesignCard:
    plans = [PairPlan(MODELS, "Each model", 600, {}), PairPlan("human", "Panel", 200, {"tasks": 4})]
    return make_card(study, drawn(study, 600, 1), plans)


def test_levels_are_counted_and_expected(shown, card) -> None:
    levels = card.levels.set_index(["feature", "level"])
    assert levels.loc[("reply", "agree"), "shown"] == (shown["reply"] == "agree").sum()
    assert levels.loc[("speech", "benign"), "shown"] == (shown["slur"] == "none").sum()
    assert levels.loc[("reply", "agree"), "expected"] == pytest.approx(400)
    assert levels.groupby("feature")["shown"].sum().eq(1200).all()
    assert levels.index[levels["reference"]].tolist()[:2] == [("slur", "generic"), ("identity", "anonymous")]
    assert levels.loc[levels["derived"]].index.get_level_values(0).unique().tolist() == [
        "speech",
        "race",
        "gender",
    ]
    assert (levels["drawn"] == levels["probability"]).all()


def test_restrictions_change_the_shares_of_levels_and_relate_attributes(study: Study) -> None:
    card = card_of(changed(study, restrictions=[NEVER]))
    anonymous = card.levels.set_index(["feature", "level"]).loc[("identity", "anonymous")]
    assert (anonymous["drawn"], anonymous["probability"]) == (pytest.approx(1 / 5), pytest.approx(1 / 13))
    (row,) = card.restrictions.to_dict("records")
    assert (row["cells"], row["probability"]) == (280, pytest.approx(2 / 15))
    (tie,) = card.ties.to_dict("records")
    assert (tie["feature"], tie["partner"]) == ("identity", "reply")
    rules = [
        Combination(levels={"identity": ["anonymous"], "reply": ["agree"]}),
        Combination(levels={"reply": ["agree"], "curse": ["curse"]}),
    ]
    ties = card_of(changed(study, restrictions=rules)).ties
    pairs = [["identity", "reply"], ["identity", "curse"], ["reply", "curse"]]
    assert ties[["feature", "partner"]].to_numpy().tolist() == pairs
    assert ties["cramers_v"].iloc[1] < ties["cramers_v"].iloc[0]
    counts = np.array([[40, 10, 5], [15, 30, 20]])
    assert cramers_v(counts / counts.sum()) == pytest.approx(association(counts, method="cramer"))


def test_effective_sizes_are_twice_the_harmonic_mean_where_levels_combine_freely(contrasts) -> None:
    effective, n = contrasts["effective"], 1200
    assert effective[MODELS, "agree"] == pytest.approx(2 * n / 3)
    assert effective[MODELS, "curse"] == pytest.approx(n)
    assert effective[MODELS, "slur"] == pytest.approx(4 / (7 / (6 * n) + 7 / n))
    assert effective["human", "curse"] == pytest.approx(400)


def test_detectable_effects_and_power_are_those_of_power_for_every_level(study, card) -> None:
    for name, options in ((MODELS, {"pairs": 600}), ("human", {"respondents": 50, "tasks": 4})):
        rows = card.contrasts[card.contrasts["plan"] == name]
        wanted = power(study, power=0.8, **options).frame  # type: ignore[arg-type]
        np.testing.assert_allclose(rows["detectable"], wanted["effect"])
        small = power(study, amce=SMALL, **options).frame  # type: ignore[arg-type]
        np.testing.assert_allclose(rows["power"], small["power"])
    assert [found.solved for found in card.powers] == ["effect", "effect"]
    wanted = {
        (plan, name, level)
        for plan, (name, part) in product((MODELS, "human"), study.features.items())
        for level in [own.id for own in part.levels][1:]
    }
    assert {(row.plan, row.feature, row.level) for row in card.contrasts.itertuples()} == wanted


def test_meetings_of_a_level_with_its_reference_are_pairs(shown, contrasts) -> None:
    sides = shown["reply"].astype(str).to_numpy().reshape(-1, 2)
    row = contrasts.loc[(MODELS, "agree")]
    assert row["meetings_drawn"] == sum(set(pair) == {"no_reply", "agree"} for pair in sides)
    assert row["meetings"] == pytest.approx(600 * 2 / 9)
    assert np.isnan(contrasts.loc[("human", "agree"), "meetings_drawn"])


def test_joins_are_those_of_the_main_analysis_of_a_restricted_study(study: Study) -> None:
    sizes = []
    for formula in ("chosen ~ identity * reply + curse", "chosen ~ identity + reply"):
        made = card_of(changed(study, formula=formula, restrictions=[NEVER]))
        sizes.append(made.contrasts.set_index(["plan", "level"])["effective"][MODELS, "black_male"])
    assert sizes[0] < sizes[1] < 1200 * 2 / 5


def test_implausible_combinations_are_counted_in_profiles_and_pairs(study: Study, shown) -> None:
    (calm, never) = card_of(changed(study, implausible=[CALM, NEVER])).implausible.to_dict("records")
    here = ((shown["topic"] == "politics") & (shown["curse"] == "no_curse")).to_numpy()
    assert calm["profiles_drawn"] == here.sum()
    assert calm["pairs_drawn"] == here.reshape(-1, 2).any(axis=1).sum()
    assert (calm["probability"], calm["profiles"]) == (pytest.approx(0.1), pytest.approx(120))
    assert calm["pairs"] == pytest.approx(600 * 0.19)
    assert calm["because"] == "Politics is loud."
    assert never["probability"] == pytest.approx(2 / 15)
    both = changed(study, implausible=[NEVER], restrictions=[NEVER])
    (gone,) = card_of(both).implausible.to_dict("records")
    assert (gone["probability"], gone["profiles_drawn"], gone["pairs"]) == (0, 0, 0)


def test_a_card_without_plans_has_levels_alone(study: Study) -> None:
    card = make_card(study, drawn(study, 5, 1), [])
    assert card.contrasts.empty
    assert card.n_pairs == 5
    assert len(card.levels) == 32
