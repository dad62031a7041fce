"""Where the profiles come from: a data frame, or a Parquet file of which only what is needed is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import InputError

from .engines import assemble, solve
from .estimands import PLANS
from .estimates import Estimates
from .null import MEANS, needed_columns
from .plan import Plan
from .repeated import REPEAT, without_repeats
from .request import Request, require_frame
from .support import warn_of_few_clusters

if TYPE_CHECKING:
    from .reliability.correction import Correct

Data = pd.DataFrame | str | Path


def frame_of(request: Request, data: Data, *, whole: bool = False) -> pd.DataFrame:
    """Return the rows that a request is put to; of a file, the columns that it names, or the whole.

    Rows of repeated pairs are excluded, with a warning, unless the request names the column ``repeat``.
    """
    formula = request.formula
    texts = [*formula.features, *request.by, *request.clusters]
    named = [formula.outcome, *texts, request.weights, request.strata]
    if not isinstance(data, str | Path):
        return without_repeats(require_frame(data), named)
    from conjury.inference.tables.parquet import column_names, read_parquet

    path = Path(data)
    if path.suffix.lower() != ".parquet" or not path.is_file():
        raise InputError(f"{path}: there is no such Parquet file; give a data frame or the path of one.")
    if whole:
        return without_repeats(read_parquet(path), named)
    held = column_names(path)
    choices = needed_columns(held) if request.verb in MEANS and request.h0 is None else []
    wanted = list(dict.fromkeys(name for name in (*named, *choices) if name))
    marks = [REPEAT] if REPEAT not in wanted and REPEAT in held else []
    frame = read_parquet(path, wanted + marks, [*texts, *choices])
    return without_repeats(frame, named).drop(columns=marks)


def plan_for(request: Request, data: Data) -> Plan:
    """Build the plan of a request."""
    return PLANS[request.verb](request, frame_of(request, data))


def estimate(request: Request, data: Data, correct: Correct | None = None) -> Estimates:
    """Estimate what a request asks for, corrected for swapping errors if ``correct`` says which."""
    if correct is not None:
        from .reliability.correction import estimate_corrected

        return estimate_corrected(request, data, correct)
    if request.engine == "cregg":
        from .engines.cregg import estimate_with_cregg

        return estimate_with_cregg(request, frame_of(request, data))
    if request.engine == "bayes":
        from .bayes.engine import estimate_with_bayes

        return estimate_with_bayes(request, frame_of(request, data, whole=True))
    plan = plan_for(request, data)
    warn_of_few_clusters(plan)
    return assemble(plan, solve(plan, request.engine))
