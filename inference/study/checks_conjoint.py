"""Checks of the combinations that a study file restricts or calls implausible."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..errors import did_you_mean, listed
from ..tables.files import LAYOUTS, shipped_names
from .asking import Content
from .restrictions import count_cells, named_levels, shown_shares
from .study_fields import PREFERENCES
from .study_yaml import (
    CHOICE_COLUMNS,
    COLUMNS_OF_CHOICES,
    RESERVED_TABLES,
    STIMULI,
    Location,
    Problem,
    duplicates,
    missing_file,
    suggestion,
)

if TYPE_CHECKING:
    from .models import Study
    from .study_fields import Analysis, Combination

FIELDS = ("restrictions", "implausible")


def design_problems(study: Study, sound: bool) -> Iterator[Problem]:
    """Report what is wrong with combinations, and with what restrictions leave of the design."""
    # `sound` states whether attributes and levels are free of problems; what combinations leave can be shown
    # only then.
    restrictions = [
        (("design", field, position, "levels"), combination)
        for field in FIELDS
        for position, combination in enumerate(getattr(study.design, field))
    ]
    unknown = [
        problem for at, combination in restrictions for problem in _unknown_levels(study, combination, at)
    ]
    yield from unknown
    if unknown or not sound:
        return
    alone = [
        problem for at, combination in restrictions for problem in _single_attribute(study, combination, at)
    ]
    yield from alone
    if not alone:
        yield from _levels_left(study)


def _unknown_levels(study: Study, combination: Combination, at: Location) -> Iterator[Problem]:
    for name, levels in combination.levels.items():
        if name not in study.features:
            yield Problem((*at, name), f"{at[1]}: {suggestion(name, study.features)}")
            continue
        level_ids = study.levels(name)
        for position, level in enumerate(levels):
            if level not in level_ids:
                yield Problem((*at, name, position), f"{at[1]}, {name}: {suggestion(level, level_ids)}")


def _single_attribute(study: Study, combination: Combination, at: Location) -> Iterator[Problem]:
    level_codes = named_levels(study, combination)
    if len(level_codes) < 2:
        yield Problem(
            at,
            f"{at[1]}: {' and '.join(combination.levels)} are one attribute and what follows from it; name "
            "another attribute in place of one of them.",
        )
    elif not all(level_codes.values()):
        yield Problem(
            at,
            f"{at[1]}: no profile can show this combination, because what it names of "
            f"{next(name for name, codes in level_codes.items() if not codes)} excludes itself; correct it.",
        )


def _levels_left(study: Study) -> Iterator[Problem]:
    """Report the first restriction that leaves no profile with some level."""
    for position in range(len(study.design.restrictions)):
        until = {"restrictions": study.design.restrictions[: position + 1]}
        shorter = study.model_copy(update={"design": study.design.model_copy(update=until)})
        at: Location = ("design", "restrictions", position)
        if not count_cells(shorter)[0]:
            yield Problem(
                at, "restrictions: with this one no combination of levels is left; name fewer levels in it."
            )
            return
        for name, shares in shown_shares(shorter).items():
            names = [level for level, share in zip(study.levels(name), shares, strict=True) if not share > 0]
            if names:
                yield Problem(
                    at,
                    f"restrictions: with this one {name} = {names[0]} never occurs; name fewer levels in it, "
                    f"or take the level out of {name}.",
                )
                return


def content_problems(study: Study) -> Iterator[Problem]:
    """Report what is wrong with the sections ``content`` and ``vignette``, and with cues of prompts."""
    if study.content is None:
        yield from _fields(study)
    else:
        yield from _files(study, study.content)
        yield from _roles(study, study.content)
        yield from _cues(study, study.content)
    yield from _layout(study)


def _fields(study: Study) -> Iterator[Problem]:
    attribute_ids = [attribute.id for attribute in study.attributes]
    for position, name in enumerate(study.collect.fields or ()):
        if name not in attribute_ids:
            yield Problem(("collect", "fields", position), f"fields: {suggestion(name, attribute_ids)}")


def _files(study: Study, content: Content) -> Iterator[Problem]:
    for field in ("texts", "people", "insults"):
        yield from missing_file(study.folder, ("content", field), "content", getattr(content, field))
    yield from missing_file(study.folder, ("content", "faces"), "content", content.faces, or_folder=True)


def _roles(study: Study, content: Content) -> Iterator[Problem]:
    at: Location = ("content", "roles")
    stimuli = [stimulus.id for stimulus in study.stimuli]
    attribute_ids = [attribute.id for attribute in study.attributes]
    for role in ("text", "author"):
        if getattr(content.roles, role) not in stimuli:
            yield Problem((*at, role), f"content: {suggestion(getattr(content.roles, role), stimuli)}")
    for role in ("insult", "intensifier", "reply", "likes"):
        if getattr(content.roles, role) not in attribute_ids:
            yield Problem((*at, role), f"content: {suggestion(getattr(content.roles, role), attribute_ids)}")


def _cues(study: Study, content: Content) -> Iterator[Problem]:
    roles = content.roles
    attribute = next((part.attribute for part in study.stimuli if part.id == roles.author), None)
    levels = study.levels(attribute) if attribute in study.features else []
    if not levels or roles.anonymous in levels:
        return
    for position, prompt in enumerate(study.prompts):
        if prompt.cues != "both":
            yield Problem(
                ("prompts", position, "cues"),
                f"{prompt.id}: cues '{prompt.cues}' need anonymous authors, and {attribute} has no level "
                f"'{roles.anonymous}'{did_you_mean(roles.anonymous, levels)}; name one of {listed(levels)} "
                "as content.roles.anonymous, or remove cues.",
            )


def _layout(study: Study) -> Iterator[Problem]:
    if study.vignette is None:
        return
    name, shipped = study.vignette.layout, shipped_names(LAYOUTS)
    if name not in shipped and not (study.folder / name).is_file():
        yield Problem(
            ("vignette", "layout"),
            f"vignette: there is no layout '{name}'{did_you_mean(name, shipped)}; use {listed(shipped)}, "
            "or a layout file next to the study file.",
        )


def conjoint_problems(study: Study) -> Iterator[Problem]:
    """Report what is wrong with a conjoint."""
    checks = (_names, _probabilities, _derived, _stimuli, _restrictions, _units, _costs, _traits)
    for check in (*checks, content_problems, _focus, _analyses):
        yield from check(study)


def _names(study: Study) -> Iterator[Problem]:
    ids: list[str] = []
    for group in ("attributes", "derived", "stimuli"):
        for position, part in enumerate(getattr(study, group)):
            location = (group, position, "id")
            if part.id in ids:
                yield Problem(location, f"'{part.id}' is given twice; rename or remove one of them.")
            reserved = {*COLUMNS_OF_CHOICES, study.outcome, *(() if group == "stimuli" else STIMULI)}
            if part.id in reserved:
                yield Problem(
                    location, f"'{part.id}' is the name of another column of choices; choose another id."
                )
            ids.append(part.id)
            if group != "stimuli":
                levels = [level.id for level in part.levels]
                yield from duplicates(levels, (group, position, "levels"), f"{part.id}: level")
    yield from duplicates([item.name for item in study.analyses], ("analyses",), "analysis", "name")


def _probabilities(study: Study) -> Iterator[Problem]:
    for position, attribute in enumerate(study.attributes):
        location = ("attributes", position, "levels")
        shares = [level.probability for level in attribute.levels if level.probability is not None]
        if shares and len(shares) < len(attribute.levels):
            yield Problem(
                location,
                f"{attribute.id}: only {len(shares)} of {len(attribute.levels)} levels have a probability; "
                "give all of them one, or none for equal shares.",
            )
        elif shares and abs(sum(shares) - 1) > 1e-6:
            yield Problem(
                location,
                f"{attribute.id}: the level probabilities sum to {sum(shares):.6g}; they must sum to 1.",
            )


def _derived(study: Study) -> Iterator[Problem]:
    attribute_levels = {
        attribute.id: [level.id for level in attribute.levels] for attribute in study.attributes
    }
    for position, derived in enumerate(study.derived):
        if derived.source not in attribute_levels:
            yield Problem(
                ("derived", position, "source"),
                f"{derived.id}: {suggestion(derived.source, attribute_levels)}",
            )
            continue
        unknown = False
        for index, level in enumerate(derived.levels):
            for name in set(level.covers) - set(attribute_levels[derived.source]):
                unknown = True
                yield Problem(
                    ("derived", position, "levels", index, "covers"),
                    f"{derived.id}: {suggestion(name, attribute_levels[derived.source])}",
                )
        covered = [name for level in derived.levels for name in level.covers]
        for name in () if unknown else attribute_levels[derived.source]:
            if covered.count(name) != 1:
                yield Problem(
                    ("derived", position, "levels"),
                    f"{derived.id}: '{name}' of {derived.source} is covered {covered.count(name)} times; "
                    "cover each level exactly once.",
                )


def _stimuli(study: Study) -> Iterator[Problem]:
    attribute_ids = [attribute.id for attribute in study.attributes]
    for position, stimulus in enumerate(study.stimuli):
        if stimulus.attribute not in attribute_ids:
            yield Problem(
                ("stimuli", position, "attribute"),
                f"{stimulus.id}: {suggestion(stimulus.attribute, attribute_ids)}",
            )


def _restrictions(study: Study) -> Iterator[Problem]:
    unsound = [problem for check in (_names, _probabilities, _derived) for problem in check(study)]
    yield from design_problems(study, sound=not unsound)


def _units(study: Study) -> Iterator[Problem]:
    columns = [*CHOICE_COLUMNS, *study.features, *(stimulus.id for stimulus in study.stimuli)]
    columns_used: list[tuple[Location, str]] = [
        (("clusters", kind), column) for kind in ("human", "model") for column in study.clusters.of(kind)
    ]
    for location, column in [*columns_used, (("bootstrap", "unit"), study.bootstrap.unit)]:
        if column not in columns and not (location[0] == "bootstrap" and column == "row"):
            yield Problem(location, suggestion(column, columns))


def _costs(study: Study) -> Iterator[Problem]:
    if study.costs is None:
        return
    models = [judge.id for judge in study.judges if judge.kind == "model"]
    judge_ids = [cost.judge for cost in study.costs.judges]
    yield from duplicates(judge_ids, ("costs", "judges"), "the cost of judge", "judge")
    for position, name in enumerate(judge_ids):
        location: Location = ("costs", "judges", position, "judge")
        if name not in study.judge_labels:
            yield Problem(location, f"costs: {suggestion(name, models)}")
        elif name not in models:
            yield Problem(
                location, f"costs: '{name}' is a panel of people; give their cost as per_respondent."
            )


def _traits(study: Study) -> Iterator[Problem]:
    """Report columns of respondents that are listed twice, or are columns of something else."""
    names = {*CHOICE_COLUMNS, *study.features, *(part.id for part in study.stimuli), study.outcome}
    yield from duplicates([part.id for part in study.traits], ("traits",), "trait")
    for position, trait in enumerate(study.traits):
        location: Location = ("traits", position)
        yield from duplicates([level.id for level in trait.levels], location, f"{trait.id}: level")
        if trait.id in names:
            yield Problem((*location, "id"), f"'{trait.id}' is no column of respondents; name one of theirs.")
    if study.weights in {*names, *(part.id for part in study.traits)}:
        yield Problem(("weights",), f"'{study.weights}' is no column of weights; name the one that is.")


def _groups(study: Study, analysis: Analysis, at: Location) -> Iterator[Problem]:
    """Report groups that are neither attributes nor listed, and whose names are nearly those of such."""
    candidates = [*study.features, *(trait.id for trait in study.traits)]
    if analysis.compares_people:
        yield from _groups_beside_people(study, analysis, at)
        return
    for name in () if analysis.crosses_groups else analysis.by:
        near = [] if name in candidates else get_close_matches(name, candidates, n=1, cutoff=NEARLY_A_NAME)
        if near:
            yield Problem(
                (*at, "by"),
                f"{analysis.name}: '{name}' is unknown here; did you mean '{near[0]}'? If it is a column of "
                "respondents, list it under traits.",
            )
        if name == "judge_id":
            yield Problem(
                (*at, "by"),
                f"{analysis.name}: 'judge_id' is unknown here; it stands alone in by of differences.",
            )
    if analysis.verb in DIFFERENCES and len(analysis.by) > 1:
        yield Problem((*at, "by"), f"{analysis.name}: {analysis.verb} compares by one column; name one.")


def _groups_beside_people(study: Study, analysis: Analysis, at: Location) -> Iterator[Problem]:
    """Report groups other than one attribute between which effects on models are compared with people."""
    _, *names = analysis.by
    for name in names:
        if name not in study.features:
            yield Problem((*at, "by"), f"{analysis.name}: {suggestion(name, study.features)}")
    if len(names) > 1 or (names and analysis.verb != "amce_diffs"):
        yield Problem(
            (*at, "by"), f"{analysis.name}: beside judge_id, by names one attribute, of amce_diffs alone."
        )


def _focus(study: Study) -> Iterator[Problem]:
    for position, name in enumerate(study.focus):
        if name not in study.features:
            yield Problem(("focus", position), f"focus: {suggestion(name, study.features)}")


def _analyses(study: Study) -> Iterator[Problem]:
    for position, analysis in enumerate(study.analyses):
        if analysis.name in RESERVED_TABLES:
            yield Problem(
                ("analyses", position, "name"),
                f"{analysis.name} is the name of a table that every fit may write; choose another.",
            )
        yield from _formula(study, analysis, ("analyses", position))
        yield from _groups(study, analysis, ("analyses", position))
        yield from _preferences(analysis, ("analyses", position))
        for feature, levels in analysis.exclude.items():
            location = ("analyses", position, "exclude", feature)
            if feature not in study.features:
                yield Problem(location, f"{analysis.name}: {suggestion(feature, study.features)}")
                continue
            level_ids = study.levels(feature)
            for level in levels:
                if level not in level_ids:
                    yield Problem(location, f"{analysis.name}: {suggestion(level, level_ids)}")
            if len(set(level_ids) - set(levels)) < 2:
                yield Problem(
                    location,
                    f"{analysis.name}: fewer than two levels of {feature} are left; exclude fewer of them.",
                )


NEARLY_A_NAME = 0.75  # similarity of a misspelt name to the right one
DIFFERENCES = ("amce_diffs", "mm_diffs", "cj_anova")
ATTRIBUTE_ALONE = ("choice_level", "afcp", "preference_cycles")


def _preferences(analysis: Analysis, at: Location) -> Iterator[Problem]:
    if analysis.verb in PREFERENCES and analysis.by:
        yield Problem((*at, "by"), f"{analysis.name}: {analysis.verb} has no groups; remove by.")
    if analysis.verb in ATTRIBUTE_ALONE and len(analysis.features) > 1:
        yield Problem(
            (*at, "formula"),
            f"{analysis.name}: {analysis.verb} is about one attribute; name only one in the formula.",
        )
    if analysis.comparisons and analysis.verb != "choice_level":
        yield Problem(
            (*at, "comparisons"), f"{analysis.name}: only choice_level has comparisons; remove them."
        )


def _formula(study: Study, analysis: Analysis, at: Location) -> Iterator[Problem]:
    location = (*at, "formula")
    outcome, tilde, terms = analysis.formula.partition("~")
    if not tilde or not re.fullmatch(r"\s*\w+(\s*[+*:]\s*\w+)*\s*", terms):
        yield Problem(
            location,
            f"{analysis.name}: '{analysis.formula}' is not a formula; write '{study.outcome} ~ a + b'.",
        )
        return
    if outcome.strip() != study.outcome:
        yield Problem(
            location,
            f"{analysis.name}: the left side is '{outcome.strip()}', but the outcome is '{study.outcome}'; "
            "make them equal.",
        )
    for name in analysis.features:
        if name not in study.features:
            yield Problem(location, f"{analysis.name}: {suggestion(name, study.features)}")
        if name in analysis.by:
            yield Problem(
                (*at, "by"), f"{analysis.name}: '{name}' is in the formula and in by; remove one of them."
            )
    for derived in study.derived:
        if derived.id in analysis.features and derived.source in analysis.features:
            yield Problem(
                location,
                f"{analysis.name}: {derived.id} follows from {derived.source}; keep only one in the formula.",
            )
