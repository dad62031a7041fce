"""Options of a run, in Python and, with their help, on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..tables.limits import REQUESTS, SAMPLES

# ruff: noqa: RUF009 - `_option` makes a field, as `field` does


def _option(default: object, help: str, *, least: float | None = None, most: int | None = None) -> Any:
    """A field that is an option of commands, with its help and limits."""
    return field(default=default, metadata={"help": help, "least": least, "most": most})


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

    backend: str | None = _option(
        None, "openai (and what speaks its protocol), anthropic, google, vllm, ray, simulated, replay."
    )
    model: str | None = _option(None, "Name of the model where it is served.")
    base_url: str | None = _option(None, "Address of a server with OpenAI's protocol.")
    key_variable: str | None = _option(None, "Environment variable that contains the key.")
    answer: str | None = _option(None, "auto, token, choice, json or free.")
    samples: int | None = _option(None, "Answers per request.", least=1, most=SAMPLES)

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
    request_timeout : float
        Seconds after which a request without an answer counts as failed and is repeated.
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
    batch_results : Path, optional
        Results of such a batch runner, which are imported.
    model_weights : Path, optional
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

    pairs: int | None = _option(None, "Only the first pairs of the design, or the first items.", least=1)
    tasks: str = _option(
        "models", "models: the pairs drawn for models; panel: the tasks of people; all: both."
    )
    occasion: int = _option(1, "2, 3, ...: ask the anchors of the study's instrument once more.", least=1)
    images: bool = False
    links: bool = False
    pictures: Path = _option(Path("stimuli"), "Where `conjury render` keeps pictures.")
    concurrency: int = _option(64, "Maximum number of concurrent requests.", least=1, most=REQUESTS)
    request_timeout: float = _option(
        300.0, "Seconds after which a request without an answer is repeated.", least=1, most=86_400
    )
    max_cost: float | None = _option(
        None,
        "Stop before the costs exceed this amount; they may exceed it by one request (by those in "
        "flight where answers suddenly cost a multiple of what was allowed).",
        least=0,
    )
    prices: Path | None = _option(None, "Table of prices, in place of the one that ships.")
    batch: bool = _option(False, "Use the batch interface of OpenAI, Anthropic or Google.")
    wait: bool = _option(False, "Wait until batches have ended.")
    rule: str = _option("default", "Parsing rule: default, strict, lenient, token.")
    recorded: Path | None = _option(
        None, "Responses for --backend replay; by default those that ship for study and judge."
    )
    export: Path | None = _option(None, "Write the requests as JSONL for a batch runner; send nothing.")
    batch_results: Path | None = _option(None, "Read the results of a batch runner.")
    model_weights: Path | None = _option(None, "Folder of the model's weights for vllm and ray.")
    cluster_dir: str | None = _option(
        None, "Folder or address that all nodes share, such as s3://bucket/folder; by default OUT/cluster."
    )
    recheck: float | None = _option(
        None, "Ask this share of the answered requests again; report how many answers change."
    )
    recheck_seed: int = _option(1, "Seed of the requests that --recheck draws.", least=0)
    engine_code: bool = _option(
        False, "Let 'engine' of the study file run code (trust_remote_code, runtime_env and the like)."
    )
