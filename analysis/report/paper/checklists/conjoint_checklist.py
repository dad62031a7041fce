"""A checklist of conjoint practice, item by item with its reference."""

from __future__ import annotations

from typing import Any

from conjury.inference.errors import counted
from conjury.inference.study.models import Study

from ....figures.labels import LevelLabels
from ....frames.rounding import percentage
from ....frames.sentences import headed
from ...method_sentences import CONVENTIONS, adjusted_over
from ...sentences.sample_sentences import describe_weights
from ...table_format import interval, number, whole
from ..distribution import attributes_of, dependent_attributes, distribution_in_words, uneven_shares
from ..facts import Facts
from ..opening_sentences import findings_of
from ..references import cite
from .checklist_items import RESULTS, RUN, STUDY, Checklist, Item, judged_item, recorded_item, unneeded_item

WORKS = ("hainmueller2014", "bansak2021", "leeper2020", "delacuesta2022", "liu2023", "clayton2025")
FIT, DIAGNOSE = "`conjury fit`", "`conjury check STUDY --results FOLDER`"


def conjoint_practice(facts: Facts, study: Study) -> Checklist:
    """What a reader of a conjoint asks for, done or not done."""
    return Checklist(
        "Conjoint practice",
        f"{'; '.join(map(cite, WORKS))}.",
        [*_design(facts, study), *_estimates(facts, study), *_quality(facts, study)],
    )


def _design(facts: Facts, study: Study) -> list[Item]:
    attributes = [
        f"{attribute.label} ({counted(len(attribute.levels), 'level')})" for attribute in study.attributes
    ]
    references = [f"{attribute.label}: {attribute.levels[0].label}" for attribute in study.attributes]
    shares = distribution_in_words(attributes_of(study), uneven_shares(study), dependent_attributes(study))
    run = RUN if facts.answered_in_run else ""
    source = f"{STUDY}, {RESULTS}" if facts.results is not None else f"{STUDY}, {RUN}" if run else ""

    def stated(code: str, name: str, text: str, author: str = "") -> Item:
        return recorded_item(source, code, name, [text], [text], author)

    return [
        stated("1", "Attributes and levels", f"{', '.join(attributes)}.", "why these attributes and levels"),
        stated("2", "Reference levels", f"{'; '.join(references)}."),
        stated(
            "3",
            "Distribution over which effects are averaged (de la Cuesta et al. 2022)",
            shares,
            "how close this is to the distribution of interest",
        ),
        stated("4", "Restrictions on profiles (Hainmueller et al. 2014)", _restrictions(study)),
        _sample(facts, study),
        judged_item(
            "6", "Power or minimum detectable effects", _detectable(facts), f"Run {DIAGNOSE}.", RESULTS
        ),
        recorded_item(
            RUN if {judge.id for judge in facts.models} & facts.answered_in_run else "",
            "7",
            "Order of attributes",
            [_order(study, "saw")],
            [_order(study, "are to see")],
        ),
        judged_item(
            "8",
            "Preregistration",
            _registration_sentence(facts),
            "Write one with `conjury paper preregister` before data are collected, and compare results with "
            "it by `conjury report --registered FILE`.",
            RESULTS,
        ),
    ]


def _sample(facts: Facts, study: Study) -> Item:
    """Sizes of the sample: those of the results, else those of the study file."""
    design = study.design
    plan = (
        f"{whole(design.pairs)} pairs per model; {counted(design.respondents, 'respondent')} with "
        f"{counted(design.tasks, 'task')} each."
    )
    analysed = _sample_sizes(facts)
    source = RESULTS if analysed else ""
    return recorded_item(source, "5", "Sample size", [analysed, f"Planned: {plan}"], [plan])


