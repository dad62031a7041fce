"""Judgments of people (and models) from files of other programs, and a first study file for choices."""

from .crowd import read_crowd
from .draft import draft_study
from .imported import Imported, Rules, anonymise
from .inspect_logs import read_inspect
from .label_studio import read_label_studio
from .layout import Layout
from .prolific import join_prolific
from .qualtrics import Survey, read_qualtrics
from .qualtrics_ratings import read_qualtrics_ratings

__all__ = [
    "Imported",
    "Layout",
    "Rules",
    "Survey",
    "anonymise",
    "draft_study",
    "join_prolific",
    "read_crowd",
    "read_inspect",
    "read_label_studio",
    "read_qualtrics",
    "read_qualtrics_ratings",
]
