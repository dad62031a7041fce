"""The result type that every estimator returns, and the steps by which an analysis states when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.entry_registry import Registry
from conjury.inference.errors import ConjuryError, InputError

from .frames.analysis_wings import WINGS
from .frames.notes import joined_dimensions
from .numerics.intervals import UNBOUNDED, Support, inference

if TYPE_CHECKING:
    from pathlib import Path

    from great_tables import GT
    from matplotlib.figure import Figure

    from .frames.kinds import Claims

__all__ = ["Result"]

KEY_COLUMNS = ("outcome", "statistic", "feature", "level")
NUMBER_COLUMNS = ("estimate", "std_error", "df", "z", "p", "lower", "upper")


def tidy(
    keys: pd.DataFrame,
    estimate: np.ndarray,
    std_error: np.ndarray,
    alpha: float,
    null: float = 0.0,
    df: np.ndarray | None = None,
    support: Support = UNBOUNDED,
) -> pd.DataFrame:
    """Bind key columns of m rows to their numbers, in the order that every table uses."""
    interval = inference(estimate, std_error, alpha, null, df, support)
    errors = {"std_error": std_error} if df is None else {"std_error": std_error, "df": df}
    return keys.assign(
        estimate=estimate, **errors, z=interval.z, p=interval.p, lower=interval.lower, upper=interval.upper
    )


def row_labels(keys: pd.DataFrame) -> pd.MultiIndex:
    """Label rows by reference and group, where there are any, feature and level."""
    named = [name for name in keys.columns if name not in ("outcome", "statistic")]
    return pd.MultiIndex.from_frame(keys[named].astype("string"))


def stack(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate tidy tables; categories keep the order in which they are first seen."""
    if not frames:
        raise InputError("There is no table to stack; give at least one result.")
    ordered = [str(name) for name, kind in frames[0].dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
    levels = {
        name: list(dict.fromkeys(level for frame in frames for level in frame[name].cat.categories))
        for name in ordered
    }
    aligned = [
        frame.assign(**{name: frame[name].cat.set_categories(levels[name]) for name in ordered})
        for frame in frames
    ]
    return pd.concat(aligned, ignore_index=True)


@dataclass(frozen=True)
class Result:
    """The tidy table of an analysis.

    Parameters
    ----------
    frame : DataFrame
        One row per number: key columns, then ``estimate, std_error, lower, upper`` as far as they exist.
    kind : str
        Which analysis, and so which figure: as ``figures.draw`` finds it.
    notes : tuple of str
        What was excluded, assumed or noticed, one sentence each; reports print labels for ids of those that
        are a `Note`.
    settings : dict
        What was run: coefficients, draws, seed, alpha and the like, as JSON could hold them.
    extra : dict of str to DataFrame
        Further tables of the same analysis, by name.
    real_judges : tuple of str, optional
        Judges whose answers are real, where rows behind the result are marked as simulated (column
        ``origin``); None where none are. Figures then say that their data are simulated.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge": ["gpt"], "metric": ["accuracy"], "estimate": [0.9]})
    >>> result = Result(frame, "scores", notes=("Two items without gold labels were excluded.",))
    >>> result.frame["estimate"].tolist(), result.notes[0]
    ([0.9], 'Two items without gold labels were excluded.')
    """

    frame: pd.DataFrame
    kind: str
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    real_judges: tuple[str, ...] | None = field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.notes) > 1:
            object.__setattr__(self, "notes", joined_dimensions(self.notes))

    @property
    def has_draws(self) -> bool:
        """Whether the result is of a model with posterior draws, which `save` of the model writes."""
        return False

    @property
    def further_tables(self) -> dict[str, pd.DataFrame]:
        """Tables beside ``frame``, by name, as a results folder keeps them."""
        return dict(self.extra)

    @property
    def recorded_settings(self) -> dict[str, Any]:
        """What the manifest of a results folder lists of the result."""
        return dict(self.settings)

    def plot(
        self,
        *,
        theme: str = "light",
        labels: Any = None,
        title: str | None = None,
        part: str | None = None,
        size: str | None = None,
        mark: str | bool = "",
        **options: Any,
    ) -> Figure:
        """Draw the figure that fits; `conjury.analysis.figures.draw` explains the options."""
        from .figures import draw

        return draw(self, theme=theme, labels=labels, title=title, part=part, size=size, mark=mark, **options)

    def table(self, part: int = 1, **options: Any) -> GT:
        """Lay out the table that reports print of such a result, with its notes.

        Parameters
        ----------
        part : int
            Which table, from 1, where series are too many for one.
        **options
            ``labels``, ``title`` and ``stars``, as in `conjury.analysis.report.paper.tables_of_result`.

        Returns
        -------
        great_tables.GT
        """
        laid_out: GT = WINGS.find("layouts").table(self, part, **options)
        return laid_out

    def sentence(self, row: int | None = None, /, *, labels: Any = None, **columns: object) -> str:
        """State a row as a paper does: the estimate, its interval, p value and number.

        Parameters
        ----------
        row : int, optional
            Its number in ``frame``, from 0.
        labels : mapping, Study or ItemStudy, optional
            Labels of attributes, levels, judges and prompts, as in `conjury.analysis.figures.draw`.
        **columns
            What stands in its columns, in place of its number: ``sentence(level="racism")``.

        Raises
        ------
        InputError
            No row or several are meant, or the result has no estimates.
        """
        return str(WINGS.find("layouts").sentence(self, row, columns, labels))

    def to_latex(self, **options: Any) -> str:
        """All tables of the result in LaTeX (package booktabs); options as in `table`."""
        return str(WINGS.find("layouts").text(self, "latex", **options))

    def to_markdown(self, **options: Any) -> str:
        """All tables of the result in Markdown; options as in `table`."""
        return str(WINGS.find("layouts").text(self, "markdown", **options))

    def to_html(self, **options: Any) -> str:
        """All tables of the result as HTML; options as in `table`."""
        return str(WINGS.find("layouts").text(self, "html", **options))

    def to_word(self, path: str | Path, **options: Any) -> Path:
        """Write all tables of the result as a Word document; options as in `table`.

        Raises
        ------
        MissingDependency
            Without pandoc's wheel, which the extra ``pdf`` installs.
        """
        written: Path = WINGS.find("layouts").word(self, path, **options)
        return written

    def _repr_html_(self) -> str:
        return self.to_html()

    def claims(self) -> Claims:
        """State what the result says and what does not follow from it; printed, it is two sentences or more.

        Raises
        ------
        InputError
            For checks and descriptions of data, which claim nothing beyond themselves.
        """
        from .frames.kinds import claims_of

        claims_of_kind = claims_of(self.kind, self.settings)
        if claims_of_kind is None:
            raise InputError(f"Results of the kind {self.kind} describe data; they claim nothing further.")
        return claims_of_kind

    def __str__(self) -> str:
        try:
            return str(WINGS.find("layouts").text(self, "text"))
        except ConjuryError:  # the installation lacks what lays tables out
            return repr(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind})\n{self.frame.to_string()}"


