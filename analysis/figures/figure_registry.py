"""Every kind of figure, found by the kind of a result: a module of this room draws it and registers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from conjury.inference.entry_registry import Registry
from conjury.inference.errors import InputError, did_you_mean, listed

from .figure_layout import add_heading
from .journal import fit_to_width
from .labels import ColumnNames, LabelKey, LevelLabels, resolve_labels, simulation_mark, true_minus
from .theme import LIGHT, Theme, add_mark, column_width, sized, styled, theme_named

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from conjury.inference.study.models import ItemStudy, Study

    from .figure_layout import Drawable


@dataclass(frozen=True)
class FigureStyle:
    """What all figures share: colours, labels of identifiers, and the heading."""

    look: Theme
    labels: Mapping[LabelKey, str]
    title: str | None = None

    @property
    def names(self) -> ColumnNames:
        """Labels of judges, dimensions and strata by the column that contains them."""
        return ColumnNames(self.labels)

    def series_label(self, column: str, name: str) -> str:
        """Label of a judge or prompt in a series; other identifiers stay as they are."""
        if name in self.labels:
            return self.labels[name]
        kind = column.removesuffix("_id")
        return (
            self.names.of({"prompt": "prompts"}.get(kind, kind), name)
            if kind in ("judge", "prompt")
            else name
        )

    @property
    def words(self) -> LevelLabels:
        """Labels of attributes and their levels."""
        return LevelLabels(self.labels)


class Plot(Protocol):
    """What a kind of figure gives: a drawing that describes itself."""

    def draw(self, style: FigureStyle) -> Figure:
        """Draw the figure."""

    def describe(self) -> str:
        """Give the alternative text."""


@dataclass(frozen=True)
class Picture:
    """A plot of a function that draws and a text that describes."""

    function: Callable[[FigureStyle], Figure]
    text: Callable[[], str]

    def draw(self, style: FigureStyle) -> Figure:
        """Draw the figure."""
        return self.function(style)

    def describe(self) -> str:
        """Give the alternative text."""
        return self.text()


Function = TypeVar("Function", bound="Callable[..., Figure | Plot]")
Describe = Callable[[Any, FigureStyle], str]


@dataclass(frozen=True)
class FigureKind:
    """A registered figure; ``alt`` where its function draws instead of returning a plot."""

    function: Callable[..., Figure | Plot]
    alt: Describe | None
    when: Callable[[Drawable], bool]


# By kind of result: part ("" for the main figure) -> figures; their modules do not import matplotlib.
FIGURES: Registry[dict[str, list[FigureKind]]] = Registry("conjury.figures", [__package__])


def figure(
    *kinds: str,
    part: str = "",
    alt: Describe | None = None,
    when: Callable[[Drawable], bool] = lambda result: True,
) -> Callable[[Function], Function]:
    """Register a function as the figure of kinds of results, or as a further figure (``part``) of them."""
    # It returns a figure, described by `alt`, or a plot that draws and describes itself. Of several figures
    # of a kind the first whose `when` accepts the result is drawn.

    def register(function: Function) -> Function:
        for kind in kinds:
            by_part = FIGURES.registered.setdefault(kind, {})
            by_part.setdefault(part, []).append(FigureKind(function, alt, when))
        return function

    return register


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | Study | ItemStudy | str | Path | None = None,
    title: str | None = None,
    subtitle: str | None = None,
    part: str | None = None,
    size: str | None = None,
    mark: str | bool = "",
    **options: Any,
) -> Figure:
    """Draw the figure of a result, found by its kind.

    Parameters
    ----------
    result : Result
        What an analysis gave, or a table read back with its kind.
    theme : {"light", "dark"}
        Colours.
    labels : mapping, Study, ItemStudy, str or Path, optional
        The study whose labels are shown, its name or its file, or ``feature -> label`` of columns and
        ``(column, identifier) -> label`` of their values, such as ``("judges", "gpt_4_1")``; identifiers
        without a label become words.
    title : str, optional
        Heading above the figure.
    subtitle : str, optional
        Smaller words, below the heading if there is one, such as the number of choices.
    part : str
        A further figure of the result, one of `parts`; by default its main figure.
    size : {"single", "double"}, optional
        The width of one or of two columns of a journal, 85 or 180 mm, with type of 7 points or more; by
        default the width that suits the figure.
    mark : str or False, optional
        Words in the lower right corner; by default "Simulated data" where rows behind the result are marked
        as simulated, and none elsewhere. None with False.
    **options
        Options of the kind, such as ``dimensions``, ``metric`` or ``group``.

    Returns
    -------
    Figure
        Its ``get_label()`` is the alternative text, as `alt` gives it.

    Raises
    ------
    InputError
        When the result has no figure, the options name what it does not contain, or it does not fit ``size``.

    Examples
    --------
    >>> import pandas as pd
    >>> from conjury.analysis.results import Result
    >>> frame = pd.DataFrame({
    ...     "feature": "reply", "level": ["no_reply", "agree"], "estimate": [0.0, 0.1],
    ...     "lower": [None, 0.05], "upper": [None, 0.15]})
    >>> len(draw(Result(frame, "amce"), title="Effects").axes)
    1
    """
    style = FigureStyle(theme_named(theme), resolve_labels(labels), None if subtitle else title)
    kind = _find_kind(result, part)
    _refuse_unknown(kind, options)
    with sized(size), styled(style.look):
        drawing: Any = kind.function(result, style, **options)
        fig: Figure = drawing if kind.alt is not None else drawing.draw(style)
        fig.set_label(true_minus(kind.alt(result, style) if kind.alt is not None else drawing.describe()))
        if words := mark if mark is False else mark or simulation_mark(result.real_judges, style.names):
            add_mark(fig, str(words), style.look)
        if subtitle:
            add_heading(fig, title, subtitle, style.look)
        return fig if column_width() is None else fit_to_width(fig)


def _refuse_unknown(kind: FigureKind, options: Mapping[str, Any]) -> None:
    parameters = signature(kind.function).parameters.values()
    of_kind, of_all = (
        [each.name for each in listing if each.kind is each.KEYWORD_ONLY]
        for listing in (parameters, signature(draw).parameters.values())
    )
    for name in options:
        if name not in of_kind and not any(each.kind is each.VAR_KEYWORD for each in parameters):
            names = [*of_kind, *of_all]
            raise InputError(
                f"This figure has no option {name!r}{did_you_mean(name, names)}; it takes {listed(names)}."
            )


def alt(
    result: Drawable,
    labels: Mapping[LabelKey, str] | Study | ItemStudy | None = None,
    part: str | None = None,
    **options: Any,
) -> str:
    """Describe the figure of a result in words, from its numbers.

    Parameters
    ----------
    result, labels, part, **options
        As in `draw`.

    Returns
    -------
    str
        Sentences for readers who do not see the figure.

    Examples
    --------
    >>> import pandas as pd
    >>> from conjury.analysis.results import Result
    >>> frame = pd.DataFrame({
    ...     "feature": "reply", "level": ["no_reply", "agree"], "estimate": [0.0, 0.1],
    ...     "lower": [None, 0.05], "upper": [None, 0.15]})
    >>> "Agree 0.100 [0.050, 0.150]" in alt(Result(frame, "amce"))
    True
    """
    style = FigureStyle(LIGHT, resolve_labels(labels))
    kind = _find_kind(result, part)
    if kind.alt is not None:
        return true_minus(kind.alt(result, style))
    return true_minus(kind.function(result, style, **options).describe())  # type: ignore[union-attr]


def parts(result: Drawable) -> list[str]:
    """List the further figures of a result, for ``part`` of `draw` and `alt`.

    Parameters
    ----------
    result : Result
        What an analysis gave, or a table read back with its kind.

    Returns
    -------
    list of str
        Names of the figures; empty where the result has its main figure alone.

    Examples
    --------
    >>> import pandas as pd
    >>> from conjury.analysis.results import Result
    >>> parts(Result(pd.DataFrame(), "amce"))
    []
    """
    kinds_by_part = FIGURES.get(result.kind, {})
    return [
        part for part, kinds in kinds_by_part.items() if part and any(kind.when(result) for kind in kinds)
    ]


def has_figure(result: Drawable) -> bool:
    """Check whether results of this kind have a figure.

    Parameters
    ----------
    result : Result
        What an analysis gave, or a table read back with its kind.

    Returns
    -------
    bool
        True where `draw` draws a main figure.

    Examples
    --------
    >>> import pandas as pd
    >>> from conjury.analysis.results import Result
    >>> has_figure(Result(pd.DataFrame(), "amce")), has_figure(Result(pd.DataFrame(), "manifest"))
    (True, False)
    """
    return "" in FIGURES.get(result.kind, {})


def _find_kind(result: Drawable, requested_part: str | None) -> FigureKind:
    part, kinds_by_part = requested_part or "", FIGURES.get(result.kind, {})
    if "" not in kinds_by_part:
        raise InputError(f"Results of kind {result.kind!r} have no figure; print their table with .frame.")
    if part not in kinds_by_part:
        part_names = [name for name in kinds_by_part if name]
        hint = f"its parts are {', '.join(part_names)}" if part_names else "it has no parts"
        raise InputError(f"There is no part {part!r} of the figure of {result.kind!r}; {hint}.")
    return next((kind for kind in kinds_by_part[part] if kind.when(result)), kinds_by_part[part][-1])
