"""The ``conjury`` command: parses arguments, calls the two layers, prints what was made."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.tables.bounded import (
    DRAWS,
    EXHAUSTED,
    ITEMS,
    PAIRS,
    REQUESTS,
    RESPONDENTS,
    SAMPLES,
    TASKS,
    exhausted,
)

from .bounds import at_most
from .examples import example
from .gallery import gallery
from .import_command import import_
from .perturbing import perturb
from .rating_commands import register
from .rendering import render

READERS = tuple(
    f"conjury.inference.{name}"
    for name in ("files", "parquet", "levels", "marked_yaml", "bounded", "truth_files", "humans", "stimuli")
)
LONGEST = 4_000  # characters of a message
INTERRUPTED = 130  # what typer exits with, in silence, after Ctrl-C

app = typer.Typer(
    name="conjury",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Measure how LLM judges decide, next to human judges.",
)

StudyName = Annotated[str, typer.Argument(help="Name of a study that ships, or the path of a study.yaml.")]
LevelsFile = Annotated[
    Path | None, typer.Option("--levels", help="Level order of columns that a CSV cannot hold.")
]
Renames = Annotated[list[str] | None, typer.Option("--rename", help="Column of the file as THEIRS=OURS.")]
Alpha = Annotated[float, typer.Option("--alpha", help="One minus the confidence level.")]
ResultsPath = Annotated[Path, typer.Option("--results", help="Results folder that `conjury fit` wrote.")]


@app.command()
def simulate(
    study: StudyName,
    out: Annotated[
        Path, typer.Option("--out", help="Where the choices or judgments go (.parquet, .csv, .csv.gz).")
    ],
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same choices.")] = 1,
    respondents: Annotated[
        int | None, typer.Option(help="Size of the human panel.", callback=at_most(RESPONDENTS))
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(help="Pairs that every model judges.", callback=at_most(PAIRS))
    ] = None,
    swapped_share: Annotated[
        float, typer.Option(help="Share of these pairs that models see again with the sides swapped.")
    ] = 0.0,
    samples: Annotated[
        int | None,
        typer.Option(
            help="Answers of every model to each pair or item; by default one, or the study's.",
            callback=at_most(SAMPLES),
        ),
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Probability that an answer of a model departs from its stable pick.")
    ] = None,
    judge: Annotated[list[str] | None, typer.Option(help="Only this judge; can be repeated.")] = None,
    prompt: Annotated[list[str] | None, typer.Option(help="Only this prompt; can be repeated.")] = None,
    topics: Annotated[
        int | None, typer.Option(help="Topics of a study of ratings.", callback=at_most(ITEMS))
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(
            help="People who share its ratings, or who all label each item.", callback=at_most(RESPONDENTS)
        ),
    ] = None,
    repeats: Annotated[
        float | None, typer.Option(help="Share of a person's items that come twice, in a study of ratings.")
    ] = None,
    items: Annotated[
        int | None, typer.Option(help="Items of a study of labels.", callback=at_most(ITEMS))
    ] = None,
) -> None:
    """Draw choices, ratings or labels of people and models from the study's truth table."""
    from conjury.inference.study.models import ItemStudy, load_any_study

    from .commands import Repeats, simulate_study
    from .rating_studies import refuse_options, simulate_answers, simulate_items

    known = load_any_study(study)
    if isinstance(known, ItemStudy):
        conjoint = {"--respondents": respondents, "--pairs": pairs, "--noise": noise, "--prompt": prompt}
        refuse_options(study, "items", conjoint | {"--swapped-share": swapped_share or None})
        if known.label_sets:
            refuse_options(study, "labels", {"--topics": topics, "--repeats": repeats})
            simulate_answers(known, out, seed, items, people, samples, judge)
            return
        refuse_options(study, "ratings", {"--items": items})
        simulate_items(known, out, seed, topics, people, 1 if samples is None else samples, repeats, judge)
        return
    ratings = {"--topics": topics, "--people": people, "--repeats": repeats, "--items": items}
    refuse_options(study, "pairs", ratings)
    again = Repeats(swapped_share, 1 if samples is None else samples, noise)
    simulate_study(study, out, seed, respondents, pairs, again, judge, prompt)


app.command()(example)
app.command("import")(import_)
app.command()(perturb)
app.command()(render)
app.command()(gallery)


Out = Annotated[Path | None, typer.Option("--out", help="Folder of the run; by default runs/STUDY.")]
PriceTable = Annotated[Path | None, typer.Option(help="Table of prices in place of the one that ships.")]
Rule = Annotated[str, typer.Option(help="How answers are read: default, strict, lenient, token.")]


