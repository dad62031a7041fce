"""Labels of attributes, levels, judges and quantities, their order, and the series of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError, distinct_labels, listed, unknown_name
from conjury.inference.tables.columns import names_of

from ..frames.rounding import p_value
from ..frames.vocabulary import HUMAN, JUDGE_ALONE, MEANING, ONE_PERSON, OVERALL, RATER_QUANTITIES
from ..numerics.metrics.agreement_measures import AGREEMENT_COEFFICIENTS
from .theme import LIGHT, distinct_colors

if TYPE_CHECKING:
    from conjury.inference.study.models import ItemStudy, Study

    from .theme import Theme

LabelKey = str | tuple[str, str]
SERIES_COLUMNS = ("judge", "judge_id", "prompt", "prompt_id", "variant", "engine", "source")
LABEL_COLUMNS = {  # first part of the keys of labels of judges and prompts, by columns that contain them
    **dict.fromkeys(("judge", "judge_id"), "judges"),
    **dict.fromkeys(("prompt", "prompt_id"), "prompts"),
}
CAPITALISED = {"black": "Black", "white": "White"}


def true_minus(text: str) -> str:
    """Put a minus sign where a hyphen stands before a number, not within names, ranges and options."""
    return re.sub(r"(?<![\w.\]\)-])-(?=\.?\d)", "\N{MINUS SIGN}", text)


def points(change: float, *, signed: bool = False) -> str:
    """A change of a share in percentage points, without the unit."""
    return true_minus(f"{100 * change:{'+' if signed else ''}.1f}")


def words(name: object) -> str:
    """Turn an identifier into words: ``black_male`` becomes ``Black male``."""
    text = " ".join(CAPITALISED.get(part, part) for part in str(name).replace("_", " ").split())
    return text[:1].upper() + text[1:]


def level_at(alpha: float) -> str:
    """The level of intervals in percent."""
    return f"{100 * (1 - alpha):g}%"


def source_in_words(source: str, settings: Mapping[str, Any]) -> str:
    """What numbers of systems rest on; scores without labels of people, perhaps metrics, by their columns."""
    if source != JUDGE_ALONE or settings["human"]:
        return source
    return f"{listed(map(repr, settings['judge']))} alone"


def level_of(settings: Mapping[str, Any]) -> str:
    """The level of the intervals of a result in percent."""
    return level_at(float(settings.get("alpha") or 0.05))


def p_text(p: float, draws: int = 0) -> str:
    """A p value after its name, on its side of the usual levels and no smaller than draws can tell."""
    if p != p:  # missing
        return "cannot be computed"
    text = p_value(p, draws)
    return f"= {text}" if text[0].isdigit() else f"{text[0]} {text[1:]}"


def resolve_labels(
    labels: Mapping[LabelKey, str] | Study | ItemStudy | str | Path | None,
) -> dict[LabelKey, str]:
    """Labels as a mapping: those of the study, where a study, its name or its file is given."""
    if labels is None or isinstance(labels, Mapping):
        return dict(labels or {})
    if isinstance(labels, str | Path):
        from conjury.inference.study import load_any_study

        labels = load_any_study(labels)
    label_texts: dict[LabelKey, str] = {}
    for mapping in (labels.prompt_labels, labels.judge_labels, labels.feature_labels):
        for name, text in mapping.items():
            label_texts[name] = text
    levels = {**labels.level_labels, "judges": labels.judge_labels, "prompts": labels.prompt_labels}
    if labels.kind == "conjoint":
        label_texts |= {("order", name): "study" for name in labels.ordered}
    else:
        label_texts["dimension"] = "Dimension"
        levels |= labels_of_tasks(labels)
        levels["dimension"] = labels.scale_labels | levels["task"]
    for column, names in levels.items():
        label_texts |= {(column, name): text for name, text in names.items()}
    return label_texts


def labels_of_tasks(study: ItemStudy) -> dict[str, dict[str, str]]:
    """Labels of tasks, of the labels of each, and of all labels in gold."""
    classes = {
        task: {label.id: label.label for label in form.labels} for task, form in study.label_sets.items()
    }
    tasks = {task: task_in_words(study, task) for task in study.label_sets}
    gold = {label.id: label.label for label in study.gold.levels} if study.gold is not None else {}
    names_by_task = {task: names | gold for task, names in classes.items()}
    all_names = {name: text for names in names_by_task.values() for name, text in names.items()}
    return {**names_by_task, "task": tasks, "gold": all_names | gold}


def task_in_words(study: ItemStudy, task: str) -> str:
    """What is labelled: the title of the prompt that asks for it, or the id of the labels if several do."""
    response = study.label_sets.get(task)
    asking = [prompt.label for prompt in study.prompts if study.response_of(prompt.id) == response]
    text = asking[0] if len(asking) == 1 else task.replace("_", " ")
    return text[:1].upper() + text[1:]


class LevelLabels:
    """Labels of features and levels, with words made from the identifiers where none is given."""

    def __init__(self, labels: Mapping[LabelKey, str] | None = None) -> None:
        self._given = dict(labels or {})
        by_owner: dict[str, dict[str, str]] = {}
        for key, text in self._given.items():
            if isinstance(key, tuple):
                by_owner.setdefault(key[0], {})[key[1]] = text
        for owner, names in by_owner.items():
            self._given |= {(owner, name): text for name, text in distinct_labels(names).items()}

    def feature(self, feature: object) -> str:
        """Label of an attribute."""
        return self._given.get(str(feature), words(feature))

    def level(self, feature: object, level: object) -> str:
        """Label of a level of an attribute, with its name behind where another level has the same label."""
        column = LABEL_COLUMNS.get(str(feature), str(feature))
        return self._given.get((str(feature), str(level))) or self._given.get(
            (column, str(level)), words(level)
        )

    def level_inside(self, feature: object, level: object) -> str:
        """Label of a level within a sentence: in lower case where it is made of the identifier."""
        text = self.level(feature, level)
        return text[:1].lower() + text[1:] if text == words(level) != str(level) else text

    def levels(self, frame: pd.DataFrame) -> list[str]:
        """Labels of the levels of all rows."""
        return [self.level(f, v) for f, v in zip(frame["feature"], frame["level"], strict=True)]

    def both(self, feature: object, level: object) -> str:
        """Label of a level with its attribute in front, unless the level names it already."""
        owner, level_label = self.feature(feature), self.level(feature, level)
        return level_label if level_label.lower().startswith(owner.lower()) else f"{owner}: {level_label}"


def display_order(column: pd.Series[Any]) -> list[str]:
    """Distinct values in display order: category order where there is one, else first seen."""
    values = [str(value) for value in column.dropna().unique()]
    if isinstance(column.dtype, pd.CategoricalDtype):
        order = [str(value) for value in column.cat.categories]
        return [value for value in order if value in set(values)]
    return values


def series_labels(
    frame: pd.DataFrame, group: str | None = None, label: Callable[[str, str], str] | None = None
) -> pd.Series[Any]:
    """Name the series (judge, prompt, engine, ...) of every row of stacked estimates."""
    # `label` turns a column and an identifier into words. Without `group`, the known columns that are needed
    # to distinguish the rows take part.
    if group is not None:
        if group not in frame.columns:
            raise InputError(
                f"The table has no column {group!r} to group by; it has: "
                f"{', '.join(map(str, frame.columns))}."
            )
        return frame[group].astype("string").fillna("")
    key_columns: list[str] = []
    for name in (column for column in SERIES_COLUMNS if column in frame.columns):
        before = len(frame[key_columns].drop_duplicates()) if key_columns else 1
        if len(frame[[*key_columns, name]].drop_duplicates()) > before:
            key_columns.append(name)
    parts = [frame[name].astype("string").fillna("").map(str) for name in key_columns]
    if label is not None:
        parts = [
            part.map(lambda text, name=name: text and label(name, text))
            for name, part in zip(key_columns, parts, strict=True)
        ]
    texts = [", ".join(filter(None, values)) for values in zip(*parts, strict=True)] if parts else ""
    return pd.Series(texts, index=frame.index, dtype="string")


def refuse_repeats(
    keys: pd.DataFrame, remedy: str = "name the column that distinguishes the rows with group="
) -> None:
    """Raise InputError where two rows of a table to draw have the same keys."""
    repeated = keys.duplicated()
    if repeated.any():
        where = ", ".join(filter(None, keys[repeated].astype("string").fillna("").iloc[0]))
        raise InputError(f"{where} occurs more than once; {remedy}.")


def rows_of_one_prompt(frame: pd.DataFrame, prompt: str | None = None) -> pd.DataFrame:
    """Keep one prompt per judge: ``prompt``, else ``baseline``, else the judge's first."""
    if "prompt" not in frame.columns:
        return frame
    prompts = frame["prompt"].astype("string").fillna("")
    if prompt is not None:
        return frame[prompts.isin(["", prompt]).to_numpy(bool)]
    judge = frame["judge"].astype("string") if "judge" in frame.columns else prompts.map(lambda _: "")
    prompt_of_judge = {
        name: "baseline" if (names == "baseline").any() else names.iloc[0]
        for name, names in prompts.groupby(judge, sort=False)
    }
    return frame[(prompts == judge.map(prompt_of_judge)).to_numpy(bool)]


