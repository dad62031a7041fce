"""The command ``conjury render``: draws the profiles of a design as pictures, checks and uploads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from conjury.analysis.numerics.workers import available_processors
from conjury.inference.errors import InputError

from .automation import record
from .gallery import PageOptions, draw_gallery
from .options import StudyName, grouped, refuse_typed
from .printing import console, duration, show_count

if TYPE_CHECKING:
    import pandas as pd

    from conjury.inference.design.run_design import DrawnDesign
    from conjury.inference.study.asking import Cues
    from conjury.inference.study.models import Study
    from conjury.inference.vignettes import Job, JobFolder
    from conjury.inference.vignettes.jobs.drawing import DrawingPlan
    from conjury.inference.vignettes.jobs.drawing_jobs import Renderer

WHICH, LOOK, DELIVERY = "Which profiles", "What pictures look like", "Where they go"


@dataclass(frozen=True)
class PictureSelection:
    """Which pictures are drawn."""

    cues: Annotated[
        list[str] | None,
        typer.Option(
            help="Cues of an author's identity: both (the default), name, face or none; can be "
            "repeated. Prompts say which they need under `cues`.",
            rich_help_panel=WHICH,
        ),
    ] = None
    run: Annotated[
        Path | None,
        typer.Option(help="Run whose design is drawn; by default runs/STUDY.", rich_help_panel=WHICH),
    ] = None
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Only the first pairs of the design.", rich_help_panel=WHICH)
    ] = None
    all: Annotated[
        bool, typer.Option("--every", help="Draw every profile of the study.", rich_help_panel=WHICH)
    ] = False


@dataclass(frozen=True)
class Look:
    """How pictures are drawn."""

    layout: Annotated[
        str | None,
        typer.Option(help="Layout that ships, or a file; by default the study's.", rich_help_panel=LOOK),
    ] = None
    theme: Annotated[
        str | None, typer.Option(help="Theme of the layout; by default the study's.", rich_help_panel=LOOK)
    ] = None
    faces: Annotated[
        Path | None,
        typer.Option(
            help="Folder with a folder of pictures for each group, in place of drawn faces.",
            rich_help_panel=LOOK,
        ),
    ] = None
    emoji_font: Annotated[
        Path | None, typer.Option(help="Font of the emoji; by default searched for.", rich_help_panel=LOOK)
    ] = None


@dataclass(frozen=True)
class Delivery:
    """Where pictures go, and how."""

    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder of pictures and their tables, by default stimuli; with --page that of the page, by "
            "default runs/STUDY.",
            rich_help_panel=DELIVERY,
        ),
    ] = None
    format: Annotated[
        str,
        typer.Option("--to", help="png, or webp (smaller, slower, also lossless).", rich_help_panel=DELIVERY),
    ] = "png"
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; by default one per core.", rich_help_panel=DELIVERY),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show the number, time and size of pictures, without writing any.",
            rich_help_panel=DELIVERY,
        ),
    ] = False
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Verify the pictures and list those that are missing or damaged; exit code 1 if there "
            "are any.",
            rich_help_panel=DELIVERY,
        ),
    ] = False
    upload: Annotated[
        str | None,
        typer.Option(
            help="Copy the pictures to storage that fsspec reaches, such as s3://bucket/prefix; credentials "
            "come from the environment.",
            rich_help_panel=DELIVERY,
        ),
    ] = None
    address: Annotated[
        str | None,
        typer.Option(
            help="Public address of the uploaded pictures, such as https://host/prefix.",
            rich_help_panel=DELIVERY,
        ),
    ] = None


def next_step(study: str, selection: PictureSelection, delivery: Delivery) -> str:
    """Name the command that shows to a judge what was drawn."""
    options = {
        "stimuli": "images" if delivery.upload is None else "links",
        "out": selection.run,
        "pairs": selection.pairs,
        "pictures": delivery.out,
    }
    flags = (f"--{name} {value}" for name, value in options.items() if value is not None)
    return f"Next: conjury collect {study} {' '.join(flags)} --judge ..."


MB = 1e6
PICTURES = Path("stimuli")  # where pictures go by default
SHOWN = 20  # damaged files that are named


@grouped
def render(
    study: StudyName,
    selection: PictureSelection,
    look: Look,
    delivery: Delivery,
    page: PageOptions,
) -> None:
    """Draw the profiles of a design as pictures.

    Run it again to resume; --page shows a selection on one page.
    """
    from conjury.inference.study.load import load_study

    loaded_study = load_study(study)
    if page.page:
        _draw_page(loaded_study, selection, look, delivery, page)
        return
    refuse_typed("is about the page; add --page, or omit it.", page)
    folder = delivery.out or PICTURES
    cues = check_cues(selection.cues)
    _check_delivery(delivery)
    if delivery.verify:
        raise typer.Exit(max(_check(loaded_study, name, folder) for name in cues))
    profiles, seed = _profiles(loaded_study, selection, keep=not delivery.dry_run)
    for name in cues:
        job = study_job(loaded_study, name, look, seed, delivery.format)
        _render(job, profiles, delivery)
    if delivery.dry_run:
        console.print("No pictures were written (--dry-run).")
        return
    console.print(next_step(study, selection, delivery))


def _draw_page(
    study: Study, selection: PictureSelection, look: Look, delivery: Delivery, options: PageOptions
) -> None:
    """Draw a selection of the profiles of a run's design, or of all that the study can have, on one page."""
    from conjury.inference.collecting.past_runs import run_folder
    from conjury.inference.vignettes import open_job

    of_pictures = ("format", "workers", "dry_run", "verify", "upload", "address")
    refuse_typed("is about the pictures themselves; omit it, or --page.", delivery, only=of_pictures)
    cues = check_cues(selection.cues)
    run = run_folder(study, selection.run)
    if run.design is None and selection.pairs is None:  # nothing is drawn for a look at it
        selection = replace(selection, all=True)
    profiles, seed = _profiles(study, selection, keep=False)
    renderers = [open_job(study_job(study, name, look, seed)) for name in cues]
    draw_gallery(study, profiles, renderers, delivery.out or run.path, options)


