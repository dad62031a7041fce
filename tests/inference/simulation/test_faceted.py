"""Simulated judges of an instrument have the effects of facets that the truth table states."""

from __future__ import annotations

import numpy as np
import pytest
from cases import cases
from fakes.studies import TRUTH, collect, table, towns, write_study
from scipy.special import expit

from conjury.inference.design.run_design import draw_design
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.simulation.conjoint.faceted_answers import faceted_judges
from conjury.inference.study import load_study

pytestmark = pytest.mark.long

VACUUM = 1500
FURTHER = """judge,model,plain,facet_bias,option_labels,numbers,-0.9
judge,model,plain,facet_bias,occasion,2,0.5
judge,model,plain,drift,size,large,-2
judge,model,strict,wordy,,,0.25
"""


def judges(folder, vacuum=VACUUM, truth=TRUTH + FURTHER):
    facets = {"option_order": ["given", "swapped"], "option_labels": ["letters", "numbers"]}
    content = towns() | {"instrument": {"facets": facets, "vacuum_pairs": vacuum, "anchors": 5}}
    write_study(folder, content)
    (folder / "truth.csv").write_text(truth, encoding="utf-8")
    study = load_study(folder)
    design = draw_design(study, 40, 1.0, seed=4)
    return design, faceted_judges(study, "judge", design)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return judges(tmp_path_factory.mktemp("towns"))


def test_vacuum_pairs_show_the_position_bias_of_each_prompt_and_label(drawn):
    _, known = drawn
    tasks = [f"vacuum_{number:06d}" for number in range(1, VACUUM + 1)]
    for prompt, labels, occasion, bias in (
        ("plain", "letters", 1, 0.4),
        ("plain", "numbers", 1, 0.4 - 0.9),
        ("plain", "letters", 2, 0.4 + 0.5),
        ("strict", "letters", 1, 0.0),
    ):
        judge = known[prompt]
        assert judge.probability(tasks[0], labels, occasion) == pytest.approx(expit(bias))
        share = np.mean([judge.answer(task, labels, occasion)[0] for task in tasks])
        noise = judge.rater.noise
        expected = noise + (1 - 2 * noise) * expit(bias)
        assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / VACUUM)


def test_samples_depart_with_the_noise_of_the_truth_table_and_sentences_come_at_their_share(drawn):
    _, known = drawn
    tasks = [f"vacuum_{number:06d}" for number in range(1, VACUUM + 1)]
    one, other = ([known["strict"].answer(task, sample=n) for task in tasks] for n in (1, 2))
    agreement = np.mean([a == b for (a, _), (b, _) in zip(one, other, strict=True)])
    assert abs(agreement - (0.9**2 + 0.1**2)) < 4 * np.sqrt(0.82 * 0.18 / VACUUM)
    assert abs(np.mean([wordy for _, wordy in one]) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / VACUUM)
    steady = [known["plain"].answer(task, sample=n)[0] for n in (1, 2) for task in tasks]
    assert steady[:VACUUM] == steady[VACUUM:]


def test_swapping_turns_the_advantage_and_not_the_bias_and_drift_changes_it(drawn):
    design, known = drawn
    judge, logit = known["plain"], lambda p: np.log(p / (1 - p))
    profiles = design.profiles.set_index("profile_id")["size"]
    sides = design.tasks.pivot(index="task_id", columns="position", values="profile_id")
    for number in range(1, 41):
        task = f"pair_{number:06d}"
        large = [profiles[sides.loc[task, side]] == "large" for side in "AB"]
        difference = float(large[0]) - float(large[1])
        assert logit(judge.probability(task)) == pytest.approx(1.5 * difference + 0.4)
        assert logit(judge.probability(f"{task}_swapped")) == pytest.approx(-1.5 * difference + 0.4)
        later = logit(judge.probability(task, occasion=2))
        assert later == pytest.approx((1.5 - 2) * difference + 0.4 + 0.5)


@pytest.mark.parametrize(("row", "sentence"), cases(__file__, "refused_facets"))
def test_a_facet_that_a_judge_cannot_depend_on_is_refused(tmp_path, row, sentence):
    with pytest.raises(InputError, match=r"truth\.csv:8") as refused:
        judges(tmp_path, truth=TRUTH + row + "\n", vacuum=1)
    assert sentence in str(refused.value)


def test_strict_and_lenient_parsers_read_sentences_differently(tmp_path):
    study = tmp_path / "towns"
    facets = {"parser": ["strict", "lenient"], "option_labels": ["letters", "numbers", "first_second"]}
    write_study(study, towns() | {"instrument": {"facets": facets}})
    for name in ("plain", "strict"):
        (study / f"{name}.j2").write_text("{{ options[0] }} or {{ options[1] }}?", encoding="utf-8")
    (study / "truth.csv").write_text(TRUTH + "judge,model,plain,wordy,,,1\n", encoding="utf-8")
    assert collect(study, tmp_path / "run", backend="simulated", pairs=4) == 0
    judgments = table(tmp_path / "run", "judgments")
    statuses = judgments.groupby(["prompt_id", "parser"])["status"].unique().map(list).to_dict()
    assert statuses.pop(("plain", "strict")) == ["unparsed"]
    assert set(map(str, statuses.values())) == {"['ok']"}
    assert len(statuses) == 3


def test_simulated_tasks_and_people_are_those_of_the_design_alone(drawn, tmp_path):
    design, _ = drawn
    study = load_study(write_study(tmp_path, towns()))
    made = simulate(study, 1, judges=["judge"], design=design, truth=False)
    assert made.tasks["task_id"].str.startswith("pair_").all()
    assert made.tasks["task_id"].nunique() == 80
    assert "pair_kind" not in made.choices