COEFFICIENTS = {record.name: record.label for record in AGREEMENT_COEFFICIENTS}


WEIGHTS = {
    "nominal": "exact agreement",
    "linear": "linear weights",
    "ordinal": "ordinal weights",
    "quadratic": "quadratic weights",
    "ratio": "ratio weights",
    "own": "own weights",
}


CORRELATIONS = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's \N{GREEK SMALL LETTER RHO}",
    "kendall": "Kendall's \N{GREEK SMALL LETTER TAU}",
}


TIERS = {"complete_order": "Topics with all tiers in order", "ordered_pairs": "Pairs of tiers in order"}


BIASES = {
    "difference": "Higher than people",
    "sd_ratio": "Spread over items, by the people's mean",
    "sd_ratio_one_person": "Spread of ratings, by one person's",
    "scale_used": "Share of the scale used",
    "own": "Its texts, at equal human rating",
    "other_models": "Texts of other models, at equal human rating",
    "own_minus_other": "Its texts minus those of other models",
    "unrelated": "Unrelated items: higher than people",
    "unrelated_net": "Unrelated items: higher than people, beyond the rest",
    "drop_ratio": "Unrelated items: marked down, by as much as people do",
}


OF_RATERS = RATER_QUANTITIES


TRUTHS = {
    "expected_rating": "Mean rating",
    "positivity": "Higher than people",
    "raw_correlation": "Pearson's r with people's mean",
    "dimension_correlation": "Latent correlation of dimensions",
    "latent_correlation": "Latent correlation with the consensus",
    "latent_correlation_rating": "Latent correlation of one rating with the consensus",
    "latent_correlation_within": "Latent correlation with the consensus within strata",
    "latent_correlation_rating_within": "Latent correlation of one rating with the consensus within strata",
    "missing": "Share without an answer",
    "accuracy": "Accuracy, missing answers are wrong",
    "accuracy_answered": "Accuracy of the answers given",
    "difference": "Accuracy, perturbed minus unperturbed",
    "pass_at_k": "At least one of k answers right",
    "pass_all_k": "All of k answers right",
    "percent_agreement": "Observed agreement of people",
    "fleiss_kappa": "Fleiss' kappa of people",
}