def _render(job: Job, profiles: pd.DataFrame, delivery: Delivery) -> None:
    """Draw the missing pictures of one kind of cues, and upload them if asked to."""
    from conjury.inference.vignettes import JobFolder, draw_job, open_job
    from conjury.inference.vignettes.jobs.drawing import plan
    from conjury.inference.vignettes.jobs.drawing_jobs import check_ablation, check_job

    renderer = open_job(job)
    folder = JobFolder(delivery.out or PICTURES, job.study.name, job.cues)
    check_job(folder, renderer.facts)
    check_ablation(renderer, profiles)
    workers = delivery.workers or available_processors()
    planned = plan(folder, profiles["profile_id"].to_numpy())
    _print_plan(renderer, folder, profiles, planned, workers)
    if delivery.dry_run:
        return
    try:
        with show_count("Drawing", planned.wanted) as progress:
            draw_job(renderer, folder, profiles, workers, progress)
    except KeyboardInterrupt:
        console.print("Stopped; finished pictures are kept, and the same command resumes from here.")
        raise
    _print_end(folder, profiles)
    if delivery.upload is not None and delivery.address is not None:
        _upload(job.study, folder, delivery.upload, delivery.address)


def check_cues(names: Sequence[str] | None) -> list[Cues]:
    """Return the cues that were asked for, each once; both by default."""
    from conjury.inference.errors import did_you_mean, listed
    from conjury.inference.study.asking import Cues

    choices = get_args(Cues)
    for name in names or ():
        if name not in choices:
            raise InputError(
                f"--cues {name}: there are no such cues{did_you_mean(name, choices)}; use {listed(choices)}."
            )
    return [cast("Cues", name) for name in dict.fromkeys(names or ("both",))]


def _check_delivery(delivery: Delivery) -> None:
    """Refuse options that do not go together, before anything is drawn."""
    from conjury.inference.vignettes.jobs.uploading import check_address, open_storage

    if (delivery.upload is None) != (delivery.address is None):
        raise InputError(
            "--upload is where pictures are copied to, --address is where judges fetch them; give both."
        )
    if delivery.upload is not None and delivery.address is not None:
        check_address(delivery.address)
        open_storage(delivery.upload)


def _profiles(study: Study, selection: PictureSelection, keep: bool) -> tuple[pd.DataFrame, int]:
    """Return the profiles that are drawn, and the seed of their posts."""
    from conjury.inference.collecting.past_runs import run_folder
    from conjury.inference.design.profiles import enumerate_profiles

    folder = run_folder(study, selection.run)
    if selection.all:
        if selection.pairs is not None:
            raise InputError(
                "--every draws all profiles, --pairs those of the first pairs; give one of them."
            )
        seed = study.collect.seed if folder.design is None else folder.design.drawn["seed"]
        return enumerate_profiles(study).drop(columns="probability"), seed
    design = folder.design or folder.draw(study, None, None, None, keep)
    profile_ids = sorted(set(design.first_pairs(selection.pairs, "all")["profile_id"]))
    chosen = enumerate_profiles(study).drop(columns="probability")
    chosen = chosen[chosen["profile_id"].isin(profile_ids)]
    check_posts(study, chosen, profile_ids, design, folder.path)
    return chosen, design.drawn["seed"]


def check_posts(
    study: Study, profiles: pd.DataFrame, profile_ids: list[int], design: DrawnDesign, folder: Path
) -> None:
    """Refuse a design whose profiles and posts are no longer what the files of the study make."""
    from conjury.inference.errors import listed
    from conjury.inference.vignettes import vignette_records

    study_posts = vignette_records(study, profiles, "both", design.drawn["seed"]).set_index("profile_id")
    design_posts = design.posts.set_index("profile_id").loc[profile_ids]
    shared_columns = [name for name in design_posts if name in study_posts and name != "alt"]
    records = study_posts.reindex(design_posts.index).astype("string")
    changed = [
        name for name in shared_columns if not design_posts[name].astype("string").equals(records[name])
    ]
    if changed:
        raise InputError(
            f"{folder / 'design'}: its posts differ from those of the current study files (in "
            f"{listed(changed)}); draw the design again into another folder with `conjury design "
            f"{study.here} --out FOLDER`."
        )


