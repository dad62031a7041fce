"""Judgments of people (and models) from files of other programs, and a first study file for choices."""

from typing import TYPE_CHECKING

from ..lazy_names import import_when_used

if TYPE_CHECKING:
    from .conjoint_export import Survey, draft_study, read_qualtrics
    from .crowd import join_prolific, read_crowd
    from .exclusion_rules import Rules, read_checks, read_scale
    from .imported_ratings import Imported, anonymise
    from .inspect_logs import read_inspect
    from .jspsych import read_jspsych
    from .label_studio import read_label_studio
    from .qualtrics import read_qualtrics_ratings
    from .rating_columns import Layout, read_names
    from .text_tables import make_ids

__all__ = [
    "Imported",
    "Layout",
    "Rules",
    "Survey",
    "anonymise",
    "draft_study",
    "join_prolific",
    "make_ids",
    "read_checks",
    "read_crowd",
    "read_inspect",
    "read_jspsych",
    "read_label_studio",
    "read_names",
    "read_qualtrics",
    "read_qualtrics_ratings",
    "read_scale",
]

import_when_used(
    __name__,
    {
        ".conjoint_export": ("Survey", "draft_study", "read_qualtrics"),
        ".crowd": ("join_prolific", "read_crowd"),
        ".exclusion_rules": ("Rules", "read_checks", "read_scale"),
        ".imported_ratings": ("Imported", "anonymise"),
        ".inspect_logs": ("read_inspect",),
        ".jspsych": ("read_jspsych",),
        ".label_studio": ("read_label_studio",),
        ".qualtrics": ("read_qualtrics_ratings",),
        ".rating_columns": ("Layout", "read_names"),
        ".text_tables": ("make_ids",),
    },
)