@app.command()
def design(
    study: StudyName,
    out: Out = None,
    pairs: Annotated[
        int | None,
        typer.Option(help="Pairs that every model judges; else the study's.", callback=at_most(PAIRS)),
    ] = None,
    swapped_share: Annotated[
        float | None, typer.Option(help="Share of these pairs that come again with the sides swapped.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Same seed, same design.")] = None,
    people: Annotated[
        int | None,
        typer.Option(
            help="People who share the items of a study; by default as few as can be.",
            callback=at_most(RESPONDENTS),
        ),
    ] = None,
    repeats: Annotated[
        float | None, typer.Option(help="Share of a person's items that come twice; else the study's.")
    ] = None,
) -> None:
    """Draw the pairs of a conjoint, or who rates which item, before anyone is asked."""
    from conjury.inference.study.models import ItemStudy, load_any_study

    from .collecting import draw
    from .rating_studies import assign_items, refuse_options

    known = load_any_study(study)
    if isinstance(known, ItemStudy):
        refuse_options(study, "items", {"--pairs": pairs, "--swapped-share": swapped_share})
        assign_items(known, out, people, repeats, seed)
        return
    refuse_options(study, "pairs", {"--people": people, "--repeats": repeats})
    draw(study, out, pairs, swapped_share, seed)


@app.command()
def collect(
    study: StudyName,
    judge: Annotated[str, typer.Option(help="Judge of the study file, or a name of your own with --model.")],
    out: Out = None,
    prompt: Annotated[list[str] | None, typer.Option(help="Only this prompt; can be repeated.")] = None,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Only the first pairs of the design, or the first items.")
    ] = None,
    stimuli: Annotated[
        str, typer.Option(help="text; images (files of `conjury render`); or links (their addresses).")
    ] = "text",
    pictures: Annotated[Path, typer.Option(help="Where `conjury render` keeps pictures.")] = Path("stimuli"),
    backend: Annotated[
        str | None, typer.Option(help="openai (and what speaks its protocol), vllm, ray, simulated, replay.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Name of the model where it is served.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of a server with OpenAI's protocol.")] = None,
    key_variable: Annotated[str | None, typer.Option(help="Environment variable that holds the key.")] = None,
    answer: Annotated[str | None, typer.Option(help="auto, token, choice, json or free.")] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, help="Answers to each request.", callback=at_most(SAMPLES))
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Requests in flight, at most.", callback=at_most(REQUESTS))
    ] = 64,
    batch: Annotated[bool, typer.Option("--batch", help="By OpenAI's batch interface.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Stay until batches have ended.")] = False,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Stop before more than this is spent, to within one request.")
    ] = None,
    prices: PriceTable = None,
    rule: Rule = "default",
    recorded: Annotated[Path | None, typer.Option(help="Responses for --backend replay.")] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the requests as JSONL for a batch runner; send nothing.")
    ] = None,
    results: Annotated[Path | None, typer.Option(help="Take the results of a batch runner.")] = None,
    weights: Annotated[Path | None, typer.Option(help="Folder of the weights for vllm and ray.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell requests, tokens, price and time; send nothing.")
    ] = False,
) -> None:
    """Ask a model what it has not answered yet; run it again to go on."""
    from .asking import Asking, Running
    from .collecting import collect_judgments

    if stimuli not in ("text", "images", "links"):
        raise InputError(f"--stimuli {stimuli}: posts are shown as text, images or links; write one of them.")
    asking = Asking(backend, model, base_url, key_variable, answer, samples)
    running = Running(
        pairs,
        stimuli != "text",
        stimuli == "links",
        pictures,
        concurrency,
        max_cost,
        prices,
        batch,
        wait,
        dry_run,
        rule,
        recorded,
        export,
        results,
        weights,
    )
    raise typer.Exit(collect_judgments(study, judge, prompt, out, asking, running))


@app.command()
def status(study: StudyName, out: Out = None) -> None:
    """Tell how far a run is."""
    from .runs import show_status

    show_status(study, out)


@app.command()
def retry(
    study: StudyName,
    status: Annotated[
        list[str], typer.Option(help="error, refused, empty, truncated, unparsed or ok; can be repeated.")
    ],
    judge: Annotated[str | None, typer.Option(help="Only this judge.")] = None,
    out: Out = None,
) -> None:
    """Mark requests to be asked again by the next collect; their earlier answers are kept."""
    from .runs import retry as mark

    mark(study, out, status, judge)


@app.command()
def parse(study: StudyName, out: Out = None, rule: Rule = "default", prices: PriceTable = None) -> None:
    """Read the answers of a run again, by another rule, and write its tables; nothing is sent."""
    from .runs import parse as read

    read(study, out, rule, prices)


ledger = typer.Typer(no_args_is_help=True, help="Look after the ledger of a run.")
app.add_typer(ledger, name="ledger")


