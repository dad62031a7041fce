"""Rows by the judge's answer, and whether people labelled some answers more often than others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from conjury.inference.errors import listed
from conjury.inference.tables.schema import SAMPLING

from ....correction.selection import SELECTED, selection_p
from ....figures.labels import p_text
from ....numerics.rating_panel import RowClusters
from ....numerics.types import Codes, Floats
from ..coding import CodedRows

FEW_LABELS = 5  # labelled rows of an answer, below which nothing is said of its rows
PARTS = 5  # of ratings, by the judge


@dataclass(frozen=True)
class Strata:
    """n rows in S strata of the judge's answers."""

    code: Codes  # shape (n,): stratum of each row; -1 without an answer of the judge
    names: tuple[str, ...]  # answers, or ranges of ratings
    # judged, labelled: shape (S,): Rows, and those with a label.
    judged: Floats
    labelled: Floats
    p: float  # of labels being as frequent in every stratum; 1 where all judged rows have one
    # (n,): how many rows a labelled one stands for, where labels were drawn with known probabilities
    represented: Floats | None = None

    @property
    def selected(self) -> bool:
        """Whether people labelled some rows more often than others: as stated, or by the judge's answer."""
        return self.represented is not None or self.p < SELECTED

    @property
    def sparse(self) -> tuple[str, ...]:
        """Strata with too few labels."""
        fewest = FEW_LABELS if self.represented is None else 1
        is_sparse = self.labelled < np.minimum(fewest, self.judged)
        return tuple(name for name, lacks in zip(self.names, is_sparse, strict=True) if lacks)

    @property
    def weight(self) -> Floats:
        """How many judged rows a labelled row stands for, (n,), with mean 1; 0 without an answer."""
        if self.represented is not None:
            return np.where(self.code >= 0, self.represented, 0.0)
        share = np.divide(self.judged, self.labelled, out=np.zeros(len(self.judged)), where=self.labelled > 0)
        share *= self.labelled.sum() / max(float(self.judged[self.labelled > 0].sum()), 1.0)
        return np.asarray(np.append(share, 0.0)[self.code])

    def note(self) -> str:
        """Which answers have labels how often, and what follows."""
        alone = (
            "The replacement test, people among themselves and the table of counts are about labelled rows "
            "alone."
        )
        if self.represented is not None:
            text = f"Labels were drawn with known probabilities: estimates are weighted by '{SAMPLING}'"
            if self.sparse:
                return f"{text} where they can be: no row with {listed(self.sparse)} has a label."
            return f"{text}, and hold for all judged rows. {alone}"
        rates = self.labelled / self.judged
        low, high = int(rates.argmin()), int(rates.argmax())
        shares = " and ".join(f"{rates[at]:.1%} of the rows with {self.names[at]}" for at in (low, high))
        text = f"People labelled rows by the judge's answer: {shares} have a label (p {p_text(self.p)})."
        if self.sparse:
            return (
                f"{text} Agreement, errors and rates of people are about the labelled rows alone, and need "
                f"not hold for the others: fewer than {FEW_LABELS} rows with {listed(self.sparse)} have a "
                "label."
            )
        return (
            f"{text} Estimates are weighted by the judge's answer, so that they hold for all judged rows if "
            f"labels are random among rows with the same answer. {alone}"
        )

    def lacking(self, what: str) -> str:
        """Why something has no estimate."""
        count = f"fewer than {FEW_LABELS} rows" if self.represented is None else "no rows"
        return (
            f"{what} have no estimate over all judged rows: {count} with "
            f"{listed(self.sparse)} have a label; label more of them, drawn at random."
        )


def strata_of(coded: CodedRows) -> Strata:
    """Rows by the judge's answer; of ratings by fifths of them."""
    judged = np.asarray(np.isfinite(coded.judged[0]))
    labelled = np.asarray(np.isfinite(coded.rated).any(axis=0))
    if coded.scale == "interval":
        code, names = _fifths(coded.judged[0])
    else:
        present = np.unique(coded.judges[0][judged])
        code = np.full(coded.n, -1, dtype=np.int64)
        code[judged] = np.searchsorted(present, coded.judges[0][judged])
        names = tuple(f"'{coded.classes[place]}'" for place in present)
    inside = code[judged]
    counts = [np.bincount(inside[rows], minlength=len(names)) for rows in (..., labelled[judged])]
    flags = np.eye(len(names))[inside]
    p = selection_p(flags, labelled[judged], RowClusters.numbered(coded.cluster[judged]))
    return Strata(code, names, counts[0].astype(float), counts[1].astype(float), p, coded.represented)


def _fifths(values: Floats) -> tuple[Codes, tuple[str, ...]]:
    finite = np.isfinite(values)
    edges = np.unique(np.quantile(values[finite], np.arange(1, PARTS) / PARTS))
    part = np.searchsorted(edges, values[finite], side="left")
    present, place = np.unique(part, return_inverse=True)
    code = np.full(len(values), -1, dtype=np.int64)
    code[finite] = place
    ranges = [values[code == at] for at in range(len(present))]
    return code, tuple(f"ratings from {fifth.min():.3g} to {fifth.max():.3g}" for fifth in ranges)