@dataclass(frozen=True)
class AnalysisStep:
    """An analysis to be run: its name in the results folder, its title, and the call."""

    # Nothing is written when a `required` step cannot be computed; any other step becomes a note.

    name: str
    title: str
    call: Callable[[], Result]
    required: bool = False


Planner = Callable[[Any, Mapping[str, Any]], Iterable[AnalysisStep]]  # of the data, and alpha, draws and seed


@dataclass(frozen=True)
class RegisteredPlanner:
    """A planner of steps, the data that it applies to, and its place in the order of a report."""

    planner: Planner
    order: int
    when: Callable[[Any], bool]


FOLDERS = {  # by kind of data: answers with gold labels, rated studies, or a study and its data with facets
    "benchmark": ("benchmark", "pipeline.wings"),
    "raters": ("raters.agreement", "raters.descriptive", "raters.replacement"),
    "facets": ("pipeline.wings",),
}
ANALYSES: dict[str, Registry[RegisteredPlanner]] = {
    kind: Registry("conjury.analyses", [f"{__package__}.{folder}" for folder in folders])
    for kind, folders in FOLDERS.items()
}


def analysis(
    kind: str, order: int, when: Callable[[Any], bool] = lambda data: True
) -> Callable[[Planner], Planner]:
    """Register the planner of an analysis of a kind of data, in the module of the analysis."""

    def register(planner: Planner) -> Planner:
        name = f"{planner.__module__}.{planner.__qualname__}"
        ANALYSES[kind].registered[name] = RegisteredPlanner(planner, order, when)
        return planner

    return register


def steps_of(kind: str, data: Any, draw_options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    """Steps of all analyses of a kind of data that the data allow, in the order of a report."""
    for registration in sorted(ANALYSES[kind].values(), key=lambda entry: entry.order):
        if registration.when(data):
            yield from registration.planner(data, draw_options)
