"""A conjoint survey analysed in one call, as the command ``conjoint`` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pandas as pd

from conjury.inference.readers.conjoints import read_conjoint
from conjury.inference.tables.frames import answer_wrong_calls
from conjury.inference.tables.reading.reading_rules import RuleArguments, rules_of

from .survey_effects import SurveyEffects, survey_effects
from .survey_report import summary, to_page

__all__ = ["SurveyResult", "conjoint"]


@dataclass(frozen=True, repr=False)
class SurveyResult(SurveyEffects):
    """Effects and marginal means of a conjoint survey.

    Parameters
    ----------
    table : ConjointTable
        The survey as it was read, with its account.
    results : dict of str to Result
        ``amce`` and ``mm``; with subgroups also ``amce_by, mm_by, amce_diffs, mm_diffs``, of several
        columns each with its name behind.
    notes : tuple of str
        What was averaged over, excluded or noticed, one sentence each.
    n_rows, n_respondents : int
        Profiles with an outcome, and respondents, who are the clusters.
    weights : str, optional
        Column of survey weights.
    by : tuple of str
        Columns of subgroups.
    design_effect : float, optional
        Kish's design effect of the weights.
    sizes : mapping
        Profiles and respondents of each group, by the column of groups.
    totals : mapping
        Profiles and respondents of all groups of a column.

    Examples
    --------
    >>> rows = {"resp": [1, 1, 2, 2, 3, 3], "task": 1, "chosen": [1, 0, 0, 1, 1, 0], "tax": list("abbaba")}
    >>> conjoint(pd.DataFrame(rows)).n_respondents
    3
    """

    @property
    def frame(self) -> pd.DataFrame:
        """The effects (AMCEs), one row per level."""
        return self.results["amce"].frame

    def __repr__(self) -> str:
        """What was estimated from how much, and the largest effects."""
        return "\n".join(summary(self))

    def plot(self, **options: Any) -> Any:
        """Draw the effects; options as in `conjury.analysis.figures.draw`."""
        return self.results["amce"].plot(**{"labels": self.labels, **options})

    def to_html(self) -> str:
        """One page: summary, figures, tables, and how the file was read."""
        return to_page(self, f"Conjoint survey {Path(self.table.source).name}", self.table.account.lines(30))


@answer_wrong_calls
def conjoint(
    data: Any,
    *,
    outcome: str | None = None,
    id: str | None = None,
    task: str | None = None,
    profile: str | None = None,
    attributes: Sequence[str] = (),
    reference: Mapping[str, str] | None = None,
    weights: str | None = None,
    by: str | Sequence[str] = (),
    cut: Mapping[str, Sequence[float]] | None = None,
    vcov: str = "survey",
    alpha: float = 0.05,
    **rules: Any,
) -> SurveyResult:
    """Estimate effects (AMCEs) and marginal means of a conjoint survey, from a file or a table.

    Parameters
    ----------
    data : path, str or DataFrame
        One row per profile, per task or per respondent, or an export of Qualtrics; a file in any format of
        ``conjury.read``, or a DataFrame of any library.
    outcome : str, optional
        Column of the outcome: chosen as 0 or 1, the chosen profile, or a rating. Of an export of Qualtrics,
        one column per task, separated by commas.
    id, task, profile : str, optional
        Columns of the respondent (several are separated by commas), the task and the profile; those that are
        absent are guessed, and the account says so.
    attributes : sequence of str
        Columns of the attributes; by default those that differ between the profiles of a task.
    reference : mapping of str to str, optional
        The reference level of an attribute; by default the first of its categories, "none", the lowest
        number, or the first in the alphabet.
    weights : str, optional
        Column of survey weights.
    by : str or sequence of str
        Columns of subgroups of respondents, which are estimated and compared.
    cut : mapping of str to sequence of float, optional
        Limits between the groups of a column of numbers, each of which begins a group.
    vcov : str
        Convention of standard errors, clustered by respondent, as in `conjury.analysis.conjoint.amce`.
    alpha : float
        One minus the confidence level.
    **rules : Any
        How the table is read, as fields of :class:`conjury.inference.tables.reading.ReadingRules`, such as
        ``missing``, ``levels``, ``relabel``, ``where`` and ``exclude``.

    Returns
    -------
    SurveyResult
        ``results`` by name, ``notes``, and ``table.account``; it is drawn by ``plot()``.

    Raises
    ------
    InputError
        The table cannot be read as a conjoint, with the column, the row and what helps.

    References
    ----------
    Hainmueller, J., Hopkins, D. J., & Yamamoto, T. (2014). Causal inference in conjoint analysis. Political
    Analysis, 22(1), 1-30. doi:10.1093/pan/mpt024

    Examples
    --------
    >>> rows = {"resp": [1, 1, 2, 2, 3, 3], "task": 1, "chosen": [1, 0, 0, 1, 1, 0], "tax": list("abbaba")}
    >>> conjoint(pd.DataFrame(rows)).frame[["feature", "level"]].to_numpy().tolist()
    [['tax', 'a'], ['tax', 'b']]
    """
    groups = (by,) if isinstance(by, str) else tuple(by)
    options = replace(rules_of(cast(RuleArguments, rules)), weights=weights)
    table = read_conjoint(
        data,
        options,
        outcome=outcome,
        id=id,
        task=task,
        profile=profile,
        attributes=(attributes,) if isinstance(attributes, str) else tuple(attributes),
        references=reference,
        further_roles=[name for name in (weights, *groups) if name],
    )
    effects = survey_effects(table, weights=weights, by=groups, cut=cut, vcov=vcov, alpha=alpha)
    return SurveyResult(**vars(effects))
