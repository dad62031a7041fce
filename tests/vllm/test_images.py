"""Pictures of a study reach a vision model, through the ledger, in the order in which they are shown."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from fakes.desk import MemoryDesk
from fakes.studies import towns, write_study
from PIL import Image

from conjury.inference.backends.vllm import VLLMBackend
from conjury.inference.collect import Budget, Order, collect, plan
from conjury.inference.collecting_parts import Sampling
from conjury.inference.designing import draw_design, save_design
from conjury.inference.exporting import run_tables
from conjury.inference.ledger import Ledger
from conjury.inference.requests import Outcome
from conjury.inference.runs import RunFolder
from conjury.inference.study import load_study

ENGINE = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_model_len": 1024,
    "max_num_batched_tokens": 1024,
    "enable_chunked_prefill": False,
    "limit_mm_per_prompt": {"image": 2},
}


@pytest.fixture(scope="module")
def backend() -> VLLMBackend:
    made = runpy.run_path(str(Path(__file__).with_name("tiny_vision.py")))["prepare"]()
    return VLLMBackend("tiny-vision", str(made), ENGINE)


def test_pairs_of_pictures_are_judged(backend: VLLMBackend, tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path / "towns", towns()))
    design = draw_design(study, 4, 0.5, 1)
    names = []
    for number in design.posts["profile_id"]:
        names.append(f"{number}.png")
        colour = (37 * number % 256, 91 * number % 256, 53 * number % 256)
        Image.new("RGB", (90, 70), colour).save(study.folder / names[-1])
    folder = RunFolder(tmp_path / "run")
    save_design(
        type(design)(design.tasks, design.profiles, design.posts.assign(media=names), design.drawn),
        folder.path / "design",
    )
    material = folder.material(study, images=True)
    ask = Sampling(model="tiny-vision", backend="vllm", answer="choice", settings={"temperature": 0})
    with Ledger.open(folder.ledger) as ledger:
        media = folder.media(study, ledger)
        order = Order(study, "tiny", ask, study.prompts[:1], material.subjects, material.count, media)
        planned = plan(order, ledger, Budget())
        tally = collect(order, ledger, backend, Budget(), planned, lambda tally: None)
        assert (tally.answered, tally.failed) == (6, {})
        tables = run_tables(study, ledger.answers(), tasks=material.tasks, profiles=material.profiles)
        requests = list(order.requests())
        assert "data:image" not in json.dumps(requests[0].body)
        prompt_tokens = tables.responses["prompt_tokens"]
    assert tables.choices is not None
    assert (tables.choices["status"] == "ok").all()
    assert (prompt_tokens > 30).all()
    swapped = tables.choices[tables.choices["position"] == "A"].set_index("pair_id")["probability"]
    for name in swapped.index[swapped.index.str.endswith("_swapped")]:
        assert swapped[name] != pytest.approx(swapped[name.removesuffix("_swapped")])


def test_too_many_pictures_end_one_request_alone(backend: VLLMBackend, tmp_path: Path) -> None:
    from conjury.inference.requests import Request

    Image.new("RGB", (90, 70), "red").save(tmp_path / "red.png")
    picture = {"type": "image_url", "image_url": {"url": "media:red"}}
    stored = {"red": ("image/png", (tmp_path / "red.png").read_bytes())}
    desk = MemoryDesk(media=stored)
    asked = {"model": "tiny-vision", "max_tokens": 1, "temperature": 0}
    requests = [
        Request(
            str(count),
            "t",
            "p",
            str(count),
            1,
            {**asked, "messages": [{"role": "user", "content": [picture] * count}]},
        )
        for count in (1, 3)
    ]
    backend.run(iter(requests), desk)
    ends: dict[str, Outcome] = {outcome.key: outcome for outcome in desk.outcomes}
    assert ends["1"].body is not None
    assert ends["3"].kind == "rejected"
