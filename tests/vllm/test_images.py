"""Pictures and clips of a study reach a model, through the ledger, in the order in which they are shown."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from fakes.clips import write_clip
from fakes.recorder import MemoryRecorder
from fakes.studies import LABELS, items, towns, write_study
from PIL import Image

from conjury.inference.backends.vllm import VLLMBackend
from conjury.inference.collecting.jobs import Job, plan
from conjury.inference.collecting.prices import Budget
from conjury.inference.collecting.recorder import ask as collect
from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.collecting.run_tables import run_tables
from conjury.inference.design.run_design import draw_design, save_design
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome, resolve
from conjury.inference.requests.building import Builder
from conjury.inference.study import load_any_study, load_study
from conjury.inference.study.asking import Sampling

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
    content = folder.content(study, images=True)
    ask = Sampling(model="tiny-vision", backend="vllm", answer="choice", settings={"temperature": 0})
    with Ledger.open(folder.ledger) as ledger:
        media = folder.media(study, ledger)
        order = Job(study, "tiny", ask, study.prompts[:1], content.subjects, content.count, media)
        planned = plan(order, ledger, Budget())
        tally = collect(order, ledger, backend, Budget(), planned, lambda tally: None)
        assert (tally.answered, tally.failed) == (6, {})
        tables = run_tables(study, ledger.answers(), tasks=content.tasks, profiles=content.profiles)
        requests = list(order.requests())
        assert "data:image" not in json.dumps(requests[0].body)
        prompt_tokens = tables.responses["prompt_tokens"]
    assert tables.choices is not None
    assert (tables.choices["status"] == "ok").all()
    assert (prompt_tokens > 30).all()
    swapped = tables.choices[tables.choices["position"] == "A"].set_index("pair_id")["probability"]
    for name in swapped.index[swapped.index.str.endswith("_swapped")]:
        assert swapped[name] != pytest.approx(swapped[name.removesuffix("_swapped")])


def clips(folder: Path, takes: list[str], *names: str, **video: Any) -> Path:
    """Write a study whose items are clips."""
    how = {"model": "tiny-vision", "backend": "vllm", "answer": "choice", "takes": takes}
    content = items({"form": "label", "labels": LABELS}, **how, settings={"temperature": 0})
    content["collect"] |= {"video": video}
    study = write_study(folder, content, list(names))
    for number, name in enumerate(names):
        write_clip(study / name, frames=10 + 5 * number, sound=True)
    rows = "".join(f"post_{n},video,{name}\n" for n, name in enumerate(names))
    (study / "items.csv").write_text(f"item_id,modality,media\n{rows}", encoding="utf-8")
    return study


def test_frames_of_clips_are_judged(backend: VLLMBackend, tmp_path: Path) -> None:
    study = load_any_study(clips(tmp_path / "posts", ["image"], "a.mp4", "b.webm", most_frames=2))
    folder, ask = RunFolder(tmp_path / "run"), study.judges[0].ask
    assert ask is not None
    content = folder.content(study)
    with Ledger.open(folder.ledger) as ledger:
        media = folder.media(study, ledger)
        order = Job(study, "judge", ask, study.prompts, content.subjects, content.count, media)
        tally = collect(order, ledger, backend, Budget(), plan(order, ledger, Budget()), lambda tally: None)
        assert (tally.answered, tally.failed) == (2, {})
        tables = run_tables(study, ledger.answers())
    assert (tables.judgments["status"] == "ok").all()
    assert (tables.responses["prompt_tokens"] > 30).all()


def test_whole_clips_and_sound_are_what_the_engine_reads(tmp_path: Path) -> None:
    from vllm.multimodal.media import MediaConnector

    study = load_any_study(clips(tmp_path / "posts", ["video", "audio"], "a.mp4", "b.webm"))
    folder, ask = RunFolder(tmp_path / "run"), study.judges[0].ask
    assert ask is not None
    engine = MediaConnector(media_io_kwargs={"video": {"fps": 10, "num_frames": 64}})
    with Ledger.open(folder.ledger) as ledger:
        builder = Builder(study, "judge", ask, study.prompts, folder.media(study, ledger))
        for request in builder.requests(folder.content(study).subjects()):
            parts = resolve(request.body, ledger.media)["messages"][-1]["content"]
            seconds = {"post_0": 0.4, "post_1": 0.6}[request.subject_id]
            frames = engine.fetch_video(parts[1]["video_url"]["url"])[0]
            assert frames.shape == (round(10 * seconds), 64, 96, 3)
            heard = parts[-1]["input_audio"]
            samples, rate = engine.fetch_audio(f"data:audio/{heard['format']};base64,{heard['data']}")
            assert len(samples) / rate == pytest.approx(seconds, abs=0.05)


def test_too_many_pictures_end_one_request_alone(backend: VLLMBackend, tmp_path: Path) -> None:
    from conjury.inference.ledger.exchanges import Request

    Image.new("RGB", (90, 70), "red").save(tmp_path / "red.png")
    picture = {"type": "image_url", "image_url": {"url": "media:red"}}
    stored = {"red": ("image/png", (tmp_path / "red.png").read_bytes())}
    recorder = MemoryRecorder(media=stored)
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
    backend.run(iter(requests), recorder)
    ends: dict[str, Outcome] = {outcome.key: outcome for outcome in recorder.outcomes}
    assert ends["1"].body is not None
    assert ends["3"].kind == "rejected"
