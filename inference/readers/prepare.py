"""Choices of one study from one or several files, ready to analyse: names, exclusions, derived attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from ..design.profiles import add_derived
from ..errors import InputError, and_more, did_you_mean, listed
from ..study.models import Study
from ..study.study_fields import Analysis
from ..tables.columns import as_text, coerce, refuse, resolve_levels
from ..tables.frames import is_simulated
from ..tables.reading.reading_rules import ReadingRules
from ..tables.schema import PROBABILITY
from .aliases import without_excluded
from .choices import DEFAULT_JUDGE, read_choices
from .ordinary_answers import ordinary_answers

GROUPED = ("amce", "mm")  # verbs that --by compares between groups of respondents
NAMED = 3  # judges of a file that a note names
PAIR = ["pair_id", "repeat", "position"]
OTHER = " in the other file"


def stack_choices(study: Study, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put the choices of several files below each other, in the order of the files."""
    if len(tables) == 1:
        return next(iter(tables.values()))
    aligned = _aligned(tables)
    for (file_a, first), (file_b, second) in combinations(aligned.items(), 2):
        _refuse_repeated(file_a, first, file_b, second)
        if sentence := other_profiles(study, file_a, first, file_b, second):
            raise InputError(sentence)
    return pd.concat(list(aligned.values()), ignore_index=True)


