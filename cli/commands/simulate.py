"""The command ``conjury simulate``: choices, ratings or labels from the truth table of a study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.errors import InputError
from conjury.inference.tables.limits import ITEMS, PAIRS, RESPONDENTS, SAMPLES, TRUE_CELLS

from ..options import StudyName, at_most, grouped, of_other_kind, refuse_typed
from ..printing import console, print_written, show_count

if TYPE_CHECKING:
    from conjury.inference.design.run_design import DrawnDesign
    from conjury.inference.study.models import ItemStudy, Study

Out = Annotated[
    Path, typer.Option("--out", help="File of the choices or judgments (.parquet, .csv, .csv.gz).")
]


@dataclass(frozen=True)
class AnswerOptions:
    """Who answers, and how often."""

    seed: Annotated[int, typer.Option(min=0, help="Same seed, same choices.")] = 1
    samples: Annotated[
        int | None,
        typer.Option(
            help="Answers per model and pair or item; by default those of the study, or one.",
            callback=at_most(SAMPLES),
        ),
    ] = None
    copy_samples: Annotated[
        int, typer.Option(help="Answers per model and perturbed copy.", callback=at_most(SAMPLES))
    ] = 1
    judge: Annotated[list[str] | None, typer.Option(help="Only this judge; can be repeated.")] = None
    people: Annotated[
        int | None,
        typer.Option(
            help="Number of people; in a study of ratings they share the items, in one of labels each "
            "labels all items.",
            callback=at_most(RESPONDENTS),
        ),
    ] = None
    topics: Annotated[
        int | None, typer.Option(help="Topics of a study of ratings.", callback=at_most(ITEMS))
    ] = None
    repeats: Annotated[
        float | None, typer.Option(help="Share of a person's items that are repeated, in a study of ratings.")
    ] = None
    items: Annotated[
        int | None, typer.Option(help="Items of a study of labels.", callback=at_most(ITEMS))
    ] = None


@dataclass(frozen=True)
class PairOptions:
    """What a conjoint asks."""

    respondents: Annotated[
        int | None, typer.Option(help="Size of the human panel.", callback=at_most(RESPONDENTS))
    ] = None
    pairs: Annotated[
        int | None, typer.Option(help="Pairs that every model judges.", callback=at_most(PAIRS))
    ] = None
    swapped_share: Annotated[
        float, typer.Option(help="Share of these pairs that models judge again with positions swapped.")
    ] = 0.0
    noise: Annotated[
        float | None,
        typer.Option(help="Probability that an answer of a model differs from its stable choice."),
    ] = None
    prompt: Annotated[list[str] | None, typer.Option(help="Only this prompt; can be repeated.")] = None
    run: Annotated[
        Path | None,
        typer.Option(help="Run with the design to be judged: models answer all its tasks, people their own."),
    ] = None


@grouped
def simulate(study: StudyName, out: Out, answers: AnswerOptions, pairs: PairOptions) -> None:
    """Draw answers from the truth table of a study.

    Choices, ratings or labels, of people and models.
    """
    from conjury.inference.study import Study, load_any_study
    from conjury.inference.tables.files import check_ending

    check_ending(out)
    loaded_study = load_any_study(study)
    if isinstance(loaded_study, Study):
        of_items = ("people", "topics", "repeats", "items", "copy_samples")
        refuse_typed(of_other_kind(study, "pairs"), answers, only=of_items)
        _choices(loaded_study, out, answers, pairs)
        return
    refuse_typed(of_other_kind(study, "items"), pairs)
    if loaded_study.label_sets:
        refuse_typed(of_other_kind(study, "labels"), answers, only=("topics", "repeats"))
    else:
        refuse_typed(of_other_kind(study, "ratings"), answers, only=("items", "copy_samples"))
    _judgments(loaded_study, out, answers)


def _choices(study: Study, out: Path, answers: AnswerOptions, pairs: PairOptions) -> None:
    """Simulate choices and write them with the true values next to them."""
    from conjury.inference.simulation.conjoint.conjoint_simulation import simulate as draw
    from conjury.inference.tables.columns import companion

    for name, number in (("respondents", pairs.respondents), ("pairs", pairs.pairs)):
        if number is not None and number < 1:
            raise InputError(f"--{name} is {number}; give a whole number above 0.")
    design = None if pairs.run is None else _design_of(study, pairs.run, pairs)
    with show_count("Drawing choices"):
        simulation = draw(
            study,
            answers.seed,
            respondents=pairs.respondents,
            pairs=pairs.pairs,
            judges=answers.judge,
            prompts=pairs.prompt,
            swapped_share=pairs.swapped_share,
            samples=1 if answers.samples is None else answers.samples,
            noise=pairs.noise,
            design=design,
        )
    print_written([(simulation.choices, out, "rows of choices")])
    if simulation.truth is not None:
        print_written([(simulation.truth, companion(out, "truth"), "true values")])
        return
    console.print(
        f"No true values: they are computed for at most {TRUE_CELLS:,} combinations of attributes, and this "
        "study has more."
    )


def _design_of(study: Study, run: Path, pairs: PairOptions) -> DrawnDesign:
    """Read the design of a run; refuse options that would draw another one."""
    from conjury.inference.collecting.run_folder import RunFolder
    from conjury.inference.design.run_design import check_restrictions

    reason = "has no effect with --run, which determines the design; omit one of the two."
    refuse_typed(reason, pairs, only=("respondents", "pairs", "swapped_share"))
    design = RunFolder(run).design
    if design is None:
        raise InputError(
            f"{run} contains no design; draw one with `conjury design {study.here} --out {run}`."
        )
    check_restrictions(study, design, run)
    return design


def _judgments(study: ItemStudy, out: Path, answers: AnswerOptions) -> None:
    """Simulate ratings or labels and write them with items, gold labels and true values next to them."""
    from conjury.inference.simulation.labels import simulate_labels
    from conjury.inference.simulation.ratings import simulate_ratings
    from conjury.inference.tables.columns import companion

    who: dict[str, Any] = {"people": answers.people, "judges": answers.judge}
    role_words = {"items": "items", "truth": "true values"}
    simulation: Any
    if study.label_sets:
        who |= {"samples": answers.samples, "copy_samples": answers.copy_samples}
        with show_count("Drawing labels"):
            simulation = simulate_labels(study, answers.seed, items=answers.items, **who)
        role_words = {"items": "items", "labels": "gold labels", "truth": "true values"}
    else:
        samples = 1 if answers.samples is None else answers.samples
        who["repeats"] = answers.repeats
        with show_count("Drawing ratings"):
            simulation = simulate_ratings(study, answers.seed, topics=answers.topics, samples=samples, **who)
    companions = [
        (getattr(simulation, role), companion(out, role), what) for role, what in role_words.items()
    ]
    print_written([(simulation.judgments, out, "rows of judgments"), *companions])