KNOWN = {HUMAN: "People", ONE_PERSON: "Single ratings of people", OVERALL: "All items"}


RATERS = ("judges", "judge", "group")


DASHES = ("solid", (0, (4, 1.5)), (0, (1.2, 1.2)))


class ColumnNames:
    """Labels of identifiers by the column that contains them, in figures, tables and text alike."""

    # Names without an underscore, such as gpt-4o, stay as they are; all other ids without a label become
    # words.

    def __init__(self, labels: Mapping[LabelKey, str] | None) -> None:
        self.labels = dict(labels or {})
        self.levels = LevelLabels(labels)
        raters = {
            key[1]: text for key, text in self.labels.items() if isinstance(key, tuple) and key[0] in RATERS
        }
        self._raters, self._ids = list(raters), {text: name for name, text in raters.items()}

    def of(self, column: str, name: object) -> str:
        """Label of an identifier."""
        text = str(name)
        for alias in RATERS if column in RATERS else (column,):
            if (alias, text) in self.labels:
                return self.labels[alias, text]
        if text in KNOWN:
            return KNOWN[text]
        is_model_name = column in RATERS and "_" not in text
        return text if is_model_name else self.levels.level(column, text)

    def meaning(self, column: str, name: object) -> str:
        """What an identifier means, as the study file puts it, in brackets behind a blank; else nothing."""
        text = self.labels.get((f"{MEANING}{column}", str(name)), "")
        return f" ({text})" if text else ""

    def column(self, name: object) -> str:
        """Label of a column of items or of a table."""
        return self.levels.feature(name)

    def place(self, rater: str, raters: Iterable[str]) -> int:
        """Number of a rater's colour and marker, the same in all figures with the same labels."""
        # People come first, then models by their labels, then those without one in the order of `raters`;
        # single ratings are last.
        rater, rater_ids = self._ids.get(rater, rater), [self._ids.get(name, name) for name in raters]
        models = [
            name for name in dict.fromkeys([*self._raters, *rater_ids]) if name not in (HUMAN, ONE_PERSON)
        ]
        if rater == HUMAN:
            return 0
        number = len(models) if rater == ONE_PERSON else models.index(rater)
        return 1 + number + number // (len(LIGHT.palette) - 1)  # where colours recur, people's does not

    def places(self, frame: pd.DataFrame, series: pd.Series[Any]) -> list[int]:
        """Places of the series: those of the judges where each judge has one series, else in order."""
        series_names = list(dict.fromkeys(series))
        if "judge" not in frame:
            return list(range(len(series_names)))
        pairs = {(str(judge), name) for judge, name in zip(frame["judge"], series, strict=True)}
        judges = {name: judge for judge, name in pairs}
        if not len(pairs) == len(judges) == len(set(judges.values())):
            return list(range(len(series_names)))
        return self.places_of([judges[name] for name in series_names])

    def series_by_place(self, frame: pd.DataFrame, series: pd.Series[Any]) -> tuple[list[int], list[str]]:
        """Places of the series, and the series, in the order of the places: people first."""
        ranked = sorted(zip(self.places(frame, series), dict.fromkeys(series), strict=True))
        return [place for place, _ in ranked], [str(name) for _, name in ranked]

    def places_of_prompts(self, frame: pd.DataFrame, series: pd.Series[Any]) -> list[int]:
        """Places of series by judge and prompt: a judge's share its colour, with markers of their own."""
        owners = list(
            pd.Series(frame["judge"].astype(str).to_numpy(), series).groupby(level=0, sort=False).first()
        )
        raters = list(dict.fromkeys(owners))
        place = dict(zip(raters, self.places_of(raters), strict=True))
        return [place[judge] + len(LIGHT.palette) * owners[:k].count(judge) for k, judge in enumerate(owners)]

    def places_of(self, raters: Sequence[str]) -> list[int]:
        """Places of the raters of one figure: their usual ones as far as all colours differ."""
        return distinct_colors(self.place(rater, raters) for rater in raters)

    def all(self, column: str, names: Iterable[object]) -> list[str]:
        """Labels of several identifiers."""
        return [self.of(column, name) for name in names]

    def joined(self, frame: pd.DataFrame, columns: Sequence[str], without: str = "") -> list[str]:
        """Labels of several columns in each row, where not empty; ``without`` where there is no column."""
        parts = [self.all(name, frame[name].astype("string").fillna("")) for name in columns]
        texts = [", ".join(filter(None, row)) for row in zip(*parts, strict=True)]
        return texts if parts else [without] * len(frame)