def _sample_sizes(facts: Facts) -> str:
    """How many pairs of models, and tasks and respondents, the first analysis of all rows rests on."""
    records = facts.results.results if facts.results is not None else []
    groups = next(
        (entry.groups for entry in records if entry.groups and not entry.settings.get("exclude")), ()
    )
    rows = [row for row in groups if not row.get("variant") and row.get("n_rows")]
    if not rows:
        return _answers_counted(facts)
    panels = {judge.id: judge.label for judge in facts.people}
    phrases = []
    if pairs := [int(row["n_rows"]) // 2 for row in rows if row["judge"] not in panels]:
        models = len({row["judge"] for row in rows if row["judge"] not in panels})
        size = whole(min(pairs)) + (f" to {whole(max(pairs))}" if min(pairs) < max(pairs) else "")
        phrases.append(f"{counted(models, 'model')} with {size} pairs under each prompt")
    for row in rows:
        if row["judge"] in panels:
            counts_people = row.get("id") == "judge_id" and row.get("n_clusters")
            by = f" of {counted(int(row['n_clusters']), 'respondent')}" if counts_people else ""
            phrases.append(f"{panels[row['judge']]}: {counted(int(row['n_rows']) // 2, 'task')}{by}")
    return f"Analysed: {'; '.join(phrases)}."


def _answers_counted(facts: Facts) -> str:
    counts = facts.table("answers")
    if counts is None or "n" not in counts:
        return ""
    by = counts.assign(judge=counts["judge"].astype(str)).groupby("judge", sort=False)["n"].sum()
    labels = facts.study.judge_labels
    phrases = [f"{labels.get(str(name), str(name))} {whole(n)}" for name, n in by.items()]
    return f"Answers to pairs, repeats included: {', '.join(phrases)}."


def _estimates(facts: Facts, study: Study) -> list[Item]:
    fitted = facts.results is not None
    main = next(iter(facts.records("amce")), None)
    means = facts.records("mm")
    differences = [entry.title.rstrip(".") for entry in facts.records("amce_diffs")]
    means_apart = [entry.title.rstrip(".") for entry in facts.records("mm_diffs")]
    return [
        judged_item(
            "9",
            "Average marginal component effects",
            " ".join(findings_of(facts, "amce")),
            f"Run {FIT}.",
            RESULTS,
        ),
        judged_item(
            "10",
            "Marginal means as well (Leeper et al. 2020)",
            headed(means[0].title, f"table {means[0].name} of the results.") if means else "",
            "Add an analysis with `verb: mm` to the study." if fitted else f"Run {FIT}.",
            RESULTS,
        ),
        _subgroups(fitted, differences, means_apart),
        judged_item("12", "Clusters of standard errors", _clusters(main), f"Run {FIT}.", RESULTS),
        judged_item(
            "13",
            "Multiple comparisons (Liu & Shiraito 2023)",
            _multiplicity(facts),
            _NO_ADJUSTMENT if fitted else f"Run {FIT}.",
            RESULTS,
        ),
        judged_item("14", "Missing answers", _missing(facts, study), f"Run {FIT}.", RESULTS),
        _weights(facts, study),
    ]


def _weights(facts: Facts, study: Study) -> Item:
    """Whether people's choices are weighted, by which column, and at which cost in precision."""
    name = "Weights of respondents"
    if not facts.people:
        return unneeded_item("26", name, "No people take part.")
    records = facts.results.results if facts.results is not None else []
    groups = [group for entry in records for group in entry.groups if group.get("weights")]
    if groups:
        return Item("26", name, describe_weights(groups[0]), RESULTS)
    if study.weights is not None:
        return judged_item("26", name, "", f"Run {FIT}.", RESULTS)
    return unneeded_item("26", name, "Choices are not weighted: all respondents count alike.")


_NO_ADJUSTMENT = "No p value is adjusted; name the family of tests, or adjust by `significance` in Python."


def _subgroups(fitted: bool, effects: list[str], means: list[str]) -> Item:
    name = "Subgroups compared by marginal means (Leeper et al. 2020)"
    if not fitted:
        return judged_item("11", name, "", f"Run {FIT}.", RESULTS)
    if not effects and not means:
        return unneeded_item("11", name, "No subgroups are compared.")
    if means:
        return Item("11", name, f"{'; '.join(means)}.", RESULTS)
    return Item(
        "11",
        name,
        f"Only effects are compared ({'; '.join(effects)}), which depend on the reference level; add an "
        "analysis with `verb: mm_diffs`.",
        state="not done",
    )


def _quality(facts: Facts, study: Study) -> list[Item]:
    people = bool(facts.people)
    return [
        _check(facts, "15", "Balance of levels over positions", "CJ102"),
        _check(facts, "16", "Independence of attributes", "CJ105"),
        _check(facts, "17", "Balance over respondents", "CJ103"),
        _check(facts, "18", "Order of profiles (Hainmueller et al. 2014)", "CJ304"),
        _check(facts, "19", "Order of tasks and stability (Hainmueller et al. 2014)", "CJ305"),
        _check(facts, "20", "Carry-over from earlier tasks (Hainmueller et al. 2014)", "CJ306"),
        _check(facts, "21", "Atypical or impossible profiles (Bansak et al. 2021)", "CJ106"),
        judged_item(
            "22",
            "Reliability of answers (Clayton et al. 2025)",
            _reliability(facts),
            f"Repeat a task (`repeat_first: true`, or `swapped_share`) and run {DIAGNOSE}.",
            RESULTS,
        ),
        judged_item(
            "23",
            "Effects corrected for unreliable answers (Clayton et al. 2025)",
            "Corrected effects: table corrected of the results." if facts.records("corrected") else "",
            f"Run {DIAGNOSE}.",
            RESULTS,
        ),
        _check(facts, "24", "Attention of people", "CJ201")
        if people
        else unneeded_item("24", "Attention of people", "No people take part."),
        _check(facts, "25", "Speed of people", "CJ203")
        if people
        else unneeded_item("25", "Speed of people", "No people take part."),
    ]


def _check(facts: Facts, code: str, name: str, check: str) -> Item:
    """An item that a check of the data answers."""
    outcome = facts.check(check)
    if outcome is None:
        return Item(code, name, f"Not checked ({check}); run {DIAGNOSE}.", state="not done")
    if outcome["verdict"] == "not_applicable":
        return unneeded_item(code, name, str(outcome["finding"]))
    verdict = {"pass": "Passed"}.get(str(outcome["verdict"]), str(outcome["verdict"]).capitalize())
    return Item(code, name, f"{verdict}. {outcome['finding']}", f"{RESULTS}, check {check}")


def _restrictions(study: Study) -> str:
    if not study.design.restrictions:
        return "No combination of levels is excluded."
    feature_labels: dict[Any, str] = {**study.feature_labels}
    labels = LevelLabels({**feature_labels, **_levels(study)})
    phrases = []
    for restriction in study.design.restrictions:
        parts = [
            f"{labels.feature(name)} {' or '.join(labels.level(name, level) for level in levels)}"
            for name, levels in restriction.levels.items()
        ]
        phrases.append(" with ".join(parts) + (f" ({restriction.because})" if restriction.because else ""))
    return f"Never shown: {'; '.join(phrases)}. Effects are averaged over profiles that the design allows."


def _levels(study: Study) -> dict[Any, str]:
    return {
        (name, level): text for name, levels in study.level_labels.items() for level, text in levels.items()
    }


def _order(study: Study, see: str) -> str:
    fields = study.collect.fields
    listed = f" ({', '.join(fields)})" if fields else ""
    return f"Models {see} the attributes in one order{listed}, the same in all tasks."


def _detectable(facts: Facts) -> str:
    table = facts.table("power")
    if table is None or "effect_design" not in table or table["effect_design"].notna().sum() == 0:
        return ""
    effects = table["effect_design"].astype(float)
    power = float(table["power"].iloc[int(effects.fillna(-1.0).to_numpy().argmax())])
    return (
        f"With power {power:g}, minimum detectable effects are "
        f"{number(float(effects.min()))} to {number(float(effects.max()))}."
    )


def _clusters(record: Any) -> str:
    if record is None:
        return ""
    settings = record.settings
    if not settings.get("id"):
        return "Standard errors treat rows as independent."
    return f"Clustered by {settings['id']}{CONVENTIONS.get(str(settings.get('vcov')), '')}."


def _multiplicity(facts: Facts) -> str:
    records = facts.results.results if facts.results is not None else []
    phrases = [
        headed(entry.title, adjusted_over(entry.kind, str(entry.settings["adjusted"])))
        for entry in records
        if entry.settings.get("adjusted")
    ]
    phrases += [entry.title.rstrip(".") for entry in facts.records("significance", "contrast")]
    return f"{'; '.join(phrases)}. Other tests are not adjusted." if phrases else ""


def _missing(facts: Facts, study: Study) -> str:
    counts = facts.table("answers")
    if counts is None or not {"status", "n"} <= set(counts.columns):
        return ""
    total, ok = int(counts["n"].sum()), int(counts.loc[counts["status"].astype(str) == "ok", "n"].sum())
    rule = "missing" if study.refusal == "missing" else "not chosen"
    bounds = " Bounds are reported." if facts.records("bounds") else ""
    return (
        f"{whole(total - ok)} of {whole(total)} answers have no valid choice; they count as {rule}.{bounds}"
    )


def _reliability(facts: Facts) -> str:
    table = facts.table("reliability")
    if table is None or not len(table):
        return ""
    phrases = []
    for row in table.to_dict("records"):
        who = facts.study.judge_labels.get(str(row["judge"]), str(row["judge"]))
        phrases.append(
            f"{who}: {percentage(row['agreement'], 1)} of {whole(row['n_repeats'])} repeated tasks "
            f"answered alike {interval(row['lower'], row['upper'])}, swapping error {number(row['tau'])}"
        )
    return "; ".join(phrases) + "."


def _registration_sentence(facts: Facts) -> str:
    records, table = facts.records("registration"), facts.table("registration")
    if not records or table is None:
        return ""
    verdicts = table["verdict"].astype(str)
    when = str(records[0].settings["registered"])[:10]
    same = int((verdicts == "as registered").sum())
    return f"Registered on {when}; {same} of {len(verdicts)} aspects as registered."
