"""The command ``conjury panel``: people judge in the browser; their tables, figures and identifiers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from conjury.inference.errors import InputError, counted, money, require_installed
from conjury.inference.tables.limits import RESPONDENTS

from ...automation import record
from ...options import SERVER, RunFolderPath, StudyName, at_most, grouped
from ...printing import console, print_facts

if TYPE_CHECKING:
    from conjury.inference.panel.panel_tables import PanelTables
    from conjury.inference.panel.plan import PanelPlan
    from conjury.inference.panel.status import PanelFigures
    from conjury.inference.study.models import AnyStudy

SERVE = "serve"
NEEDED = "conjury panel needs {missing}, which is not installed; run `pip install 'conjury[panel]'`."
DEMO = 60  # places of a demonstration whose design has more
FREE = 5  # places of a demonstration that are left for whoever looks at its pages
ENDS = {
    "finished": "finished",
    "screened_out": "screened out",
    "full": "not admitted, no place left",
    "declined": "declined",
    "failed_checks": "ended by attention checks",
    "failed_comprehension": "ended by questions about the instructions",
    "withdrawn": "withdrawn, answers deleted",
    "timed_out": "too late, place reassigned",
}


class _StudyFirstGroup(TyperGroup):
    """A group whose first word is a study where it is none of the commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [SERVE, *args]
        return super().parse_args(ctx, args)


panel = typer.Typer(
    cls=_StudyFirstGroup,
    no_args_is_help=True,
    help="Let people judge a study in the browser.\n\n`conjury panel STUDY`; their answers are written to "
    "the same tables as those of models.",
)

Database = Annotated[
    str | None,
    typer.Option(
        help="postgresql+psycopg://USER@HOST/NAME or sqlite:///FILE; by default panel.sqlite in the folder "
        "of the run."
    ),
]


@dataclass(frozen=True)
class ServerOptions:
    """Who takes part, and where pages are served."""

    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Let simulated people fill all but a few places before pages are served."
        ),
    ] = False
    people: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Number of participations; by default that of the run or study, with --demo at most "
            f"{DEMO}.",
            callback=at_most(RESPONDENTS),
        ),
    ] = None
    host: Annotated[str, typer.Option(help="Address on which pages are served.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free port.")] = 0
    images: Annotated[
        bool | None,
        typer.Option(
            help="Show profiles as pictures drawn by `conjury render`; by default as in the run so far."
        ),
    ] = None
    pictures: Annotated[Path, typer.Option(help="Folder of these pictures.")] = Path("stimuli")
    https: Annotated[
        bool, typer.Option("--https", help="Pages are served by HTTPS, through a reverse proxy.")
    ] = False
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address or network of a trusted reverse proxy; can be repeated."),
    ] = None
    new_token: Annotated[
        bool,
        typer.Option(
            "--new-token",
            help="Make a new token of the researcher; the one before and its sessions end.",
        ),
    ] = False
    stay: Annotated[
        bool,
        typer.Option(
            help="Serve pages until Ctrl-C; with --no-stay a demonstration ends when its places are filled."
        ),
    ] = True


@panel.command(SERVE)
@grouped
def serve(
    study: StudyName, served: ServerOptions, database: Database = None, out: RunFolderPath = None
) -> None:
    """Serve the pages of a study: `conjury panel STUDY` for short."""
    require_installed(("sqlalchemy", *SERVER), NEEDED)
    from conjury.inference.panel.plan import make_plan
    from conjury.inference.panel.storage.opening import check_address
    from conjury.inference.panel.web.panel_server import open_socket

    if database is not None:
        check_address(database)
    if not served.stay and not served.demo:
        raise InputError("--no-stay applies to demonstrations; add --demo, or omit it.")
    loaded_study = _load_study(study)
    folder = Path("runs") / f"{loaded_study.name}_demo" if served.demo and out is None else out
    if served.stay:
        with open_socket(served.host, served.port):
            pass  # refused before anything is drawn
    people = _places(loaded_study, served, folder)
    plan = make_plan(loaded_study, out=folder, people=people, images=served.images, pictures=served.pictures)
    if served.demo:
        _simulate_people(plan, database, min(FREE, len(plan.slots) - 1) if served.stay else 0)
    if served.stay:
        _serve(plan, served, database)


def _places(study: AnyStudy, served: ServerOptions, folder: Path | None) -> int | None:
    """How many places to draw where the study's number is not taken: a new demonstration is small."""
    from conjury.inference.panel.plan import has_begun
    from conjury.inference.study.models import Study

    if served.people or not served.demo or not isinstance(study, Study) or has_begun(study, folder):
        return served.people
    n_people = (study.panel.people if study.panel else None) or study.design.respondents
    return min(n_people, DEMO)


