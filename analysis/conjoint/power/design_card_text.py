"""The design card in words: its opening, its tables, what it warns of and what its numbers rest on."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from conjury.inference.design.run_design import DrawnDesign
from conjury.inference.design.task_panels import TaskPanel, panel_summary
from conjury.inference.design.testing_pairs import design_pairs
from conjury.inference.errors import counted, listed, money
from conjury.inference.study.asking import PAID
from conjury.inference.study.instrument import Instrument
from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import advice, count_cells
from conjury.inference.study.study_fields import Combination

from ...frames.word_table import WordTable
from .design_card_numbers import USUAL_POWER, DesignCard
from .planned_study import JudgmentPrices, PlannedJudges, detected_in_words, price_note, size_of

LEVELS = "Levels"
POWER = "Power for an effect of 0.02, hardest level of each attribute"


@dataclass(frozen=True)
class CardText:
    """A design card in words."""

    title: str
    opening: tuple[str, ...]
    tables: tuple[WordTable, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    # whether anything is warned of, and what the design can detect
    finding: str


def describe_card(
    study: Study,
    design: DrawnDesign,
    card: DesignCard,
    groups: Sequence[PlannedJudges],
    prices: JudgmentPrices,
    costs: pd.DataFrame,
    currency: str,
) -> CardText:
    """Put a card into words."""
    tables = [_levels(study, card, groups)]
    if groups:
        tables.append(_powers(study, card, groups))
    if len(card.restrictions):
        tables.append(_restrictions(study, card))
    tables.append(_costs(study, groups, prices, costs, currency))
    warnings = tuple(warnings_of(study, card))
    return CardText(
        study.title,
        tuple(_opening(study, design, groups)),
        tuple(tables),
        warnings,
        (*notes_on(study, card, groups), *_sampling_notes(design.panel, groups)),
        _finding(card, groups, warnings),
    )


def _finding(card: DesignCard, groups: Sequence[PlannedJudges], warnings: Sequence[str]) -> str:
    """Say whether the design is sound, and what it can detect."""
    sound = f"The design has {counted(len(warnings), 'warning')}." if warnings else "The design is sound."
    if not groups:
        return sound
    hardest = card.contrasts.groupby("plan")["detectable"].max()
    effects = [float(hardest[plan_name(group)]) for group in groups]
    return f"{sound} {detected_in_words(groups, effects, USUAL_POWER)}"


def _opening(study: Study, design: DrawnDesign, groups: Sequence[PlannedJudges]) -> list[str]:
    n_allowed, total = count_cells(study)
    sizes = " x ".join(str(len(attribute.levels)) for attribute in study.attributes)
    n_profiles = n_allowed * math.prod(stimulus.count for stimulus in study.stimuli)
    combinations = f"{sizes} levels make {total:,} combinations"
    if n_allowed < total:
        combinations += f"; restrictions allow {n_allowed:,} of them"
    if study.stimuli:
        renderings = " and ".join(
            f"{part.count} of each {_label(study, part.attribute)} ({part.label})" for part in study.stimuli
        )
        combinations += f"; rendered by {renderings}, they make {n_profiles:,} profiles"
    tasks = design_pairs(design.tasks)
    swapped = int(tasks["repeat"].sum()) // 2
    clause = f", {swapped:,} of them repeated with positions swapped" if swapped else ""
    n_ids = int(tasks["profile_id"].nunique())
    sentences = [
        f"{combinations}.",
        f"{design.drawn['pairs']:,} pairs were drawn for models{clause}; they show {n_ids:,} profiles, drawn "
        "without replacement.",
    ]
    if study.instrument is not None:
        sentences.append(_testing(study.instrument))
    panels = [group for group in groups if group.kind == "human"]
    sentences += [_panel_sentence(group, design.panel) for group in panels]
    if study.collect.form == "single":
        sentences.append(
            "Power is not reported: profiles are judged one at a time, and power is planned for pairs only."
        )
    return sentences


def _testing(instrument: Instrument) -> str:
    return (
        f"To test judges, {instrument.vacuum_pairs:,} vacuum pairs and {instrument.same_quality_pairs:,} "
        f"same-quality pairs were added, and {instrument.anchors:,} pairs are anchors."
    )


def _panel_sentence(group: PlannedJudges, panel: TaskPanel | None) -> str:
    """State what a panel judges: its tasks in the design, or what the study file plans."""
    if panel is None or group.judges != (panel.drawn["name"],):
        size_text = f"{group.label}: {size_of(group)}, drawn separately for each person{_repeat(group)}"
        return f"{size_text}, as planned in the study file."
    clause = "; the first task of each is repeated with positions swapped" if group.repeats else ""
    return f"{group.label}: {panel_summary(panel)}{clause}."


def _repeat(group: PlannedJudges) -> str:
    if not group.repeats:
        return ""
    return (
        ", the first repeated with positions swapped"
        if group.repeats == 1
        else f", {group.repeats} of them repeated"
    )


def _label(study: Study, feature: str) -> str:
    return study.feature_labels[feature]


def _levels(study: Study, card: DesignCard, groups: Sequence[PlannedJudges]) -> WordTable:
    contrasts = {
        (row["plan"], row["feature"], row["level"]): row for row in card.contrasts.to_dict("records")
    }
    header = ["Level", "Share", "Expected", "Shown"]
    note = (
        "Share: probability of the level in the design. Expected and shown: number of profiles with the "
        "level, by the design and in the pairs drawn."
    )
    if groups:
        header += ["Effective\nn", *(f"{group.label}\nMDE" for group in groups)]
        note += (
            f" Effective n ({groups[0].label}): number of independent profiles, half with the level and half "
            "with the reference, that would give the contrast the same variance. MDE: minimum detectable "
            "effect with power 0.8, two-sided at 0.05."
        )
    rows: list[tuple[str, ...]] = []
    for feature, feature_levels in card.levels.groupby("feature", sort=False):
        name = str(feature)
        source = next((part.source for part in study.derived if part.id == name), None)
        follows = f" (follows from {_label(study, source)})" if source else ""
        rows.append((f"{_label(study, name)}{follows}",))
        for row in feature_levels.to_dict("records"):
            worth = [contrasts.get((plan_name(group), name, row["level"])) for group in groups]
            cells = (
                study.level_labels[name][row["level"]],
                f"{100 * row['probability']:.1f}%",
                f"{row['expected']:,.0f}",
                f"{row['shown']:,}",
            )
            rows.append((*cells, *_contrast_cells(worth, row["reference"])))
    return WordTable(LEVELS, header, rows, note, optional=2)


def _contrast_cells(contrasts: Sequence[Mapping[Hashable, Any] | None], reference: bool) -> list[str]:
    """Effective size of the first group, and the minimum detectable effect of each group, if any."""
    first = contrasts[0] if contrasts else None
    size = "reference" if reference else "" if first is None else f"{first['effective']:,.0f}"
    effects = ["" if contrast is None else _effect(float(contrast["detectable"])) for contrast in contrasts]
    return [size, *effects] if contrasts else []


def _effect(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "none"


def plan_name(group: PlannedJudges) -> str:
    """What tables call a group: all models together, each panel by its name."""
    return "models" if group.kind == "model" else group.judges[0]


def _powers(study: Study, card: DesignCard, groups: Sequence[PlannedJudges]) -> WordTable:
    lowest_power = card.contrasts.groupby(["plan", "feature"], sort=False)["power"].min()
    rows = [
        (_label(study, feature), *(f"{lowest_power[plan_name(group), feature]:.2f}" for group in groups))
        for feature in dict.fromkeys(card.contrasts["feature"])
    ]
    header = ("Attribute", *(f"{group.label}\n{size_of(group)}" for group in groups))
    return WordTable(POWER, header, rows)


def _restrictions(study: Study, card: DesignCard) -> WordTable:
    total = count_cells(study)[1]
    rows = [
        (
            in_words(study, study.design.restrictions[row["combination"]]),
            f"{row['cells']:,} ({100 * row['cells'] / total:.1f}%)",
            f"{100 * row['probability']:.1f}%",
            row["because"],
        )
        for row in card.restrictions.to_dict("records")
    ]
    note = (
        "Draws: share of draws with the combination, which are discarded and drawn again; this changes the "
        "shares of levels."
    )
    ties = [
        f"{_label(study, row['feature'])} and {_label(study, row['partner'])} {row['cramers_v']:.2f}"
        for row in card.ties.to_dict("records")
    ]
    note += f" Resulting dependence (Cramer's V): {listed(ties)}." if ties else ""
    head = ("Never occurs", "Combinations", "Draws", "Because")
    return WordTable("Restrictions", head, rows, note, words=(0, 3))


def _costs(
    study: Study, groups: Sequence[PlannedJudges], prices: JudgmentPrices, costs: pd.DataFrame, currency: str
) -> WordTable:
    paid = costs[costs["backend"].isin(PAID)]
    rows = [
        (
            study.judge_labels[row["judge"]],
            row["shown"],
            f"{row['requests']:,}",
            f"{(row['prompt_tokens'] + row['completion_tokens']) / 1e6:,.1f}",
            _cost(row["cost"]),
            _cost(row["batch_cost"]),
            row["as_of"] or "price not known",
        )
        for row in paid.to_dict("records")
    ]
    local_judges = [
        study.judge_labels[name] for name in dict.fromkeys(costs.loc[~costs["backend"].isin(PAID), "judge"])
    ]
    exclusions = [
        study.judge_labels[judge.id] for judge in study.judges if judge.kind == "model" and judge.ask is None
    ]
    note = "".join(
        f"{group.label}: {prices.tell(group.cost(prices, group.pairs, judge))} for {size_of(group)}. "
        for group in groups
        if group.kind == "human"
        for judge in group.judges
    )
    note += (
        "Numbers of tokens are estimated from the first requests, as in `conjury collect --dry-run`; those "
        "of pictures by the provider's rule for 1,024 x 1,024 pixels."
    )
    for name, price in prices.per_pair.items():
        if price is not None and name in study.judge_labels:
            price_text = f"{prices.currency} {price * 1000:,.2f} per 1,000 pairs".strip()
            note += (
                f" Price of {study.judge_labels[name]} in the study file: "
                f"{price_text}{price_note(study, name, prices)}."
            )
    note += f" Run locally, without a price: {listed(local_judges, 40)}." if local_judges else ""
    if exclusions:
        note += f" Without `ask` in the study file, and therefore without a cost: {listed(exclusions, 40)}."
    header = ("Model", "Shown", "Requests", "Million\ntokens", currency, f"{currency}\nby batch", "Prices of")
    return WordTable("Expected cost, all prompts", header, rows, note)


def _cost(amount: float | None) -> str:
    return "" if amount is None or math.isnan(amount) else money(amount)


FEW = 200  # effective profiles below which a contrast is warned of
STRONG = 0.1  # Cramer's V above which attributes are warned of
UNUSUAL = 4.0  # standard errors between the share of a level in the design and in the pairs drawn


def in_words(study: Study, combination: Combination) -> str:
    """State what a combination of levels is."""
    return " and ".join(
        f"{study.feature_labels[name]} = {' or '.join(study.level_labels[name][level] for level in levels)}"
        for name, levels in combination.levels.items()
    )


def warnings_of(study: Study, card: DesignCard) -> list[str]:
    """Warn of implausible combinations, ties between attributes, and levels that are shown too seldom."""
    warnings = []
    for row in card.implausible.to_dict("records"):
        combination = study.design.implausible[row["combination"]]
        if row["probability"] > 0:
            because = f" ({combination.because.rstrip('.')})" if combination.because else ""
            warnings.append(
                f"Implausible: {in_words(study, combination)}{because}. Expected in {row['profiles']:,.0f} "
                f"profiles and {100 * row['pairs'] / card.n_pairs:.1f}% of pairs, drawn in "
                f"{row['profiles_drawn']:,} profiles and {row['pairs_drawn']:,} pairs. To exclude it, move "
                "its entry from implausible to restrictions in the study file."
            )
    labels = study.feature_labels
    for row in card.ties.to_dict("records"):
        if row["cramers_v"] > STRONG:
            warnings.append(
                f"Restrictions make {labels[row['feature']]} and {labels[row['partner']]} dependent "
                f"(Cramer's V {row['cramers_v']:.2f}): marginal means of one include effects of the other, "
                "and contrasts have less power."
            )
    warnings += advice(study)
    return warnings + _level_warnings(study, card)


def _level_warnings(study: Study, card: DesignCard) -> list[str]:
    """Warn of levels that are shown too seldom, or not as often as the design states."""
    warnings = []
    for row in card.levels[~card.levels["derived"]].to_dict("records"):
        what = f"{study.feature_labels[row['feature']]}: {study.level_labels[row['feature']][row['level']]}"
        share = row["probability"]
        error = math.sqrt(2 * card.n_pairs * share * (1 - share))
        if not row["shown"]:
            warnings.append(f"{what} is in none of the pairs drawn; draw more pairs.")
        elif abs(row["shown"] - row["expected"]) > UNUSUAL * error:
            warnings.append(
                f"{what} is shown {row['shown']:,} times where {row['expected']:,.0f} are expected. Profiles "
                "are drawn without replacement, so shares become more equal where most profiles are used."
            )
    weak_contrasts = card.contrasts[
        (card.contrasts["plan"] == "models") & (card.contrasts["effective"] < FEW)
    ]
    if len(weak_contrasts):
        least = weak_contrasts.groupby("feature", sort=False)["effective"].min()
        sizes = [f"{study.feature_labels[str(feature)]} {size:,.0f}" for feature, size in least.items()]
        warnings.append(
            f"Contrasts have an effective sample size of less than {FEW} profiles ({', '.join(sizes)}); plan "
            "more pairs or merge levels."
        )
    return warnings


def notes_on(study: Study, card: DesignCard, groups: Sequence[PlannedJudges]) -> list[str]:
    """State what the numbers of a card rest on."""
    notes = list(dict.fromkeys(note for power in card.powers for note in power.design_notes))
    if any(group.kind == "human" for group in groups):
        notes.append(
            "Effects are assumed to be equal across respondents; otherwise use `conjury power` with --icc."
        )
    if study.stimuli and groups:
        notes.append(
            "Stimuli are treated as fixed; to generalise to new stimuli, use `conjury power` "
            "with --stimulus-sd."
        )
    return notes


def _sampling_notes(panel: TaskPanel | None, groups: Sequence[PlannedJudges]) -> list[str]:
    """State where the power of people is not that of the sample."""
    if panel is None or (panel.drawn.get("each", 1) == 1 and panel.drawn["sample"] in ("drawn", "uniform")):
        return []
    return [
        f"Power of {group.label} assumes that each pair is drawn as in the design and judged by one "
        "person; it differs where several people judge a task or tasks are not sampled uniformly."
        for group in groups
        if group.judges == (panel.drawn["name"],)
    ]