def _aligned(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Give every column that several files hold one type, and every label column to all files."""
    columns = dict.fromkeys(str(name) for table in tables.values() for name in table)
    changed: dict[str, dict[str, pd.Series]] = {file: {} for file in tables}
    for name in columns:
        typed = _unify_type(name, {file: table[name] for file, table in tables.items() if name in table})
        like = next(iter(typed.values())).dtype
        for file, table in tables.items():
            if file in typed:
                changed[file][name] = typed[file]
            elif isinstance(like, pd.CategoricalDtype):
                changed[file][name] = pd.Series(pd.NA, index=table.index, dtype=like)
    return {file: pd.DataFrame(cells) for file, cells in changed.items()}


def _unify_type(name: str, holding: Mapping[str, pd.Series]) -> dict[str, pd.Series]:
    """Bring a column of several files to one type: categories with all levels, or numbers, or text."""
    ordered = {file: c for file, c in holding.items() if isinstance(c.dtype, pd.CategoricalDtype)}
    if ordered:
        dtype = pd.CategoricalDtype(_all_levels(name, ordered))
        for file, column in holding.items():
            stray = set(column.dropna().unique()) - set(dtype.categories)
            if stray:
                raise InputError(
                    f"Column {name!r} has a level order in {next(iter(ordered))}, and {file} contains "
                    f"{min(map(str, stray))!r} beyond it; give the order of both with --levels."
                )
        return {file: column.astype(dtype) for file, column in holding.items()}
    kinds = {pd.api.types.is_numeric_dtype(column.dtype) for column in holding.values()}
    return {f: as_text(c) for f, c in holding.items()} if len(kinds) > 1 else dict(holding)


def _all_levels(name: str, ordered: Mapping[str, pd.Series]) -> list[str]:
    """Join the levels of files in their order, which must not contradict each other."""
    levels: list[str] = []
    for file, column in ordered.items():
        file_levels = list(column.cat.categories)
        shared = [level for level in file_levels if level in levels]
        before = [level for level in levels if level in file_levels]
        if shared != before:
            raise InputError(
                f"The levels of {name!r} have the order {listed(shared)} in {file} and {listed(before)} in "
                f"{next(iter(ordered))}; write both files with one order."
            )
        levels += [level for level in file_levels if level not in levels]
    return levels


def _refuse_repeated(file_a: str, first: pd.DataFrame, file_b: str, second: pd.DataFrame) -> None:
    keys = ["judge_id", "prompt_id", "pair_id"]
    judges = set(first["judge_id"].unique()) & set(second["judge_id"].unique())
    key_tables = [
        table.loc[table["judge_id"].isin(judges), keys].drop_duplicates() for table in (first, second)
    ]
    rows = pd.concat(key_tables, ignore_index=True)
    rows = rows[rows.duplicated()]
    if len(rows):
        judge, prompt, pair = rows.iloc[0]
        under = "" if pd.isna(prompt) else f" under prompt {prompt!r}"
        raise InputError(
            f"{file_a} and {file_b} both contain the choice of judge {judge!r}{under} in pair {pair!r}"
            f"{and_more(len(rows) - 1)}; leave one of the files out, or name the judge of one of them "
            "differently."
        )


def other_profiles(study: Study, file_a: str, first: pd.DataFrame, file_b: str, second: pd.DataFrame) -> str:
    """Name a pair that shows one file's judges other profiles than those of the other file; empty if none."""
    varied = [part.id for part in study.attributes] + [part.id for part in study.stimuli]
    numbered = ["profile_id"] if study.stimuli else []  # without stimuli, attributes alone make a profile
    columns = [name for name in (*numbered, *varied) if name in first and name in second]
    pairs = set(first["pair_id"].unique()) & set(second["pair_id"].unique())
    first_rows, second_rows = (
        table.loc[table["pair_id"].isin(pairs), [*PAIR, *columns]].drop_duplicates(PAIR)
        for table in (first, second)
    )
    matches = first_rows.merge(second_rows, on=PAIR, suffixes=("", OTHER))
    for name in columns:
        first_values, second_values = matches[name], matches[name + OTHER]
        differs = ((first_values != second_values) & first_values.notna() & second_values.notna()).to_numpy(
            dtype=bool, na_value=False
        )
        if differs.any():
            row = matches.iloc[int(differs.argmax())]
            text_a, text_b = (
                f"{row[key]} in {file}" for key, file in ((name, file_a), (name + OTHER, file_b))
            )
            return (
                f"Position {row['position']} of pair {row['pair_id']!r} has {name} {text_a} and {text_b}"
                f"{and_more(int(differs.sum()) - 1)}; a name must refer to one pair, so rename the "
                "pairs of one file."
            )
    return ""


def stacking_notes(tables: Mapping[str, pd.DataFrame], assumed: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Report the rows of each file, where there are several, and what was assumed in reading each."""
    if len(tables) == 1:
        yield from next(iter(assumed.values()))
        return
    names = {file: Path(file).name for file in tables}
    if len(set(names.values())) < len(names):
        names = {file: "/".join(Path(file).parts[-2:]) for file in tables}
    for file, table in tables.items():
        judges = judge_of(table).unique().tolist()
        more = f" and {len(judges) - NAMED} more judges" if len(judges) > NAMED else ""
        yield f"{names[file]}: {len(table):,} rows, of {', '.join(judges[:NAMED])}{more}."
    for file in tables:
        for note in assumed[file]:
            yield f"{names[file]}: {note.removeprefix(f'{Path(file).name}: ')}"


def load_choices(
    study: Study,
    path: str | Path,
    *,
    renames: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
    ordinary: bool = True,
    excluded: list[pd.DataFrame] | None = None,
    rules: ReadingRules | None = None,
) -> pd.DataFrame:
    """Read any tidy choices table as choices of a study; ``notes`` receives what was assumed."""
    # `excluded` receives the rows of respondents who are marked as excluded.
    # Stimuli that the file numbers within a level get ids of their own (`politics_07`); derived attributes
    # are added or checked; answers without a choice follow the study's refusal policy.
    # The section `reading` of the study holds where `rules` state nothing else.
    attributes = {part.id: study.levels(part.id) for part in study.attributes}
    labels = {part.id: [level.label for level in part.levels] for part in study.attributes}
    rules = (rules or ReadingRules()).over(study.reading.rules())
    derived = {part.id: study.levels(part.id) for part in study.derived}
    if Path(path).is_dir():
        raise InputError(f"{path}: this is a folder; name a file in it.")
    traits = {trait.id: [level.id for level in trait.levels] for trait in study.traits if trait.levels}
    further = {**derived, **traits, **resolve_levels(path, None)}
    judge_kinds = {judge.id: judge.kind for judge in study.judges}
    assumed: list[str] = []
    choices = read_choices(
        path,
        attributes,
        further,
        renames,
        study.column_aliases,
        judge_kinds,
        assumed,
        labels=labels,
        rules=rules,
        numbers=[study.weights] if study.weights is not None else [],
    )
    usable, of_excluded = without_excluded(choices)
    if excluded is not None:
        excluded.append(choices.drop(index=usable.index))
    if usable.empty:
        raise InputError(f"{path}: all rows are excluded by column 'excluded'; keep some of them.")
    assumed += [f"{Path(path).name}: {note}" for note in of_excluded]
    choices, policy = as_of_study(study, usable.reset_index(drop=True), str(path), ordinary=ordinary)
    if notes is not None:
        notes += [note.replace(str(path), Path(path).name) for note in assumed] + policy
    return choices


def as_of_study(
    study: Study, choices: pd.DataFrame, source: str, *, ordinary: bool = True
) -> tuple[pd.DataFrame, list[str]]:
    """Choices with the names, derived attributes and refusal policy of a study; and notes on what changed."""
    choices = _name_prompts(study, choices)
    choices = _name_stimuli(study, choices, source)
    choices = _derive_attributes(study, choices, source)
    excluded: list[str] = []
    if ordinary:
        choices, excluded = ordinary_answers(choices, "choices", study.instrument, source)
    choices, policy = _apply_refusal_policy(study, choices)
    return choices, [*(note.replace(source, Path(source).name) for note in excluded), *policy]


def name_or_select(
    choices: pd.DataFrame, judge: str | None = None, prompt: str | None = None
) -> pd.DataFrame:
    """Keep one judge and one prompt; choices that name no judge or no prompt are given that name instead."""
    if judge is not None and (choices["judge_id"] == DEFAULT_JUDGE).all():
        choices = choices.assign(judge_id=pd.array([judge] * len(choices), dtype="string"))
        judge = None
    if prompt is not None and choices["prompt_id"].isna().all():
        choices = choices.assign(prompt_id=pd.array([prompt] * len(choices), dtype="string"))
        prompt = None
    return select_rows(choices, judge, prompt)


def judges_by_origin(choices: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Name the judges whose choices a simulator made, and those who made their own."""
    mask, judge = is_simulated(choices), judge_of(choices)
    return judge[mask].unique().tolist(), judge[~mask].unique().tolist()


def with_outcome(study: Study, outcome: str) -> Study:
    """The study with every analysis about another column, such as the probability of being chosen."""
    analyses = [
        part.model_copy(update={"formula": f"{outcome} ~ {part.formula.partition('~')[2].strip()}"})
        for part in study.analyses
    ]
    return study.model_copy(update={"outcome": outcome, "analyses": analyses})


def with_respondents(study: Study, weights: str | None, by: Sequence[str]) -> Study:
    """The study with other weights of people, and compared by other columns of respondents than it states."""
    if weights is not None:
        study = study.model_copy(update={"weights": weights})
    if not by:
        return study
    for name in by:
        if name in study.features:
            raise InputError(f"--by {name}: this is an attribute of the study; write it in the field by.")
    kept_analyses = [
        part for part in study.analyses if part.compares_people or not {*part.by} & {*study.group_columns}
    ]
    names = {part.name for part in kept_analyses}
    added: list[Analysis] = []
    for part in kept_analyses:
        for column in by if part.verb in GROUPED and not part.by else ():
            for verb, what in ((part.verb, "by"), (f"{part.verb}_diffs", "differences by")):
                base = re.sub(r"[^a-z0-9_]+", "_", f"{part.name} {what.split()[0]} {column}".casefold())
                name = next(
                    text for text in (base, f"{base}_2", f"{base}_3", f"{base}_4") if text not in names
                )
                names.add(name)
                update = {
                    "name": name,
                    "verb": verb,
                    "title": f"{part.title}, {what} {column}",
                    "by": [column],
                }
                added.append(part.model_copy(update=update))
    return study.model_copy(update={"analyses": [*kept_analyses, *added]})


def select_rows(choices: pd.DataFrame, judge: str | None = None, prompt: str | None = None) -> pd.DataFrame:
    """Keep the rows of one judge (or panel, "human" where it has no name) and one prompt."""
    for name_of, value in ((judge_of, judge), (_prompt_of, prompt)):
        if value is None:
            continue
        column = name_of(choices)
        names = column.unique().tolist()
        if value not in names:
            names_text = listed(repr(name) for name in names)
            if column.name == "judge" and (choices["judge_id"].astype("string") == value).any():
                raise InputError(
                    f"The choices of judge_id {value!r} have judge_kind 'human', so they are those of the "
                    f"panel {names_text}; write model into judge_kind, or ask for that panel."
                )
            hint = did_you_mean(value, names)
            raise InputError(
                f"The choices contain no {column.name} {value!r}{hint}; they contain {names_text}."
            )
        rows = column == value
        if column.name == "prompt":  # models are compared with people, who have none
            rows |= (column == "") & (as_text(choices["judge_kind"]) == "human")
        choices = choices[rows.to_numpy(dtype=bool)]
    return choices


def judge_of(choices: pd.DataFrame) -> pd.Series[str]:
    """Name the judge of each row: a model's id, and for a person the ``panel``, by default "human"."""
    judge = choices["judge_id"].astype("string")
    panel = choices["panel"].astype("string").fillna("human") if "panel" in choices else "human"
    return judge.mask(as_text(choices["judge_kind"]) == "human", panel).rename("judge")


def _prompt_of(choices: pd.DataFrame) -> pd.Series[str]:
    return choices["prompt_id"].astype("string").fillna("").rename("prompt")


def _name_prompts(study: Study, choices: pd.DataFrame) -> pd.DataFrame:
    prompt_ids = {alias: prompt.id for prompt in study.prompts for alias in prompt.aliases}
    prompts = choices["prompt_id"].astype("string")
    return choices.assign(prompt_id=prompts.replace(prompt_ids))


def _name_stimuli(study: Study, choices: pd.DataFrame, source: str) -> pd.DataFrame:
    for stimulus in study.stimuli:
        number = stimulus.number_column
        if number in choices and choices[stimulus.id].isna().all():
            counted = coerce(choices[number], "integer", source).astype("string").str.zfill(2)
            stimulus_ids = choices[stimulus.attribute].astype("string") + "_" + counted
            choices = choices.assign(**{stimulus.id: stimulus_ids})
    return choices


def _derive_attributes(study: Study, choices: pd.DataFrame, source: str) -> pd.DataFrame:
    """Add derived attributes; those of the file must be what their source implies."""
    implied = add_derived(study, choices)
    for derived in study.derived:
        if derived.id not in choices:
            continue
        values, implied_values = (as_text(table[derived.id]) for table in (choices, implied))
        bad = (values != implied_values).fillna(False).to_numpy(dtype=bool)
        if bad.any():
            row = int(bad.argmax())
            problem = (
                f"contains '{values.iloc[row]}', while '{derived.source}' is "
                f"'{choices[derived.source].iloc[row]}' there, which implies '{implied_values.iloc[row]}'"
            )
            refuse(source, derived.id, bad, problem, "correct one of the two, or leave the column out")
        implied[derived.id] = implied[derived.id].fillna(choices[derived.id])
    return implied


def _apply_refusal_policy(study: Study, choices: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    unanswered = (choices["status"] != "ok").to_numpy(dtype=bool)
    if not unanswered.any():
        return choices, []
    verdict = 0 if study.refusal == "not_chosen" else pd.NA
    meaning = "not chosen on both posts" if study.refusal == "not_chosen" else "a missing choice"
    note = f"{int(unanswered.sum())} rows without an answer count as {meaning} (refusal: {study.refusal})."
    chosen = choices["chosen"].mask(unanswered, verdict)
    probability = choices[PROBABILITY].mask(unanswered, 0.0 if study.refusal == "not_chosen" else np.nan)
    return choices.assign(chosen=chosen, probability=probability), [note]
