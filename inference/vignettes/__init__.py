"""Vignettes drawn as pictures: layouts, text in many scripts, faces, and the files that judges receive."""

from typing import TYPE_CHECKING

from ..lazy_names import import_when_used

if TYPE_CHECKING:
    from ..requests.profile_pictures import Pictures, find_pictures
    from .contact_sheet import choose_profiles
    from .faces import Faces, load_faces
    from .fonts import Fonts
    from .jobs.drawing import draw_job
    from .jobs.drawing_jobs import Job, open_job
    from .jobs.picture_manifest import JobFolder, read_manifest
    from .jobs.store import encode, vignette_records
    from .jobs.uploading import upload
    from .layouts import load_layout
    from .painting import Painter
    from .pictures import provider_notes
    from .typesetting import TextStyle, Typesetter

__all__ = [
    "Faces",
    "Fonts",
    "Job",
    "JobFolder",
    "Painter",
    "Pictures",
    "TextStyle",
    "Typesetter",
    "choose_profiles",
    "draw_job",
    "encode",
    "find_pictures",
    "load_faces",
    "load_layout",
    "open_job",
    "provider_notes",
    "read_manifest",
    "upload",
    "vignette_records",
]

import_when_used(
    __name__,
    {
        "..requests.profile_pictures": ("Pictures", "find_pictures"),
        ".contact_sheet": ("choose_profiles",),
        ".faces": ("Faces", "load_faces"),
        ".fonts": ("Fonts",),
        ".jobs.drawing": ("draw_job",),
        ".jobs.drawing_jobs": ("Job", "open_job"),
        ".jobs.picture_manifest": ("JobFolder", "read_manifest"),
        ".jobs.store": ("encode", "vignette_records"),
        ".jobs.uploading": ("upload",),
        ".layouts": ("load_layout",),
        ".painting": ("Painter",),
        ".pictures": ("provider_notes",),
        ".typesetting": ("TextStyle", "Typesetter"),
    },
)
