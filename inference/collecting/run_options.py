"""Options of a run: how a judge is asked, and which engine or server answered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import InputError, did_you_mean, listed
from ..ledger import Ledger
from ..study.asking import BATCH_ONLY, KEY_VARIABLE, PAID, Response, Sampling, with_answer
from ..study.checks_items import unfit_asking
from ..study.load import describe_error as in_words
from ..study.models import ItemStudy, Study
from ..study.study_fields import Prompt
from ..tables.contained_paths import is_inside
from ..tables.files import STUDIES


def remember_engine(ledger: Ledger, judge_id: str, settings: dict[str, Any]) -> None:
    """Note the settings that a judge is asked with from now on, if they are others than before."""
    history = engine_history(ledger, judge_id)
    if not history or history[-1]["settings"] != settings:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        ledger.set(f"engine:{judge_id}", [*history, {"since": since, "settings": settings}])


def engine_history(ledger: Ledger, judge_id: str) -> list[dict[str, Any]]:
    """Return all settings that a judge was asked with: ``since`` (UTC) and ``settings``, the newest last."""
    return list(ledger.get(f"engine:{judge_id}") or [])


@dataclass(frozen=True)
class Asking:
    """How a judge is asked, where that differs from the study file; None keeps what the study file says.

    Parameters
    ----------
    backend : {"openai", "anthropic", "google", "vllm", "ray", "simulated", "replay"}, optional
        Where the judge is asked.
    model : str, optional
        Name of the model where it is served.
    base_url : str, optional
        Address of a server that speaks OpenAI's protocol.
    key_variable : str, optional
        Environment variable with the API key; the key itself is never stored.
    answer : {"auto", "token", "choice", "json", "free"}, optional
        How answers are constrained.
    samples : int, optional
        Answers to each request.

    Examples
    --------
    >>> Asking(backend="simulated", samples=2).changed()
    {'backend': 'simulated', 'samples': 2}
    """

    backend: str | None = None
    model: str | None = None
    base_url: str | None = None
    key_variable: str | None = None
    answer: str | None = None
    samples: int | None = None

    def changed(self) -> dict[str, Any]:
        """Return the options that were given."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Running:
    """How a run goes.

    Parameters
    ----------
    pairs : int, optional
        Only the first pairs of the design, or the first items.
    tasks : {"models", "panel", "all"}
        Whether the judge is asked about the pairs drawn for models, the tasks of people, or both; in a study
        of items about all items, or those that people rate.
    occasion : int
        On which occasion the judge is asked: 1 for the whole study; 2, 3 and so on for its anchors once more.
    images, links : bool
        Whether posts are shown as pictures, and whether by their addresses instead of their content.
    pictures : Path
        Folder in which ``conjury render`` keeps pictures.
    concurrency : int
        Maximum number of concurrent requests.
    processes : int
        Processes that share them, where one computes more slowly than the server answers.
    max_cost : float, optional
        Limit on costs in the currency of the price table; the run stops before it is exceeded.
    prices : Path, optional
        Price table in place of the one that ships.
    batch, wait : bool
        Whether the provider's batch interface is used, and whether to stay until batches have ended.
    rule : str
        Parsing rule of answers.
    recorded : Path, optional
        Table of recorded responses for the backend "replay"; by default that which ships.
    export : Path, optional
        File for the requests as JSON lines for a batch runner; nothing is sent.
    results : Path, optional
        Results of such a batch runner, which are imported.
    weights : Path, optional
        Folder of the weights for the backends "vllm" and "ray".
    cluster_dir : str, optional
        Address that all nodes of the cluster share, for requests and answers of the backend "ray"; by default
        the folder ``cluster`` of the run.
    recheck : float, optional
        Share of the answered requests of each prompt to ask again, and nothing else; the second answers are
        kept apart from the run.
    recheck_seed : int
        Seed of the requests drawn for a recheck.
    engine_code : bool
        Whether ``engine`` in the study file may run code, as ``trust_remote_code`` and ``runtime_env`` do.

    Examples
    --------
    >>> Running(pairs=10, max_cost=1.5).concurrency
    64
    """

    pairs: int | None = None
    tasks: str = "models"
    occasion: int = 1
    images: bool = False
    links: bool = False
    pictures: Path = Path("stimuli")
    concurrency: int = 64
    processes: int = 1
    max_cost: float | None = None
    prices: Path | None = None
    batch: bool = False
    wait: bool = False
    rule: str = "default"
    recorded: Path | None = None
    export: Path | None = None
    results: Path | None = None
    weights: Path | None = None
    cluster_dir: str | None = None
    recheck: float | None = None
    recheck_seed: int = 1
    engine_code: bool = False


