"""Which judge is asked in a run, how, by which backend and at which price; options that do not fit."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from pydantic import ValidationError

from ..backends.base import Backend
from ..backends.openai.responses import SHORTEST
from ..errors import InputError, did_you_mean, listed
from ..inference_wings import WINGS
from ..ledger import Ledger
from ..study.asking import BATCH_ONLY, KEY_VARIABLE, MAX_TOKENS, PAID, Response, Sampling, with_answer
from ..study.checks_items import unfit_asking
from ..study.load import describe_error as in_words
from ..study.models import AnyStudy, ItemStudy, Study
from ..study.study_fields import Prompt
from ..tables.columns import occasion_name, split_occasion
from ..tables.contained_paths import is_inside
from ..tables.files import STUDIES
from .jobs import Job
from .prices import Budget, Prices
from .run_folder import RunFolder
from .run_options import Asking, Running


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
    files = {"--export": running.export, "--batch-results": running.batch_results}
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
    if ask.api == "responses" and (ask.backend != "openai" or running.batch or elsewhere):
        raise InputError(
            "'api: responses' of the judge applies to live requests of --backend openai; omit it, or omit "
            f"{elsewhere or '--batch or --backend'}."
        )
    if running.wait and not running.batch:
        raise InputError("--wait applies to batches; add --batch, or omit it.")
    if running.export is not None and (running.batch or running.batch_results is not None):
        raise InputError("--export writes requests and sends none; omit --batch and --batch-results.")
    if running.model_weights is not None and ask.backend not in ("vllm", "ray"):
        raise InputError(f"--model-weights applies to vllm and ray, not to {ask.backend}; omit it.")
    if running.cluster_dir is not None and ask.backend != "ray":
        raise InputError(
            f"--cluster-dir applies to --backend ray, not to {ask.backend}; use that, or omit it."
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


def choose_backend(job: Job, folder: RunFolder, running: Running, ledger: Ledger) -> Backend:
    """Make the backend of a job; InputError or MissingDependency where that cannot be."""
    ask = job.ask
    weights = None if running.model_weights is None else str(running.model_weights)
    if ask.backend == "openai":
        from ..backends.openai.live import OpenAIBackend

        return OpenAIBackend(
            ask.model,
            base_url=ask.base_url,
            key_variable=ask.key_variable,
            concurrency=running.concurrency,
            timeout=running.request_timeout,
            named=job.named,
            api=ask.api,
        )
    if ask.backend == "vllm":
        from ..backends.vllm import VLLMBackend

        return VLLMBackend(ask.model, weights, ask.engine)
    if ask.backend == "ray":
        address = running.cluster_dir or str(folder.cluster)
        cluster: Backend = WINGS.find("cluster")(
            address, ledger, job.judge_id, ask.model, weights, ask.engine
        )
        return cluster
    if ask.backend == "replay":
        from ..backends.lookup import ReplayBackend, shipped_recording

        return ReplayBackend(
            running.recorded or shipped_recording(job.study.name, job.judge_id), job.judge_id
        )
    from ..backends.lookup import SimulatedBackend

    if isinstance(job.study, ItemStudy):
        from ..backends.lookup import SimulatedItemsBackend

        return SimulatedItemsBackend(job.study, job.judge_id, ask.samples)
    if folder.design is None:
        raise InputError("--backend simulated answers conjoints of pairs only; use another backend.")
    return SimulatedBackend(job.study, job.judge_id, folder.design, ask.samples)


def priced_budget(ask: Sampling, running: Running, prices: Prices) -> Budget:
    """Return price of a model and limit on costs; InputError for a limit where there is no price."""
    price = prices.of(ask.model) if ask.backend in PAID else None
    max_tokens = MAX_TOKENS.get(ask.backend)
    if running.max_cost is not None and price is None:
        raise InputError(
            f"--max-cost needs the price of {ask.model}, which is not in "
            f"{running.prices or 'the price table'}; add it to a table and give that by --prices."
        )
    shortest = SHORTEST if ask.api == "responses" else 0
    return Budget(price, prices.per, running.batch, running.max_cost, max_tokens, shortest)


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


def check_anchors(study: AnyStudy, occasion: int) -> None:
    """Refuse a later occasion of a study without anchors."""
    if occasion < 1:
        raise InputError(f"--occasion {occasion}: occasions count from 1; write 2 for the first repetition.")
    if occasion > 1 and (study.instrument is None or not study.instrument.anchors):
        raise InputError(
            f"--occasion {occasion}: study {study.name} has no anchors to ask again; write their number "
            "under instrument, anchors, before the run begins."
        )


def check_occasion(
    ledger: Ledger | None, judge_id: str, names: Collection[str] | None, occasion: int
) -> None:
    """Refuse an occasion before the one that comes first has an answer of the judge."""
    if occasion == 1:
        return
    before = {occasion_name(split_occasion(name)[0], occasion - 1) for name in names or ()}
    counts = [] if ledger is None else ledger.counts_of(judge_id, before)
    if not any(count.state == "answered" for count in counts):
        raise InputError(
            f"--occasion {occasion}: judge {judge_id} has no answers of occasion {occasion - 1} to compare "
            "with; collect these first."
        )