@ledger.command()
def verify(study: StudyName, out: Out = None) -> None:
    """Look for damage in the ledger of a run; exit code 1 where there is any."""
    from .runs import verify as look

    raise typer.Exit(look(study, out))


@app.command()
def fit(
    study: StudyName,
    data: Annotated[
        list[Path],
        typer.Option(
            "--data", help="Tidy choices table: .parquet, .csv or .csv.gz; repeat it to stack several."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Results folder; made if missing.")] = Path("results"),
    variant: Annotated[
        list[str] | None, typer.Option(help="A second version of the data as NAME=FILE; can be repeated.")
    ] = None,
    levels: LevelsFile = None,
    rename: Renames = None,
    judge: Annotated[str | None, typer.Option(help="Only this judge, or its name in a file of one.")] = None,
    prompt: Annotated[
        str | None, typer.Option(help="Only this prompt, or its name in a file of one.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="native, survey, cregg, statsmodels or linearmodels.")
    ] = "native",
    id: Annotated[
        list[str] | None,
        typer.Option(help="Cluster column in place of the study's; repeat it for columns that cross."),
    ] = None,
    vcov: Annotated[
        str | None, typer.Option(help="Errors: survey (cregg's), CR0, CR1, CR1S, CR2, HC0 to HC3.")
    ] = None,
    alpha: Alpha = 0.05,
    draws: Annotated[
        int | None, typer.Option(help="Bootstrap draws; 0 for none.", callback=at_most(DRAWS))
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 1,
    interval: Annotated[str, typer.Option(help="percentile, basic, bca or studentized.")] = "percentile",
    outcome: Annotated[
        str | None,
        typer.Option(help="What analyses are about: chosen, or probability (of being chosen)."),
    ] = None,
    items: Annotated[
        Path | None, typer.Option("--items", help="Items of a study of items, with their strata.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option(help="Advantage that people must have over a model that may replace them.")
    ] = 0.1,
    gold: Annotated[
        Path | None,
        typer.Option("--gold", help="Gold labels (item_id, label_set, label); by default the study's."),
    ] = None,
    reading: Annotated[
        list[Path] | None,
        typer.Option("--reading", help="The same answers read by another rule; can be repeated."),
    ] = None,
) -> None:
    """Run a study's analyses on its choices or judgments and write tables, figures and a manifest."""
    from conjury.analysis.pipeline.conjoint import Options
    from conjury.inference.study.models import ItemStudy, load_any_study

    from .commands import fit_choices
    from .loading import load_variants
    from .rating_fits import fit_of_items

    known = load_any_study(study)
    if isinstance(known, ItemStudy):
        conjoint = {
            "--variant": variant, "--levels": levels, "--id": id, "--vcov": vcov, "--outcome": outcome,
            "--judge": judge, "--prompt": prompt, "--engine": engine != "native",
            "--interval": interval != "percentile",
        }  # fmt: skip
        fit_of_items(
            known, data, items, rename, out, conjoint, alpha, draws, seed, epsilon, gold, reading or ()
        )
        return
    if gold is not None or reading:
        raise InputError("--gold and --reading are options of studies of labels, and this is a conjoint.")
    loaded = load_variants(study, data, variant, levels, rename, judge, prompt).about(outcome)
    draws = loaded.study.bootstrap.draws if draws is None else draws
    fit_choices(loaded, out, Options(engine, tuple(id or ()), vcov, alpha, draws, seed, interval))


@app.command()
def compare(
    study: StudyName,
    engines: Annotated[
        str, typer.Option(help="Engines, separated by commas; the first is the yardstick.")
    ] = ("native,survey,cregg,statsmodels,linearmodels"),
    results: ResultsPath = Path("results"),
    data: Annotated[
        Path | None, typer.Option("--data", help="Choices; by default those of the results folder.")
    ] = None,
    analysis: Annotated[str | None, typer.Option(help="Which analysis; by default the first.")] = None,
    judge: Annotated[str | None, typer.Option(help="Which judge; by default the first.")] = None,
    prompt: Annotated[str | None, typer.Option(help="Which prompt; by default the first.")] = None,
    levels: LevelsFile = None,
    rename: Renames = None,
    alpha: Alpha = 0.05,
) -> None:
    """Run one analysis with several engines and write their differences to the results folder."""
    from .comparing import compare_on_group

    compare_on_group(study, engines.split(","), results, data, levels, rename, analysis, judge, prompt, alpha)


@app.command()
def report(
    name: Annotated[
        str,
        typer.Argument(
            help="moderation, oogiri, multiturn, harm_or_humor, conjoint (any other conjoint), raters (any "
            "judgments), benchmark (any labels with gold), diagnostics or estimators."
        ),
    ],
    results: ResultsPath = Path("results"),
    out: Annotated[Path, typer.Option("--out", help="Folder for the report.")] = Path("reports"),
    to: Annotated[str, typer.Option("--to", help="html, or pdf (needs Quarto).")] = "html",
) -> None:
    """Render a report from a results folder, with Quarto where it is installed."""
    from .commands import render_report

    render_report(name, results, out, to)


@app.command()
def power(
    study: StudyName,
    effect: Annotated[
        list[float] | None,
        typer.Option(help="Effect to plan for; can be repeated; by default 0.01, 0.02, 0.05."),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(help="Pairs that every model judges; else the study's.", callback=at_most(PAIRS)),
    ] = None,
    respondents: Annotated[
        int | None,
        typer.Option(help="Size of the human panel; else the study's.", callback=at_most(RESPONDENTS)),
    ] = None,
    power: Annotated[float, typer.Option(help="Wanted probability of a significant estimate.")] = 0.8,
    alpha: Annotated[float, typer.Option("--alpha", help="Two-sided significance level.")] = 0.05,
    tests: Annotated[int, typer.Option(help="Number of tests that share alpha (Bonferroni, Holm).")] = 1,
    judge: Annotated[list[str] | None, typer.Option(help="Only this judge; can be repeated.")] = None,
    icc: Annotated[
        float, typer.Option(help="Correlation of the scores of two tasks of one respondent.")
    ] = 0.0,
    reliability: Annotated[
        float | None, typer.Option(help="Share of repeated pairs that a respondent answers alike.")
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            help="Repeated tasks of each respondent, to correct effects by the reliability.",
            callback=at_most(TASKS),
        ),
    ] = None,
    stimulus_sd: Annotated[
        float | None,
        typer.Option(help="Standard deviation of choice probabilities between stimuli of a level."),
    ] = None,
    cost_per_pair: Annotated[float | None, typer.Option(help="Cost of a pair, for all models.")] = None,
    cost_per_respondent: Annotated[
        float | None, typer.Option(help="Cost of a respondent, repeats included.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Table of all levels (.csv, .parquet).")] = None,
    figure: Annotated[Path | None, typer.Option("--figure", help="Figure (.png, .svg, .pdf).")] = None,
) -> None:
    """Tell which effects a study can find, the sizes that others need, and what they cost."""
    from .powering import plan_study

    options = {
        "tests": tests,
        "icc": icc,
        "reliability": reliability,
        "repeats": repeats,
        "stimulus_sd": stimulus_sd,
    }
    costs = (cost_per_pair, cost_per_respondent)
    plan_study(study, effect, pairs, respondents, power, alpha, judge, options, costs, out, figure)


@app.command()
def diagnose(
    study: StudyName,
    results: ResultsPath = Path("results"),
    data: Annotated[
        Path | None, typer.Option("--data", help="Choices; by default those of the results folder.")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Only this judge.")] = None,
    prompt: Annotated[str | None, typer.Option(help="Only this prompt.")] = None,
    filter: Annotated[
        list[str] | None,
        typer.Option(help="Column that says who passed an attention check; can be repeated."),
    ] = None,
    levels: LevelsFile = None,
    rename: Renames = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Level of the tests.")] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random designs.")] = 1,
) -> None:
    """Check design, respondents and answers; write tables and figures of what was found."""
    from .diagnosing import diagnose_choices

    diagnose_choices(study, results, data, levels, rename, judge, prompt, filter, alpha, seed)


@app.command()
def doctor() -> None:
    """Print what is installed, what is missing, and how to get it."""
    from .doctor import examine

    examine()


register(app)


def main() -> None:
    """Run the command line; problems that the user can solve end with one sentence and exit code 2."""
    try:
        app()
    except ConjuryError as error:
        _fail(error)
    except OSError as error:
        _fail(InputError(f"{error.filename or 'A file'} cannot be used: {error.strerror or error}."))
    except EXHAUSTED as error:  # the last line: a reader that did not say which limit a file exceeds
        source = _file_read(error)
        if source is None:
            raise
        _fail(exhausted(source, error))
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            _interrupted()
        raise


def _interrupted() -> NoReturn:
    print("conjury: interrupted; no file was left half written.", file=sys.stderr)
    sys.exit(INTERRUPTED)


def _file_read(error: BaseException) -> object:
    """Name the file that was being read when an error came up; None where it came from anything else."""
    named = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if str(frame.f_globals.get("__name__", "")).startswith(READERS):
            local = frame.f_locals
            named = next((local[name] for name in ("path", "source", "file") if name in local), named)
    return named


def _fail(error: ConjuryError) -> None:
    """Print one line that a terminal shows as it is, whatever a file holds, and exit with code 2."""
    text = " ".join(str(error).split())
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    printable = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
    print(f"conjury: {printable}", file=sys.stderr)
    sys.exit(2)
