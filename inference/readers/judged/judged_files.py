"""One table from any file with answers of a judge: what program wrote it, and how it is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...errors import counted
from ...tables.reading.containers import STANDARD_INPUT, FileContent, open_content
from ...tables.reading.json_rows import parsed_json
from ...tables.reading.reading_rules import ReadingRules
from ...tables.reading.table_reading import read
from . import lm_eval, promptfoo
from .inspect_samples import read_samples
from .judged_table import Judged

LOG = ".eval"  # ending of the logs of Inspect


def read_judged(path: str | Path, rules: ReadingRules | None = None) -> Judged:
    r"""Read any table, an Inspect log or a folder of them, lm-eval samples or promptfoo's output.

    Parameters
    ----------
    path : str or Path
        A file in any format of ``conjury.read``, a log, or ``-`` for standard input.
    rules : ReadingRules, optional
        How it is read.

    Returns
    -------
    Judged
        One row per answer, and the columns that the format determines.

    Raises
    ------
    InputError
        The file is missing, damaged, or of no known kind.
    MissingDependency
        A log of Inspect, and inspect-ai is not installed; a workbook, and the extra ``files`` is not.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "spam.csv"
    >>> _ = file.write_text("verdict,label\nspam,spam\nok,spam\n")
    >>> read_judged(file).frame["label"].tolist()
    ['spam', 'spam']
    """
    rules = rules or ReadingRules()
    judged = _log_of(path, rules)
    if isinstance(judged, FileContent):
        table = read(judged, rules)
        return Judged(table.frame, table.source, table=table)
    item = judged.id if rules.id is None and _repeats(judged) else rules.id
    table = read(judged.frame, replace(rules, id=item), judged.source)
    return replace(judged, frame=table.frame, table=table)


def _repeats(judged: Judged) -> bool:
    """Whether the column of items that the format determines has an item twice."""
    has_item = judged.id is not None and judged.id in judged.frame
    return has_item and bool(judged.frame[judged.id].duplicated().any())


def _log_of(path: str | Path, rules: ReadingRules) -> Judged | FileContent:
    """The table of a log, else the content of the file."""
    name = str(path).lower()
    if name != STANDARD_INPUT and (Path(path).is_dir() or name.endswith(LOG)):
        return _inspect(Path(path))
    content = open_content(path, rules.form)
    if content.form not in ("json", "jsonl"):
        return content
    parsed = parsed_json(content.data, content.form == "jsonl", content.source)
    if isinstance(parsed, dict) and {"eval", "samples"} <= parsed.keys():
        return _inspect(Path(path))
    records = promptfoo.results_of(parsed) if isinstance(parsed, dict) else parsed
    if not isinstance(records, list) or not records or not isinstance(records[0], dict):
        return content
    if promptfoo.is_result(records[0]):
        return promptfoo.table_of(records, content.source)
    if lm_eval.is_sample(records[0]):
        return lm_eval.table_of(records, content.source)
    return content


def _inspect(path: Path) -> Judged:
    """A row per sample of the logs of Inspect, with a column for each of its scores."""
    frame = read_samples(path)
    scores = [name for name in frame if str(name).startswith("score_")]
    graded = [name for name in scores if str(name).startswith("score_model_graded")] or scores
    note = f"{counted(len(frame), 'sample')} with {counted(len(scores), 'score')}."
    judge = str(graded[0]) if len(graded) == 1 else None
    return Judged(frame, str(path), "a log of Inspect", judge, id="id", notes=(note,))
