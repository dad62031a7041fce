"""A probe of a judge's server: its price before it is sent, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...backends.endpoints import Destination, EndpointChoice, destination_of
from ...errors import InputError
from ...study.asking import Sampling
from ...study.load import load_any_study
from ...study.models import AnyStudy, ItemStudy, Study
from ..asked_judge import find_judge
from ..past_runs import run_folder
from ..prices import Budget, guess_tokens, read_prices
from ..run_folder import RunFolder
from ..run_options import Asking
from .probing import ServerProbe, probe_bodies, probe_server, read_probes, write_probe


@dataclass(frozen=True)
class PlannedProbe:
    """A probe before anything is sent: to which server, and what it costs at the most.

    Parameters
    ----------
    judge : str
        Judge of the study.
    ask : Sampling
        How the judge is asked.
    destination : Destination
        Where the five requests go, and which key goes with them.
    folder : RunFolder
        The run with which the probe is kept.
    cost, most : float or None
        What the five requests cost about, and at the most; None where the price is not known.
    currency : str
        Currency of both.

    Examples
    --------
    >>> from conjury.inference.collecting import plan_probe
    >>> planned = plan_probe("moderation", "gpt4o", out="a_new_folder")
    >>> planned.ask.model, planned.currency, planned.most < 0.01
    ('gpt-4o-2024-08-06', 'USD', True)
    """

    judge: str
    ask: Sampling
    destination: Destination
    folder: RunFolder
    cost: float | None
    most: float | None
    currency: str


def plan_probe(
    study: str | Path | AnyStudy,
    judge: str,
    *,
    out: str | Path | None = None,
    asking: Asking | None = None,
    prices: str | Path | None = None,
) -> PlannedProbe:
    """Plan a probe of a judge's server; nothing is sent.

    Parameters
    ----------
    study : str, Path or study
        A study that ships, the path of a study file, or a loaded study.
    judge : str
        A judge of the study file, or a name of your own where ``asking`` names the model.
    out : path, optional
        Folder of the run; by default ``runs/STUDY``.
    asking : Asking, optional
        How the judge is asked, where that differs from the study file.
    prices : path, optional
        Price table in place of the one that ships.

    Returns
    -------
    PlannedProbe
        Server and costs.

    Raises
    ------
    InputError
        For a judge that is not asked live through OpenAI's protocol.

    Examples
    --------
    >>> from conjury.inference.collecting import plan_probe
    >>> plan_probe("moderation", "gpt4o", out="a_new_folder").destination.address.url
    'https://api.openai.com/v1'
    """
    loaded_study = load_any_study(study) if isinstance(study, str | Path) else study
    assert isinstance(loaded_study, Study | ItemStudy)
    given_options = asking or Asking()
    ask = find_judge(loaded_study, judge, given_options)
    named = EndpointChoice(given_options.base_url is not None, given_options.key_variable is not None)
    destination = destination_of(ask, named)
    if ask.backend != "openai" or destination is None:
        raise InputError(
            f"--judge {judge}: a probe asks servers of OpenAI's protocol, and this judge is asked by the "
            f"backend {ask.backend}; give --backend openai and --base-url, or collect without a probe."
        )
    folder = run_folder(loaded_study, out)
    read_probes(folder.path)
    table = read_prices(None if prices is None else Path(prices))
    budget = Budget(table.of(ask.model), table.per)
    bodies = list(probe_bodies(ask, destination.address.url).values())
    guesses = [guess_tokens(body, "json") for body in bodies]
    costs = [budget.cost(tokens.prompt, tokens.completion) for tokens in guesses]
    has_price = budget.price is not None
    return PlannedProbe(
        judge,
        ask,
        destination,
        folder,
        sum(cost or 0.0 for cost in costs) if has_price else None,
        sum(budget.most(body) for body in bodies) if has_price else None,
        table.currency,
    )


def probe(
    study: str | Path | AnyStudy,
    judge: str,
    *,
    out: str | Path | None = None,
    asking: Asking | None = None,
    prices: str | Path | None = None,
    before: Callable[[PlannedProbe], None] | None = None,
) -> ServerProbe:
    """Find out by five cheap requests what a judge's server does with its settings; kept with the run.

    Parameters
    ----------
    study, judge, out, asking, prices
        As in `plan_probe`.
    before : callable, optional
        Called with the planned probe before anything is sent, for instance to show its costs.

    Returns
    -------
    ServerProbe
        For temperature, seed, log-probabilities, structured output, several samples, limits of tokens, system
        prompts and repeated requests, whether the server keeps, ignores or refuses them.

    Raises
    ------
    InputError
        As for `plan_probe`, and where the server answers none of the five.

    Examples
    --------
    >>> from conjury.inference.collecting import Asking, probe
    >>> probe("moderation", "gpt4o", asking=Asking(base_url="http://127.0.0.1:8000/v1"))  # doctest: +SKIP
    """
    from ...backends.openai.live import OpenAIBackend

    planned = plan_probe(study, judge, out=out, asking=asking, prices=prices)
    if before is not None:
        before(planned)
    given_options = asking or Asking()
    backend = OpenAIBackend(
        planned.ask.model,
        base_url=planned.ask.base_url,
        key_variable=planned.ask.key_variable,
        concurrency=1,
        max_retries=2,
        api=planned.ask.api,
        named=EndpointChoice(given_options.base_url is not None, given_options.key_variable is not None),
    )
    result = probe_server(judge, planned.ask, backend, backend.endpoint.base_url)
    write_probe(planned.folder.path, result)
    return result