def find_judge(study: Study | ItemStudy, name: str, asking: Asking) -> Sampling:
    """Say how a judge is asked: as the study file says, changed by options, or by options alone."""
    judge = next((judge for judge in study.judges if judge.id == name), None)
    if judge is not None and judge.kind == "human":
        raise InputError(f"--judge {name}: these are people; import their answers with `conjury import`.")
    options = asking.changed()
    if re.fullmatch(KEY_VARIABLE, options.get("key_variable", "KEY")) is None:  # perhaps the key: not quoted
        raise InputError(
            "--key-variable is not the name of an environment variable (capital letters, digits and '_', as "
            "MY_API_KEY); name the variable that contains the key."
        )
    options |= _samples_of_instrument(study, asking.samples)
    if (judge is None or judge.ask is None) and "model" not in options:
        if "base_url" not in options:
            judge_ids = [candidate.id for candidate in study.judges if candidate.ask is not None]
            hint = did_you_mean(name, judge_ids) if judge is None else ""
            raise InputError(
                f"--judge {name}: the study file does not state how to ask this judge{hint}; name one of "
                f"{listed(judge_ids)}, or give --model, and --base-url for a model on a server."
            )
        from ..backends.openai.live import served_model

        options["model"] = served_model(options["base_url"], options.get("key_variable", "OPENAI_API_KEY"))
    before = {} if judge is None or judge.ask is None else judge.ask.model_dump()
    try:
        return with_answer(Sampling.model_validate({**before, **options}), *study.responses)
    except ValidationError as problems:
        first = problems.errors()[0]
        option = "--" + str(first["loc"][0]).replace("_", "-") if first["loc"] else "the options"
        raise InputError(f"{option} {first['input']!r}: {in_words(first)}; correct it.") from None


def _samples_of_instrument(study: Study | ItemStudy, samples: int | None) -> dict[str, int]:
    """Return the number of samples of the study's instrument, if it states one."""
    count = study.instrument.facets.sample if study.instrument is not None else None
    if count is not None and samples not in (None, count):
        raise InputError(
            f"--samples {samples}: the instrument of the study has {count} samples; change 'sample' in its "
            "facets, or omit --samples."
        )
    return {} if count is None else {"samples": count}


