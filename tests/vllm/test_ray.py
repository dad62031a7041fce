"""Ray Data's processor answers as the offline engine does."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from pathlib import Path

import pytest
from fakes.recorder import LedgerRecorder

from conjury.inference.backends.cluster.exchange import Exchange
from conjury.inference.backends.cluster.ray_backend import RayBackend
from conjury.inference.backends.cluster.ray_engines import Engine
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Request, request_key

ENGINE = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_model_len": 512,
    "max_num_batched_tokens": 512,
    "enable_chunked_prefill": False,
    "placement_group_config": {"bundles": [{"CPU": 1, "GPU": 0}]},
    "batch_size": 4,
}


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not in this environment")
def test_ray_data_answers_each_request_once(weights: Path, tmp_path: Path) -> None:
    requests = []
    for number in range(6):
        text = "word " * 1000 if number == 5 else f"Which letter comes first, A or B? Case {number}."
        body = {
            "model": "smollm2",
            "messages": [{"role": "user", "content": text}],
            "temperature": 0,
            "logprobs": True,
            "top_logprobs": 20,
            "structured_outputs": {"choice": ["A", "B"]},
        }
        key = request_key("smollm2", "p", str(number), 1, body)
        requests.append(Request(key, "smollm2", "p", str(number), 1, body))
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        place = Exchange.of_run(str(tmp_path / "cluster"), ledger, "smollm2")
        backend = RayBackend(ledger, place, Engine.of("smollm2", str(weights), ENGINE))
        recorder = LedgerRecorder(ledger)
        backend.run(ledger.pending(requests), recorder)
    assert backend.settings()["processor"]["batch_size"] == 4
    ends = {outcome.key: outcome for outcome in recorder.outcomes}
    assert len(recorder.outcomes) == len(requests) == len(ends)
    assert ends[requests[5].key].kind == "rejected"
    for request in requests[:5]:
        body = json.loads(ends[request.key].body or b"{}")
        choice = body["choices"][0]
        assert choice["message"]["content"] in ("A", "B")
        (token,) = choice["logprobs"]["content"]
        masses = {rival["token"]: math.exp(rival["logprob"]) for rival in token["top_logprobs"]}
        assert set(masses) == {"A", "B"}
        assert max(masses, key=lambda name: masses[name]) == choice["message"]["content"]
