"""A run's folder: the design or items that it puts before models, and the study files it began with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..design.run_design import (
    DrawnDesign,
    check_posts,
    check_restrictions,
    draw_design,
    load_design,
    restrictions_of,
    save_design,
)
from ..design.task_panels import check_asked, no_people_error
from ..design.testing_pairs import instrument_of
from ..errors import InputError, listed
from ..ledger import Count, Ledger
from ..requests.media import MediaParts
from ..requests.templates import Templates
from ..study.asking import Sampling
from ..study.models import ItemStudy, Study
from ..study.study_fields import Prompt
from ..study.study_yaml import Part
from ..tables.files import read_table
from .run_content import RunContent, item_content, profile_content

if TYPE_CHECKING:
    from ..requests.profile_pictures import Pictures

ROUTE = {"base_url", "key_variable", "samples"}  # where and how often a model is asked changes no answer
LATER_FIELDS = ("takes", "logprobs", "api", "system")  # fields of a judge that earlier runs do not state
OPEN = ("prompts", "judges")  # to these a later run may add
ADDED = ("subjects.panel",)  # what a run may have begun without
RESPONSES = "responses.parquet"
TRACES = (  # of a run that had a ledger
    *(RESPONSES, "provenance.json", "rechecked.parquet", "batches/*.jsonl*", "cluster/*"),
    *("recheck/*/ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-journal"),
)


def run_facts(
    study: Study | ItemStudy,
    judge_id: str,
    ask: Sampling,
    prompts: Sequence[Prompt],
    subjects: Mapping[str, Any],
    pictures: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """State all that requests of a run depend on."""
    templates = Templates(study.folder)
    hashes = {
        prompt.id: {
            field: templates.sha256(name)
            for field, name in (("template", prompt.template), ("user", prompt.user))
            if name is not None
        }
        | ({} if prompt.response is None else {"response": prompt.response.model_dump(exclude_none=True)})
        | ({"pictures": pictures[prompt.cues]} if pictures else {})
        for prompt in prompts
    }
    return {
        **study_facts(study, subjects),
        "prompts": hashes,
        "judges": {judge_id: ask.model_dump(exclude=ROUTE | _default_fields(ask, *LATER_FIELDS))},
    }


def study_facts(study: Study | ItemStudy, subjects: Mapping[str, Any]) -> dict[str, Any]:
    """State what answers are read by: question, response form, how subjects are shown, and the subjects."""
    return {
        "study": study.name,
        "question": study.question,
        "response": study.response.model_dump(exclude_none=True),
        "collect": study.collect.model_dump(
            exclude={"swapped_share", "media_hosts"} | _default_fields(study.collect, "video")
        ),
        "subjects": dict(subjects),
        **_instrument_facts(study),
    }


def _instrument_facts(study: Study | ItemStudy) -> dict[str, Any]:
    """State what requests of an instrument depend on; parsers may change at any time."""
    if study.instrument is None:
        return {}
    return {"instrument": study.instrument.model_dump(exclude={"facets": {"parser"}})}


def _default_fields(part: Part, *fields: str) -> set[str]:
    """Name those of the fields that say nothing unusual: runs may have begun before there were any."""
    return {
        name
        for name in fields
        if getattr(part, name) == type(part).model_fields[name].get_default(call_default_factory=True)
    }


def begun_facts(before: dict[str, Any] | None, counts: Sequence[Count]) -> dict[str, Any] | None:
    """Leave out prompts and judges without any request yet; None where nothing has begun."""
    if before is None or not counts:
        return None
    prompts, judges = {count.prompt_id for count in counts}, {count.judge_id for count in counts}
    return {
        **before,
        "prompts": {name: value for name, value in before["prompts"].items() if name in prompts},
        "judges": {name: value for name, value in before["judges"].items() if name in judges},
    }


def check_study(before: dict[str, Any] | None, now: dict[str, Any], run: Path) -> None:
    """Refuse to read answers by a study that has changed since they were asked for."""
    merged_facts({name: value for name, value in (before or {}).items() if name in now} or None, now, run)


def check_name(before: dict[str, Any] | None, study: Study | ItemStudy, run: Path) -> None:
    """Refuse the run of another study."""
    name = (before or {}).get("study", study.name)
    if name != study.name:
        raise InputError(
            f"{run}: this run is of the study {name}, not of {study.name}; name its study, or give another "
            "folder by --out."
        )


def check_answers(before: dict[str, Any] | None, study: Study | ItemStudy, run: Path) -> None:
    """Refuse to read answers to prompts that ask for another form of answer now; raises as above."""
    prompts = (before or {}).get("prompts", {})
    now = {
        prompt.id: None if prompt.response is None else prompt.response.model_dump(exclude_none=True)
        for prompt in study.prompts
        if prompt.id in prompts
    }
    then = {name: prompts[name].get("response") for name in now}
    merged_facts({"prompts": then}, {"prompts": now}, run)


def merged_facts(before: dict[str, Any] | None, now: dict[str, Any], run: Path) -> dict[str, Any]:
    """Add new prompts and judges to the facts of a run."""
    if before is None:
        return now
    changed = list(_differences(before, now, ""))
    if changed:
        raise InputError(
            f"{run}: the inputs of this run have changed since it began ({listed(changed, 5)}), so old and "
            "new answers would not be comparable; restore the inputs, or collect into another folder with "
            "--out."
        )
    parts = [part for part in (*OPEN, "subjects") if part in now]
    return {**before, **{part: {**before[part], **now[part]} for part in parts}}


def _differences(before: Any, now: Any, place: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys([*before, *now]):
            inside = f"{place}.{name}" if place else str(name)
            if name in before and name in now:
                yield from _differences(before[name], now[name], inside)
            elif place not in OPEN and (name in before or inside not in ADDED):
                yield inside
    elif before != now:
        short = all(len(repr(value)) <= 40 for value in (before, now))
        hashed = place.endswith(("sha256", "template", "user", "pictures"))
        yield f"{place} (from {before!r} to {now!r})" if short and not hashed else place


@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps its design, ledger and tables."""

    path: Path

    @property
    def ledger(self) -> Path:
        """The file of the ledger."""
        return self.path / "ledger.sqlite"

    def check_ledger(self) -> None:
        """Refuse a folder with traces of a run but no ledger: all would be asked, and paid, again."""
        if self.ledger.is_file() and self.ledger.stat().st_size:
            return
        first = (next(iter(sorted(self.path.glob(pattern))), None) for pattern in TRACES)
        traces = [str(path.relative_to(self.path)) for path in first if path is not None]
        if traces:
            state = "empty" if self.ledger.is_file() else "missing"
            raise InputError(
                f"{self.ledger}: the ledger is {state}, but the folder contains {listed(traces)} of a run, "
                "whose requests would all be sent, and paid for, again; put a copy of the ledger in its "
                "place, or begin another run with --out."
            )

    def check_tables(self, ledger: Ledger) -> None:
        """Refuse a ledger without answers that the tables of the run have, such as an older copy of it."""
        keys = self._answered_keys()
        unanswered = ledger.without_answer(keys)
        if unanswered:
            raise InputError(
                f"{self.ledger}: the ledger has no answer to {unanswered:,} of the {len(keys):,} requests "
                f"that are answered in {self.path / RESPONSES}, so they would be lost, or sent and paid for "
                "again; put the newest copy of the ledger in its place, or move the tables out of the folder."
            )

    def _answered_keys(self) -> list[str]:
        """Keys of the requests that are answered in the table of responses, as far as it can be read."""
        columns, path = ["request_key", "text"], self.path / RESPONSES
        if not path.is_file():
            return []
        try:
            table = pd.read_parquet(path, columns=columns)
        except (OSError, ValueError):  # it is written anew from the ledger
            return []
        return [str(key) for key in table["request_key"][table["text"].notna().to_numpy(dtype=bool)]]

    @property
    def batches(self) -> Path:
        """Folder of batch files that wait."""
        return self.path / "batches"

    @property
    def cluster(self) -> Path:
        """Folder of requests to a cluster and of its answers, where no other address is named."""
        return self.path / "cluster"

    @cached_property
    def design(self) -> DrawnDesign | None:
        """The design that was drawn, if any."""
        return load_design(self.path / "design")

    def draw(
        self,
        study: Study,
        pairs: int | None,
        swapped_share: float | None,
        seed: int | None,
        keep: bool = True,
    ) -> DrawnDesign:
        """Draw and, with ``keep``, store the design of a study, or return the same one that is there."""
        before = self.design
        collect = study.collect
        facts: dict[str, Any] = {
            "pairs": study.design.pairs if pairs is None else pairs,
            "swapped_share": _swapped_share(study) if swapped_share is None else swapped_share,
            "seed": collect.seed if seed is None else seed,
        }
        if study.instrument is not None and study.instrument.swaps and facts["swapped_share"] != 1:
            raise InputError(
                f"The share of swapped pairs is {facts['swapped_share']:g}, and the instrument of the study "
                "shows every pair in both orders; omit the share, or the facet option_order."
            )
        if before is not None:
            check_restrictions(study, before, self.path)
            if before.drawn == facts | restrictions_of(study) | instrument_of(study):
                check_posts(study, before, self.path)
                return before
            summary = ", ".join(f"{name} {value}" for name, value in before.drawn.items() if name in facts)
            raise InputError(
                f"{self.path}: the folder already contains another design ({summary}); draw the new one "
                "into another folder with --out."
            )
        design = draw_design(study, **facts)
        if keep:
            save_design(design, self.path / "design")
        self.__dict__["design"] = design
        return design

    def content(
        self,
        study: Study | ItemStudy,
        pairs: int | None = None,
        images: bool = False,
        keep: bool = True,
        pictures: Pictures | None = None,
        tasks: str = "models",
        occasion: int = 1,
    ) -> RunContent:
        """Gather what models are shown, of ``pictures`` or the posts' column ``media`` where as images."""
        # `tasks` are the pairs of models, the tasks of people, or all, as in `DrawnDesign.asked`; on a later
        # `occasion` the anchors among them.
        check_asked(tasks)
        if isinstance(study, ItemStudy):
            assigned = self._assigned(study) if tasks == "panel" else None
            return item_content(study, pairs, images, assigned, occasion)
        self.check_people(study, tasks)
        design = self.design or self.draw(study, None, None, None, keep)
        check_restrictions(study, design, self.path)
        return profile_content(study, design, pairs, images, pictures, tasks, occasion)

    def check_people(self, study: Study, tasks: str) -> None:
        """Refuse tasks of people where the run has no design, or one without them."""
        if tasks == "models":
            return
        if self.design is None:
            raise InputError(
                f"--tasks {tasks}: {self.path} contains no design; draw one with tasks of people by "
                f"`conjury design {study.here} --people N --out {self.path}`."
            )
        if self.design.panel is None:
            raise no_people_error(tasks)

    def _assigned(self, study: ItemStudy) -> set[str]:
        """Items that people rate, by the assignment that was drawn."""
        path = self.path / "design" / "assignment.parquet"
        if not path.is_file():
            raise InputError(
                f"--tasks panel: {self.path} contains no assignment of items to people; draw one with "
                f"`conjury design {study.here}`, or take the items of people's judgments with --panel FILE."
            )
        return set(read_table(path)["item_id"].astype(str))

    def media(
        self, study: Study | ItemStudy, ledger: Ledger | None, pictures: Pictures | None = None
    ) -> MediaParts:
        """Return what turns images and clips of subjects into parts of messages; files are stored by hash."""
        folder = study.folder if pictures is None else pictures.root
        return MediaParts(folder, study.collect, ledger, self.path / "cuts")


def _swapped_share(study: Study) -> float:
    """Share of pairs that are shown in both orders: all where the instrument compares them."""
    swaps = study.instrument is not None and study.instrument.swaps
    return 1.0 if swaps else study.collect.swapped_share
