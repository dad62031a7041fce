"""Which system is better, by a judge of all answers and people's labels of a few."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, listed, not_percent
from conjury.inference.tables.frames import answer_wrong_calls
from conjury.inference.tables.reading.reading_rules import RuleArguments, rules_of
from conjury.inference.tables.schema import SAMPLING
from conjury.inference.tables.writing import write_text

from ...correction.sources import represented_rows
from ...numerics.bootstrap import unequal_clusters
from ...numerics.intervals import check_alpha
from ...numerics.intervals.bounded import n_clusters
from ..validation.coding import CodedRows, CodingOptions, names_of
from ..validation.judging import Validation
from ..validation.tables.judge_versions import version_of
from ..validation.validation_rows import TestRows
from .borrowed_levels import BorrowedLevel, audit_table, borrow_levels
from .calibration_map import JudgeOrigin, LabelMeanings, MapRequest, map_request, read_map, refuse_other_judge
from .label_gate import (
    NO_LABEL,
    LabelGate,
    gate_systems,
    gate_table,
    limits_of,
    represented_by,
    with_borrowed,
)
from .levels_by_map import STALE, fit_calibration_map, levels_by_map, map_table
from .several_judges import add_judges
from .stacked_systems import JudgedSystems, read_systems, refuse_unscored
from .system_estimates import CalibratedRows
from .system_rows import SystemRows, covariate_columns, mix_weights, positive_class, system_rows
from .system_sentences import state_of_systems, verdict_of_systems
from .system_table import FURTHER, WIDTH, add_systems, contrasts_of, named_pairs

KIND = "system_comparison"
SYSTEM = "system"
MARGIN = 0.05  # of shares, and of the range of ratings


@answer_wrong_calls
def compare_systems(
    table: Any,
    judge: str | Sequence[str],
    human: str | Sequence[str] = (),
    *,
    system: str = SYSTEM,
    labels: Any = None,
    by: str | Sequence[str] = (),
    mix: Mapping[str, float] | None = None,
    margin: float | None = None,
    width: float | None = None,
    positive: str | None = None,
    calibration: bool = True,
    covariates: str | Sequence[str] = (),
    maps: MapRequest | Mapping[str, Any] | None = None,
    labelled: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    seed: int = 1,
    source: str = "table",
    **rules: Unpack[RuleArguments],
) -> Validation:
    """Compare systems that answered the same prompts, by a judge of all answers and people's labels of a few.

    What is estimated of each system is what people would say of all its answers: the mean of their ratings,
    or the share of one class. People's labels alone are few, and the judge alone is biased, for one system
    perhaps more than for another. The estimate from the labels is moved by what the judge says of labelled
    and other answers, with a weight that is near 0 where the judge does not answer as people do
    (predict-then-debias). The judge counts twice, with a weight each: its scores as they are, and a monotone
    map of them to people's scale (isotonic regression), cross-fitted on the folds by which the weights are
    chosen, so that neither a bent nor a straight scale costs precision.

    Parameters
    ----------
    table : path, DataFrame of R rows, TableReading, or mapping of system to any of these
        One row per answer of a system; a file in any format of ``conjury.read``.
    judge : str or sequence of str
        Columns of the judges' scores, grades or classes; missing where there is none.
    human : str or sequence of str
        Columns of people, one per person; missing where a person did not answer. Without any (or
        with ``"none"``), and without a saved map, the judge's scores alone are the result, and it says so.
    system : str
        Column of the systems; of a mapping its keys.
    labels : path, DataFrame or TableReading, optional
        A second table with the columns of people, joined by the column of prompts, and by ``system`` where it
        has this column.
    by : str or sequence of str
        Columns of segments, in which differences are estimated, too.
    mix : mapping of str to float, optional
        Shares of the segments of the first column of ``by``, to which each system is weighted, by prompts.
    margin : float
        The largest difference that does not matter, for equivalence; by default 0.05 of shares, and of
        ratings 5% of the range of the labels.
    width : float, optional
        Width of the interval of a difference that is wanted; ``prompts_for_width`` is then the labelled
        prompts for it.
    positive : str
        The class whose share is compared; by default the second of two.
    calibration : bool
        Whether the monotone map is used.
    covariates : str or sequence of str
        Columns of numbers, such as the length of an answer, along which the map is moved: what people say is
        then a monotone function of the score plus a linear one of them (backfitting, cross-fitted). They make
        intervals shorter where a judge favours what people do not; saved and borrowed maps have none.
    maps : MapRequest or mapping, optional
        A saved map of the judge's scores (``{"use": FILE, "version": TEXT, "prompt": HASH}``) by
        which systems without labels get a level, and one to be written.
        The labels of this table audit the first; without labels ``human`` may be empty.
    labelled : mapping of str to str, optional
        How labels came about: ``by`` ("person" or "model"), ``blind`` ("yes" or "no"), ``sampled`` ("random",
        "judge" if rows were drawn by its answer, "chosen" by people) and ``judge_saw`` ("yes" or "no"); or
        columns ``label_by``, ``label_blind``, ``label_sampled`` and ``judge_saw_label`` of the table.
    alpha : float
        One minus the confidence level.
    seed : int
        Assigns prompts to folds.
    source : str
        What errors call a DataFrame.
    **rules
        How tables are read, as in `conjury.analysis.raters.validation.judge`. ``id`` is the column of
        prompts, by which answers are paired and intervals are clustered.

    Returns
    -------
    Validation
        Kind "system_comparison". ``frame`` has the columns of `judge`, with ``system, baseline, source,
        margin``, ``p_equivalence`` (two one-sided tests), ``gain`` (variance of people alone over that of the
        corrected estimate) and ``prompts_to_decide``. Levels of each system and differences of all pairs (the
        later system of the table minus the earlier one) come in three rows: corrected, by people's labels
        alone and by the judge alone. Of two systems the corrected difference is called ``difference``, of
        more ``difference[B minus A]``; p values of corrected differences are adjusted after Holm. ``extra``
        has ``labels`` (the state of each system's labels), ``audit`` (whether the labels of other systems may
        be borrowed for it: mean of its own labels minus what a map by the others says, ``PASS`` within the
        margin, ``FAIL`` beyond it, ``INCONCLUSIVE``, ``NOT CHECKED`` without labels, and the labelled prompts
        for it), ``weights`` (of the scores in each estimate) and, with a saved map, ``map`` (what it is bound
        to, its age, and whether it is ``FRESH`` or ``STALE``). Of several judges the part "judges" of
        ``frame`` has ``effective_judges`` (the independent judges whose mean would err as much as that of
        all), ``error_correlation[A, B]`` and ``gain_over_best`` (variance of corrected differences by the
        best judge over that by all), and ``extra`` has ``judges``: standard deviation of each judge's errors,
        their mean correlation with those of others, and its gain alone.

    Raises
    ------
    InputError
        For columns that do not exist, fewer than two systems, tables without a column of prompts, more than
        two classes without ``positive``, a judge without scores, labels that match no answer, and a ``mix``
        of segments that a system lacks.

    Notes
    -----
    Before any number the labels of each system are looked at. ``NO LEVEL`` is the state of a system with
    labels of fewer than four prompts, with more than a fifth of its answers scored beyond all labelled ones
    (of classes: judged as no labelled answer is),
    without any score of the judge, or whose labels follow the judge's answer and are too few somewhere; its
    level and differences are not estimated. A system without labels gets a level by the labels of the others
    (``BORROWED``), if these are of ten prompts or more, and no difference: it holds if the judge errs for it
    as for the others, which only labels of its own can audit. Where labels follow the judge's answer
    elsewhere, they are weighted by it (``CAUTION``).
    Labels written by a model, and labels that the judge saw, are not used as people's; a system whose labels
    are of rows that people chose themselves has ``NO LEVEL``, and ``CAUTION`` beside others or where people
    saw the judge's answer. A column ``sampling_probability`` has the probabilities with which answers were
    chosen for people.

    Every prompt counts the same for a system, however many answers it has. Standard errors are clustered by
    prompt over labelled and other answers, so that differences are paired: what answers to one prompt have in
    common cancels. Estimates are differences of the means of two systems, each over its own labels where
    some are missing; ``n`` counts labels of both, ``clusters`` prompts.

    References
    ----------
    Angelopoulos, A. N., Bates, S., Fannjiang, C., Jordan, M. I., Zrnic, T. (2023). Prediction-powered
    inference. Science 382, 669-674. doi:10.1126/science.adi6000

    Kluger, D. M., Lu, K., Zrnic, T., Wang, S., Bates, S. (2025). Prediction-powered inference with imputed
    covariates and nonuniform sampling. doi:10.48550/arXiv.2501.18577

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> quality = rng.normal(0, 1, 400)
    >>> answers = pd.concat(
    ...     pd.DataFrame({"prompt": range(400), "system": name, "people": quality + shift})
    ...     for name, shift in (("old", 0.0), ("new", rng.normal(0.4, 0.3, 400)))
    ... )
    >>> answers["judge"] = answers["people"] + 0.2 * (answers["system"] == "new")
    >>> answers["people"] = answers["people"].where(answers["prompt"] < 50)
    >>> result = compare_systems(answers, "judge", "people", id="prompt")
    >>> result.frame.set_index("name").loc[["difference", "judge_difference"], "estimate"].round(2).tolist()
    [0.39, 0.58]
    """
    check_alpha(alpha)
    maps = map_request(maps)
    for name, size in (("margin", margin), ("width", width)):
        if size is not None and not 0 < size < np.inf:
            raise InputError(f"{name} is {size:g}; give a difference above 0, such as 0.05.")
    judges, people, segments = names_of(judge), names_of(human), names_of(by)
    columns = names_of(covariates)
    if columns and not calibration:
        raise InputError("covariates move the map, and there is none without calibration; omit them.")
    if not judges or (labels is not None and not people):
        raise InputError("Name at least one column of the judge, and of a table of labels one of people.")
    options = CodingOptions(judges, people, (system, *segments), None, positive, rules_of(rules))
    systems = read_systems(table, labels, options, labelled, source)
    refuse_unscored(systems, needs_labels=maps is None or maps.use is None)
    data, options, notes = systems.data, systems.options, list(systems.notes)
    sampled = represented_rows(systems.table.get(SAMPLING), systems.has_label)
    place = positive_class(data, systems.source)
    positive_name = data.classes[place] if place is not None else None
    margin, of_margin = margin_of(margin, data, place is not None)
    if sampled is not None:
        notes.append(
            f"Labels are weighted by '{SAMPLING}', the probabilities with which their answers were drawn."
        )
    gates = gate_systems(data, systems.has_label, sampled is not None, place is None, systems.account)
    represented = represented_by(data, gates, sampled)
    rows = system_rows(data, judges, represented, mix_weights(data, mix or {}), systems.source)
    lenders, borrowed, further_tables = _borrowed(rows, maps, systems, positive_name, (margin, alpha, seed))
    gates = [with_borrowed(gate, lent, lenders) for gate, lent in zip(gates, borrowed, strict=True)]
    result_rows = TestRows(alpha)
    role_columns = (*judges, *options.human, system, systems.prompt)
    beside, of_covariates = covariate_columns(systems.table, columns, role_columns, systems.source)
    calibrated = CalibratedRows.of(rows, seed, calibration, beside)
    weights = add_systems(result_rows, calibrated, gates, borrowed, data.groups[1:], margin, width)
    if len(judges) > 1:
        contrasts = contrasts_of(gates)
        further_tables["judges"] = add_judges(
            result_rows, calibrated, contrasts, seed, system="", baseline="", source=""
        )
    frame = named_pairs(result_rows.frame(FURTHER if width is None else (*FURTHER, WIDTH)), len(rows.systems))
    notes = [*data.notes, *notes, *of_covariates, *of_margin, *_notes(rows, gates, systems.prompt)]
    settings: dict[str, Any] = {
        "judge": list(judges), "human": list(options.human), "by": list(segments), "id": systems.prompt,
        "system": system, "systems": list(rows.systems), "scale": data.scale, "classes": list(data.classes),
        "positive": positive_name, "measure": rows.measure,
        "alpha": alpha, "seed": seed, "margin": margin, "width": width,
        "mix": dict(mix or {}), "calibration": calibration,
        "covariates": list(columns),
        "n_rows": data.n, "n_labelled": int(rows.labelled.sum()), "clusters": n_clusters(rows.prompt),
        "weighted": represented is not None,
        "provenance": systems.account.record(limits_of(data, systems.account)),
    }  # fmt: skip
    extra = {
        "labels": gate_table(gates),
        "audit": audit_table(borrowed, rows.systems),
        "weights": weights,
        **further_tables,
    }
    settings["state"] = state_of_systems(frame, extra, settings)
    settings["verdict"] = verdict_of_systems(frame, extra, settings)
    return Validation(frame, KIND, tuple(dict.fromkeys(notes)), settings, extra)


def margin_of(margin: float | None, data: CodedRows, is_rate: bool) -> tuple[float, list[str]]:
    """The margin stated, else five points of a share, or 5% of the range of ratings, by people if any."""
    if is_rate and margin is not None and margin >= 1:
        raise InputError(f"margin is {margin:g}{not_percent(margin)}; give a difference of shares below 1.")
    if margin is not None:
        return margin, []
    if is_rate:
        return MARGIN, []
    values = data.rated[np.isfinite(data.rated)]
    what = "labels" if len(values) else "scores"
    values = values if len(values) else data.judged[np.isfinite(data.judged)]
    low, high = float(values.min()), float(values.max())
    margin = float(f"{MARGIN * (high - low):.2g}") or MARGIN
    if what == "scores":  # nothing is tested within it
        return margin, []
    note = f"The margin of equivalence is {margin:g}, 5% of the range of the {what} ({low:g} to {high:g})"
    return margin, [f"{note}; state another with --margin."]


def labels_of_judges(data: CodedRows) -> tuple[str, ...]:
    """Labels that some judge gave; none of ratings."""
    return tuple(name for place, name in enumerate(data.classes) if (data.judges == place).any())


def _borrowed(
    rows: SystemRows, maps: MapRequest | None, systems: JudgedSystems, positive: str | None,
    options: tuple[float, float, int],
) -> tuple[str, list[BorrowedLevel | None], dict[str, pd.DataFrame]]:  # fmt: skip
    """Whose labels lend levels, these levels, and what a saved map is bound to; write a map, too."""
    margin, alpha, seed = options
    if maps is None:
        return "labels of other systems", borrow_levels(rows, margin, alpha, seed), {}
    meanings = LabelMeanings(labels_of_judges(systems.data), systems.options.rules.relabel)
    version = version_of(systems.table, maps.version)
    origin = JudgeOrigin(version, maps.prompt, maps.day, meanings)
    if maps.save is not None:
        saved = fit_calibration_map(rows, origin, positive, seed)
        write_text(maps.save, json.dumps(saved.record(), indent=1) + "\n")
    if maps.use is None:
        return "labels of other systems", borrow_levels(rows, margin, alpha, seed), {}
    earlier = read_map(maps.use)
    refuse_other_judge(maps.use, earlier, origin, rows.measure, positive, rows.judges)
    state = map_table(maps.use, earlier, rows, origin.day, maps.stale_after)
    levels = levels_by_map(rows, earlier, margin, alpha, bool((state["state"] == STALE).all()))
    return f"the map of {earlier.origin.day}", levels, {"map": state}


def _notes(rows: SystemRows, gates: Sequence[LabelGate], prompt: str) -> list[str]:
    notes = [f"{gate.system}: {gate.state}, {gate.reason}." for gate in gates if gate.reason]
    if {gate.reason for gate in gates} == {NO_LABEL}:  # of which the first sentence speaks
        notes = []
    for name, answered in zip(rows.judges, rows.answered, strict=True):
        without_score = [
            system for k, system in enumerate(rows.systems) if not answered[rows.system == k].any()
        ]
        if without_score:
            notes.append(
                f"'{name}' has no score of {listed(without_score)}, so it moves no number about these."
            )
        n_missing = int(
            (~answered & ~np.isin(rows.system, [rows.systems.index(k) for k in without_score])).sum()
        )
        if n_missing:
            notes.append(
                f"{counted(n_missing, 'answer')} without a score of '{name}': they count with the mean of "
                "their system's scores in the correction, and not at all in what the judge says alone."
            )
    counts = [set(rows.prompt[rows.system == k].tolist()) for k in range(len(rows.systems))]
    shared = set.intersection(*counts)
    everything = set.union(*counts)
    if len(shared) < len(everything):
        notes.append(
            f"{len(shared):,} of {len(everything):,} prompts have an answer of every system; the others "
            "count for the systems that answered them."
        )
    if len(rows.prompt) > sum(map(len, counts)):
        notes.append(f"Systems have several answers to a '{prompt}'; each prompt counts as one.")
    return [*notes, *unequal_clusters(rows.prompt[rows.labelled], "Labelled answers: ")]
