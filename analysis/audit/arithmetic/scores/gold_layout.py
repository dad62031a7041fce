"""Gold labels of K classes, and confusion matrices of them as far as scores depend on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

Bounds = tuple[int, int]  # least and most


@dataclass(frozen=True)
class GoldLayout:
    """Gold labels of items: classes, the labels they consist of, and how many items each can have."""

    classes: tuple[str, ...]
    labels: tuple[str, ...]  # a class without subclasses is its only label
    of: tuple[int, ...]  # for each label the index of its class
    gold: tuple[Bounds, ...]  # for each label the least and the largest number of items
    n: Bounds  # the least and the largest number of items in all
    missing: Bounds = (0, 0)  # of items without an answer, which count as wrong

    @property
    def fixed(self) -> bool:
        """Whether all counts of gold labels are known."""
        return all(low == high for low, high in self.gold)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The largest number of items of each class."""
        return tuple(sum(self.gold[i][1] for i in self.members(k)) for k in range(len(self.classes)))

    def members(self, k: int) -> tuple[int, ...]:
        """Indices of the labels of a class."""
        return tuple(i for i, class_index in enumerate(self.of) if class_index == k)

    def times(self, runs: int) -> GoldLayout:
        """The gold labels of several runs on the same items together."""

        def more(bounds: Bounds) -> Bounds:
            return bounds[0] * runs, bounds[1] * runs

        gold = tuple(more(label_bounds) for label_bounds in self.gold)
        return replace(self, gold=gold, n=more(self.n), missing=more(self.missing))

    def answered(self, least: int, most: int) -> GoldLayout:
        """The gold labels of the items with an answer, between so many, where the others are excluded."""
        gold = tuple((max(0, low - (self.n[1] - least)), min(high, most)) for low, high in self.gold)
        return replace(self, gold=gold, n=(least, most), missing=(0, 0))


def layout_of(counts: Mapping[str, int], classes: Mapping[str, Sequence[str]]) -> GoldLayout:
    """Gold labels of known counts; ``classes`` lists the labels of classes that have several."""
    of_label = {label: name for name, members in classes.items() for label in members}
    names = tuple(dict.fromkeys(of_label.get(label, label) for label in counts))
    of = tuple(names.index(of_label.get(label, label)) for label in counts)
    n = sum(counts.values())
    return GoldLayout(names, tuple(counts), of, tuple((count, count) for count in counts.values()), (n, n))


@dataclass(frozen=True)
class ConfusionMatrix:
    """A confusion matrix, as far as scores depend on it."""

    gold: tuple[int, ...]  # for each label: items
    hits: tuple[int, ...]  # for each label: items that were given its class
    given: tuple[int, ...]  # for each class: items that were given it

    def by_class(self, layout: GoldLayout) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Items and hits of each class."""
        of = [layout.members(k) for k in range(len(layout.classes))]
        return tuple(sum(self.gold[i] for i in members) for members in of), tuple(
            sum(self.hits[i] for i in members) for members in of
        )

    def exists(self, layout: GoldLayout) -> bool:
        """Whether a confusion matrix has these margins and this diagonal."""
        # By Hall's theorem for a transport with a forbidden diagonal: no class may have more wrong items in
        # its row and column together than there are wrong items. Missing answers are one more column.
        n, right = sum(self.gold), sum(self.hits)
        if not (layout.n[0] <= n <= layout.n[1]):
            return False
        if not layout.missing[0] <= n - sum(self.given) <= layout.missing[1]:
            return False
        if any(not low <= g <= high for g, (low, high) in zip(self.gold, layout.gold, strict=True)):
            return False
        if any(not 0 <= t <= g for t, g in zip(self.hits, self.gold, strict=True)):
            return False
        return all(
            g >= t and (n_k - t) + (g - t) <= n - right
            for n_k, t, g in zip(*self.by_class(layout), self.given, strict=True)
        )

    def text(self, layout: GoldLayout) -> str:
        """Counts in words."""
        parts = [
            f"{t:,} of {n:,} {name}" for name, n, t in zip(layout.labels, self.gold, self.hits, strict=True)
        ]
        answers = [f"{g:,} {name}" for name, g in zip(layout.classes, self.given, strict=True)]
        text = f"{', '.join(parts)} right"
        if len(layout.classes) > 2 or layout.missing[1]:
            text += f"; given: {', '.join(answers)}"
        missing = sum(self.gold) - sum(self.given)
        return f"{text}, {missing:,} missing" if missing else text