def _simulate_people(plan: PanelPlan, database: str | None, leave: int) -> None:
    """Let simulated people take part, with some places left to look at the pages, and write their tables."""
    from conjury.inference.panel.demo import fill
    from conjury.inference.panel.visits import Visits

    fill(plan, database, leave=leave)
    visits = Visits.open(plan, database, simulated=True)
    try:
        tables, figures = visits.tables(), visits.figures()
    finally:
        visits.close()
    console.print(
        f"{plan.study.title}: all people are simulated; their answers are no evidence about real people."
    )
    _print_figures(figures)
    _write(plan, tables, None)


def _serve(plan: PanelPlan, served: ServerOptions, database: str | None) -> None:
    from conjury.inference.panel.visits import Visits
    from conjury.inference.panel.web.panel_server import serve as serve_pages

    visits = Visits.open(plan, database, simulated=served.demo)
    try:
        serve_pages(
            visits,
            served.host,
            served.port,
            secure=served.https,
            trusted_proxies=tuple(served.proxy or ()),
            new_token=served.new_token,
            say=console.print,
        )
    finally:
        visits.close()


@panel.command()
def export(
    study: StudyName,
    out: RunFolderPath = None,
    tables: Annotated[
        Path | None, typer.Option(help="Folder of the tables; by default `people` in the folder of the run.")
    ] = None,
    database: Database = None,
) -> None:
    """Write responses, judgments, choices and respondents of the people so far as Parquet files."""
    visits, plan = _open_panel(study, out, database)
    try:
        content = visits.tables()
    finally:
        visits.close()
    _write(plan, content, tables)


@panel.command()
def status(study: StudyName, out: RunFolderPath = None, database: Database = None) -> None:
    """Show numbers of people who started, finished and left, times, attention checks, quotas and cost."""
    visits, plan = _open_panel(study, out, database)
    try:
        figures = visits.figures()
    finally:
        visits.close()
    console.print(f"{plan.study.title}: {visits.place}")
    _print_figures(figures)


@panel.command()
def forget(
    identifier: Annotated[
        str, typer.Argument(metavar="ID", help="Identifier of the person on the platform.")
    ],
    out: RunFolderPath = None,
    database: Database = None,
    answers: Annotated[
        bool,
        typer.Option("--with-answers", help="Delete the person's answers too; the place is given out again."),
    ] = False,
) -> None:
    """Erase the identifiers of one person in a panel, or in all panels below runs/."""
    require_installed(("sqlalchemy", *SERVER), NEEDED)
    from conjury.inference.panel.storage.forgetting import forget_everywhere, panels_in

    panels = [] if database is not None else panels_in(out)
    record(erased={})
    for place, erased in forget_everywhere(identifier, panels, database, answers):
        record(erased={str(place): erased})
        if erased:
            what = "identifiers and answers" if answers else "identifiers"
            console.print(f"{place}: the {what} of {counted(erased, 'person', 'people')} are erased.")
    if answers:
        console.print("Tables that were exported before still contain the answers; export them again.")
    else:
        console.print("The answers are unchanged and contain no identifiers.")


def _load_study(study: str) -> Any:
    from conjury.inference.study import load_any_study

    return load_any_study(study)


def _open_panel(study: str, out: Path | None, database: str | None) -> tuple[Any, PanelPlan]:
    """Open the panel of a run that has begun, of real or of simulated people."""
    require_installed(("sqlalchemy", *SERVER), NEEDED)
    from conjury.inference.panel.plan import begun_plan
    from conjury.inference.panel.visits import Visits

    plan = begun_plan(_load_study(study), out)
    return Visits.begun(plan, database), plan


def _write(plan: PanelPlan, tables: PanelTables, to: Path | None) -> None:
    from conjury.inference.panel.panel_answers import FOLDER

    folder = plan.folder / FOLDER if to is None else to
    rows = {f"{name}.parquet": len(table) for name, table in vars(tables).items() if table is not None}
    record(folder=folder, rows=rows, files=tables.write(folder))
    console.print(f"Tables in {folder}:")
    print_facts({name: counted(number, "row") for name, number in rows.items()})


def _print_figures(figures: PanelFigures) -> None:
    """Print the figures of a panel, one per line."""
    record(panel=figures)
    facts = {
        "places": f"{figures.slots:,}",
        "started": f"{figures.started:,}",
        "finished": f"{figures.finished:,}",
        "taking part now": f"{figures.active:,}",
        "left": f"{figures.left:,}",
        **{ENDS[name]: f"{n:,}" for name, n in figures.ended.items() if name != "finished"},
    }
    if figures.median_minutes is not None:
        facts["median time"] = f"{figures.median_minutes:.1f} minutes"
    if figures.checks_answered:
        facts["attention checks failed"] = f"{figures.checks_failed:,} of {figures.checks_answered:,}"
    for quota in figures.quotas:
        named = ", ".join(f"{question} = {option}" for question, option in quota.answers.items())
        facts[f"quota {named}"] = f"{quota.people:,} of {quota.limit:,}"
    if figures.cost is not None:
        facts["cost of those who finished"] = f"{money(figures.cost)} {figures.currency}"
    if figures.hourly is not None:
        facts["pay per hour at the median time"] = f"{money(figures.hourly)} {figures.currency}"
    print_facts(facts)
