"""Write a study for another program into a folder of the run."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ...errors import InputError, did_you_mean
from ...study.load import load_any_study
from ...study.models import AnyStudy, ItemStudy, Study
from ...study.panel_section import ADDRESS, PanelSection
from ...tables.writing import atomic_write, write_text
from ..plan import PanelPlan, make_plan
from .jspsych_experiment import jspsych_experiment
from .label_studio_project import label_studio_project
from .prolific import Offer, address_with, completion_code, prolific_study
from .qualtrics_survey import qualtrics_survey
from .task_html import FOLDER, ProgramFiles, answers_of, refuse_lines

PROGRAMS = {
    "qualtrics": "Qualtrics",
    "jspsych": "jsPsych",
    "label-studio": "Label Studio",
    "prolific": "Prolific",
}


@dataclass(frozen=True)
class Exported:
    """Files that were written for another program.

    Parameters
    ----------
    plan : PanelPlan
        Who sees what, which the answers are checked against.
    folder : Path
        Folder of the files.
    files : tuple of Path
        The files that were written, pictures and clips included.
    notes : tuple of str
        What has to be done with them, and what they do not contain.

    Examples
    --------
    >>> import tempfile
    >>> written = export_study("moderation", "label-studio", people=2, out=tempfile.mkdtemp())
    >>> written.folder.name, len(written.plan.slots)
    ('label-studio', 2)
    """

    plan: PanelPlan
    folder: Path
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def export_study(
    study: str | Path | AnyStudy,
    to: str,
    *,
    out: str | Path | None = None,
    people: int | None = None,
    images: bool | None = None,
    pictures: Path = Path("stimuli"),
    media_url: str | None = None,
    offer: Offer | None = None,
) -> Exported:
    """Write a study for a program in which people answer it.

    Parameters
    ----------
    study : str, Path or study
        A study that ships, the path of a study file, or a loaded study.
    to : {"qualtrics", "jspsych", "label-studio", "prolific"}
        The program.
    out : path, optional
        Folder of the run; by default ``runs/STUDY``. What is written is in its folder ``elsewhere``.
    people : int, optional
        Number of slots; by default that of the run before, else that of the study file.
    images : bool, optional
        Whether profiles are shown as the pictures that ``conjury render`` has drawn into ``pictures``; by
        default as in the run before, else not.
    pictures : Path
        Folder in which ``conjury render`` keeps pictures.
    media_url : str, optional
        Address of the folder to which pictures and clips are uploaded, for Qualtrics and Label Studio.
    offer : Offer, optional
        Address, minutes and reward, for Prolific.

    Returns
    -------
    Exported
        The files, and the plan that answers belong to.

    Raises
    ------
    InputError
        For an unknown program, and for a study that the program cannot carry.

    Examples
    --------
    >>> import tempfile
    >>> written = export_study("moderation", "label-studio", people=2, out=tempfile.mkdtemp())
    >>> [file.name for file in written.files]
    ['config.xml', 'tasks.json']
    """
    loaded_study = load_any_study(study) if isinstance(study, str | Path) else study
    _check(loaded_study, to, media_url, offer)
    plan = make_plan(loaded_study, out=out, people=people, images=images, pictures=pictures)
    if to == "qualtrics":
        files = qualtrics_survey(plan, media_url)
    elif to == "jspsych":
        files = jspsych_experiment(plan)
    elif to == "label-studio":
        files = label_studio_project(plan, media_url)
    else:
        assert offer is not None
        files = prolific_study(plan, offer)
    folder = plan.folder / FOLDER / to
    return Exported(plan, folder, tuple(_write_files(files, folder)), files.notes)


def _check(study: AnyStudy, to: str, media_url: str | None, offer: Offer | None) -> None:
    """Refuse, before anything is drawn or written, what cannot be exported."""
    if to not in PROGRAMS:
        raise InputError(f"--to {to}{did_you_mean(to, PROGRAMS)} is unknown; use {', '.join(PROGRAMS)}.")
    if isinstance(study, Study | ItemStudy):
        answers_of(study)
        if to in ("qualtrics", "label-studio"):
            refuse_lines(study, PROGRAMS[to])
    if media_url is not None and not re.match(ADDRESS, media_url):
        raise InputError(
            f"--media-url {media_url}: this is no address; write one such as https://example.org/media."
        )
    if to == "prolific":
        if offer is None:
            raise InputError(
                "--to prolific needs the address of the study, the minutes of a visit and the reward; add "
                "--url, --minutes and --reward."
            )
        address_with(offer.url, {})
        completion_code(study.panel or PanelSection(), study.name)


def _write_files(files: ProgramFiles, folder: Path) -> list[Path]:
    """Write the files of a folder, each complete or not at all; others in the folder stay."""
    paths = []
    try:
        for name, text in files.texts.items():
            write_text(folder / name, text, durable=False)
            paths.append(folder / name)
        for name, source in files.media.items():
            with atomic_write(folder / name, durable=False) as file, source.open("rb") as original:
                shutil.copyfileobj(original, file)
            paths.append(folder / name)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}); choose another --out.") from None
    return paths


__all__ = ["Exported", "export_study"]