def check_route(ask: Sampling, responses: Sequence[Response], running: Running) -> None:
    """Refuse options that do not go together."""
    if running.batch and ask.backend not in PAID:
        raise InputError(
            f"--batch sends requests to OpenAI, Anthropic or Google, not to {ask.backend}; omit one of "
            "the two."
        )
    files = {"--export": running.export, "--results": running.results}
    elsewhere = next((name for name, path in files.items() if path is not None), "")
    if ask.backend in BATCH_ONLY and elsewhere:
        raise InputError(
            f"{elsewhere} applies to lines of OpenAI's protocol, which --backend {ask.backend} does not "
            "accept; use --batch, or --backend openai."
        )
    if ask.backend in BATCH_ONLY and not running.batch:
        raise InputError(
            f"--backend {ask.backend} asks in batches only; add --batch, or use --backend openai with the "
            "address of a server of OpenAI's protocol."
        )
    if running.wait and not running.batch:
        raise InputError("--wait applies to batches; add --batch, or omit it.")
    if running.export is not None and (running.batch or running.results is not None):
        raise InputError("--export writes requests and sends none; omit --batch and --results.")
    if running.processes > 1 and (ask.backend != "openai" or running.batch or elsewhere):
        raise InputError("--processes share the requests of --backend openai that are sent live; omit it.")
    if running.weights is not None and ask.backend not in ("vllm", "ray"):
        raise InputError(f"--weights applies to vllm and ray, not to {ask.backend}; omit it.")
    if running.cluster_dir is not None and ask.backend != "ray":
        raise InputError(
            f"--cluster-dir applies to --cluster, not to {ask.backend}; add --cluster, or omit it."
        )
    if running.recorded is not None and ask.backend != "replay":
        raise InputError("--recorded is the table that --backend replay reads; add that, or omit it.")
    unfit = unfit_asking(ask, [response.form for response in responses])
    if unfit is not None:
        setting = f"--answer {ask.answer}" if unfit[0] == "answer" else f"'{unfit[0]}' of the judge"
        raise InputError(f"{setting}: {unfit[1]}")


ENGINE_CODE = {  # settings of engines that run code, or change what the processes of an engine may do
    *("trust_remote_code", "runtime_env", "env_vars", "worker_cls", "worker_extension_cls", "scheduler_cls"),
    *("logits_processors", "tool_parser_plugin", "reasoning_parser_plugin", "middleware", "executor_cls"),
    *("distributed_executor_backend", "kv_transfer_config", "ec_transfer_config", "compilation_config"),
    *("allowed_local_media_path", "model_loader_extra_config", "additional_config", "io_processor_plugin"),
}


def engine_code(ask: Sampling) -> list[str]:
    """Name the settings of a judge's engine that run code, or change the environment of its processes."""
    return sorted(_settings_in(ask.engine)) if ask.backend in ("vllm", "ray") else []


def _settings_in(value: Any) -> set[str]:
    """Names of `ENGINE_CODE` in settings, also within others; those that are off are left out."""
    if isinstance(value, list):
        return {name for part in value for name in _settings_in(part)}
    if not isinstance(value, dict):
        return set()
    names = {
        str(name).replace("-", "_").lower() for name, setting in value.items() if setting not in (None, False)
    }
    return names & ENGINE_CODE | {name for setting in value.values() for name in _settings_in(setting)}


def check_engine(study: Study | ItemStudy, judge: str, ask: Sampling, running: Running) -> None:
    """Refuse settings of an engine that run code, unless the user allows them or the study ships."""
    names = engine_code(ask)
    if names and not running.engine_code and not is_inside(study.folder, STUDIES):
        raise InputError(
            f"--judge {judge}: 'engine' in the study file contains {listed(names)}, which can run code of "
            "others and read your environment; add --engine-code if you trust the study file and the model."
        )


def find_prompts(
    study: Study | ItemStudy, names: Sequence[str] | None, images: bool, judge: str = ""
) -> list[Prompt]:
    """Select prompts: those that are named, else those of the judge that differ for what is shown."""
    by_id = {prompt.id: prompt for prompt in study.instrument_prompts}
    for name in names or ():
        if name not in by_id:
            raise InputError(
                f"--prompt {name}: there is no such prompt{did_you_mean(name, by_id)}; use {listed(by_id)}."
            )
        if by_id[name].stimuli == "images" and not images:
            raise InputError(
                f"--prompt {name}: this prompt differs from others only in the pictures; add "
                "--stimuli images."
            )
    if names:
        return [by_id[name] for name in dict.fromkeys(names)]
    judge_prompts = next((part.prompts for part in study.judges if part.id == judge), None) or list(by_id)
    judge_prompts = [name for name in judge_prompts if name in by_id]
    usable = [by_id[name] for name in judge_prompts if images or by_id[name].stimuli == "any"]
    if not usable:
        raise InputError(f"Study {study.name} has no prompts; write at least one into the study file.")
    return usable