def study_job(study: Study, cues: Cues, look: Look, seed: int, kind: str = "png") -> Job:
    """Put together how pictures are drawn, by options and the study file."""
    from conjury.inference.errors import listed
    from conjury.inference.vignettes.jobs.drawing_jobs import Job, with_faces
    from conjury.inference.vignettes.jobs.store import MEDIA_TYPES, Format

    if kind not in MEDIA_TYPES:
        raise InputError(f"--to {kind}: pictures can be written as {listed(MEDIA_TYPES)}; give one of these.")
    vignette = study.vignette
    default_layout = "table" if study.content is None else "post"
    return Job(
        study if look.faces is None else with_faces(study, look.faces),
        cues,
        look.layout or (vignette.layout if vignette else default_layout),
        look.theme or (vignette.theme if vignette else "light"),
        cast(Format, kind),
        seed,
        look.emoji_font,
    )


def _print_plan(
    renderer: Renderer, folder: JobFolder, profiles: pd.DataFrame, planned: DrawingPlan, workers: int
) -> None:
    """Print how many pictures there are and will be, how long that takes, and where they are stored."""
    from conjury.inference.vignettes.jobs.drawing import measure_costs

    job = renderer.job
    record(pictures={job.cues: {"profiles": planned.wanted, "drawn": planned.drawn}})
    console.print(
        f"{job.study.title}: {planned.wanted:,} profiles, cues {job.cues} (layout {job.layout}, theme "
        f"{job.theme}, {job.kind})"
    )
    console.print(f"  already drawn     {planned.drawn:,}")
    if missing := len(planned.missing):
        seconds, size = measure_costs(renderer, profiles)
        rate = min(workers, available_processors(), len(planned.chunks)) / seconds
        console.print(
            f"  to be drawn       {missing:,}, about {missing * size / MB:,.1f} MB, "
            f"at about {rate:,.0f} per second: {duration(missing / rate)}"
        )
    console.print(f"  pictures          {folder.root / 'pictures'}")
    console.print(f"  table of them     {folder.manifest}")


def _print_end(folder: JobFolder, profiles: pd.DataFrame) -> None:
    """Print what is there now, and which providers refuse pictures or scale them down."""
    from conjury.inference.vignettes import provider_notes, read_manifest

    columns = ["profile_id", "width", "height", "bytes"]
    pictures = read_manifest(folder.root, folder.study, folder.cues, columns)
    pictures = pictures[pictures["profile_id"].isin(profiles["profile_id"])]
    width, height, size = (pictures[name].to_numpy() for name in columns[1:])
    counts = {"profiles": len(pictures), "drawn": len(pictures), "bytes": size.sum()}
    record(pictures={folder.cues: counts}, files=[folder.manifest])
    console.print(f"All {len(pictures):,} pictures are drawn: {size.sum() / MB:,.1f} MB.")
    for sentence in provider_notes(width, height, size):
        console.print(f"  {sentence}")


def _check(study: Study, cues: Cues, root: Path) -> int:
    """Read all pictures of a manifest again; return an exit code."""
    from conjury.inference.vignettes import JobFolder, read_manifest
    from conjury.inference.vignettes.jobs.store import damaged_pictures

    files = read_manifest(root, study.name, cues, ["file", "sha256"]).drop_duplicates()
    with show_count("Reading", len(files)) as watch:
        rows = zip(range(1, len(files) + 1), files["file"], files["sha256"], strict=True)
        damaged = list(damaged_pictures(root, ((watch(n), (file, sha256))[1] for n, file, sha256 in rows)))
    record(pictures={cues: {"files": len(files), "damaged": [str(problem) for problem in damaged]}})
    for problem in damaged[:SHOWN]:
        console.print(f"  {problem}")
    if len(damaged) > SHOWN:
        console.print(f"  and {len(damaged) - SHOWN:,} more")
    what = f"{len(damaged):,} of them missing or damaged" if damaged else "none missing or damaged"
    console.print(f"{JobFolder(root, study.name, cues).manifest}: {len(files):,} pictures, {what}.")
    if damaged:
        console.print("Delete the damaged files and run the command without --verify to draw them again.")
    return int(bool(damaged))


def _upload(study: Study, folder: JobFolder, target: str, address: str) -> None:
    from urllib.parse import urlsplit

    from conjury.inference.vignettes.jobs.uploading import check_address, open_storage, upload

    with show_count("Uploading") as watch:
        sent, total = upload(folder, open_storage(target), check_address(address), watch)
    record(uploaded={folder.cues: {"pictures": total, "new": sent, "to": target}})
    console.print(
        f"{total:,} pictures are in {target}, {sent:,} of them new; their addresses are in {folder.manifest}."
    )
    host = urlsplit(address).hostname
    if host not in study.collect.media_hosts:
        console.print(
            f"For `conjury collect --stimuli links`, list {host} under collect, media_hosts in the study."
        )
