"""Collecting judgments: plan a run, ask a judge, go on after an interruption, read the answers again."""

from typing import TYPE_CHECKING

from ..lazy_names import import_when_used

if TYPE_CHECKING:
    from .answering.probe_run import PlannedProbe, plan_probe, probe
    from .answering.probing import ServerProbe
    from .answering.rereading import reread
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
    "PlannedProbe",
    "Prepared",
    "Running",
    "ServerProbe",
    "Status",
    "Tally",
    "add_people",
    "add_raters",
    "add_survey",
    "collect",
    "parse",
    "plan_probe",
    "preview",
    "probe",
    "reread",
    "retry",
    "status",
]

import_when_used(
    __name__,
    {
        ".answering.probe_run": ("PlannedProbe", "plan_probe", "probe"),
        ".answering.probing": ("ServerProbe",),
        ".answering.rereading": ("reread",),
        ".jobs": ("Job", "Plan"),
        ".past_runs": ("Status", "parse", "retry", "status"),
        ".people_tasks": ("PeoplePlan", "add_people", "add_raters", "add_survey"),
        ".recorder": ("Tally",),
        ".run": ("Collected", "Prepared", "collect", "preview"),
        ".run_options": ("Asking", "Running"),
    },
)
