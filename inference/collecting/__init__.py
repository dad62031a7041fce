"""Collecting judgments: plan a run, ask a judge, go on after an interruption, read the answers again."""

from .jobs import Job, Plan
from .past_runs import Status, parse, retry, status
from .people_tasks import PeoplePlan, add_people, add_raters, add_survey
from .recorder import Tally
from .run import Collected, Prepared, collect, preview
from .run_options import Asking, Running

__all__ = [
    "Asking",
    "Collected",
    "Job",
    "PeoplePlan",
    "Plan",
    "Prepared",
    "Running",
    "Status",
    "Tally",
    "add_people",
    "add_raters",
    "add_survey",
    "collect",
    "parse",
    "preview",
    "retry",
    "status",
]