def simulation_mark(real_judges: Sequence[str] | None, names: ColumnNames) -> str:
    """What figures state of simulated data: that they are, and whose are not; empty where none are."""
    if real_judges is None:
        return ""
    real = " and ".join(names.all("judges", real_judges))
    return f"Simulated, but for {real}" if real else "Simulated data"


def dash(place: int, look: Theme) -> Any:
    """Solid lines for as many series as there are colours, then dashed and dotted ones."""
    return DASHES[(place // len(look.palette)) % len(DASHES)]


def select_identifiers(column: pd.Series[Any], selection: Sequence[str] | None, what: str) -> list[str]:
    """The identifiers that were asked for, or all in display order; InputError for one that is not there."""
    ids = display_order(column)
    for name in selection or ():
        if name not in ids:
            raise unknown_name(what, name, ids)
    return list(selection) if selection is not None else ids


def usual_identifiers(
    column: pd.Series[Any], selection: str | Sequence[str] | None, usual: Sequence[str], what: str
) -> list[str]:
    """The identifiers that were asked for, else the usual ones that are there, else the first."""
    ids = select_identifiers(column, names_of(selection) or None, what)
    return ids if selection else [name for name in usual if name in ids] or ids[:1]


def overall_rows(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Rows of all items, in all strata."""
    return frame[(frame[list(by)].astype(str) == OVERALL).all(axis=1)]


def strata_columns(frame: pd.DataFrame, before: str) -> list[str]:
    """Columns of strata: those after the keys of an analysis and before its numbers."""
    keys = ("dimension", "other", "judge", "group", "bias", "quantity", "coefficient", "ties")
    columns = [str(name) for name in frame.columns]
    return [name for name in columns[: columns.index(before)] if name not in keys]
