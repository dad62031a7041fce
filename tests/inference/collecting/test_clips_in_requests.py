from __future__ import annotations

import base64
import hashlib
import io
import json
import wave
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("av", reason="needs PyAV (the extra media)")

from fakes.clips import number_in, write_clip
from fakes.studies import LABELS, change_study, collect, items, table, write_study
from PIL import Image

from conjury.inference.backends.openai.shards import request_line
from conjury.inference.collecting.runs import RunFolder
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Request
from conjury.inference.ledger.verify import find_problems
from conjury.inference.requests import media as media_parts
from conjury.inference.requests.building import Builder
from conjury.inference.requests.media import resolve
from conjury.inference.study import load_any_study

FRAMES = [int(2.5 * n) for n in range(8)]  # of a clip of 0.8 s with 25 frames a second


def clips(folder: Path, *names: str, takes: list[str] | None = None, **how: Any) -> Path:
    """Write a study of clips that one judge takes in some way."""
    content = items({"form": "label", "labels": LABELS}, **({} if takes is None else {"takes": takes}))
    content["collect"] |= how
    study = write_study(folder, content, list(names))
    rows = "".join(f"post_{n},video,{name}\n" for n, name in enumerate(names))
    (study / "items.csv").write_text(f"item_id,modality,media\n{rows}", encoding="utf-8")
    return study


@pytest.fixture(scope="module")
def loud(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clips") / "loud.mp4", frames=20, sound=True)


@pytest.fixture
def folder(tmp_path, loud):
    """A folder with a clip in it, for a study."""
    made = tmp_path / "posts"
    made.mkdir()
    (made / "loud.mp4").write_bytes(loud.read_bytes())
    return made


def requests(study: Path, ledger: Ledger | None = None) -> list[Request]:
    known = load_any_study(study)
    ask = known.judges[0].ask
    run = RunFolder(study.parent / "run")
    builder = Builder(known, "judge", ask, known.prompts, run.media(known, ledger))
    return list(builder.requests(run.content(known).subjects()))


def parts_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    return list(body["messages"][-1]["content"])


def words_of(parts: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for part in parts if part["type"] == "text"]


def decoded(uri: str, mime: str) -> bytes:
    head, _, content = uri.partition(",")
    assert head == f"data:{mime};base64"
    return base64.b64decode(content)


@pytest.mark.parametrize("batch", [False, True])
def test_frames_arrive_in_order_with_the_sound_after_them(folder, server, tmp_path, batch):
    study = clips(folder, "loud.mp4", takes=["image", "audio"], video={"longest_side": 48})
    if batch:
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            (request,) = requests(study, ledger)
            (body,) = [json.loads(request_line(request, ledger.media))["body"]]
    else:
        server.configure(keep=True)
        collect(study, tmp_path / "run", base_url=server.url)
        (body,) = server.bodies()
    parts = parts_of(body)
    told = "Video, 0.8 seconds long, shown as 8 frames, one every 0.10 seconds"
    assert words_of(parts) == [told, "Sound of the video"]
    shown = [decoded(part["image_url"]["url"], "image/jpeg") for part in parts if part["type"] == "image_url"]
    assert [number_in(content) for content in shown] == FRAMES
    assert {Image.open(io.BytesIO(content)).size for content in shown} == {(48, 32)}
    assert parts[-1]["type"] == "input_audio"
    assert parts[-1]["input_audio"]["format"] == "wav"
    with wave.open(io.BytesIO(base64.b64decode(parts[-1]["input_audio"]["data"]))) as track:
        assert track.getnframes() / track.getframerate() == pytest.approx(0.8, abs=0.05)


def test_a_judge_that_takes_video_gets_the_file_as_it_is(folder, server, tmp_path):
    study = clips(folder, "loud.mp4", takes=["video", "image"])
    server.configure(keep=True)
    collect(study, tmp_path / "run", base_url=server.url)
    words, clip = parts_of(server.bodies()[0])
    assert words["text"] == "Video"
    assert decoded(clip["video_url"]["url"], "video/mp4") == (folder / "loud.mp4").read_bytes()
    assert table(tmp_path / "run", "judgments")["status"].tolist() == ["ok"]


@pytest.mark.parametrize(
    ("takes", "how", "kinds"),
    [
        (None, {}, ["text", *["image_url"] * 8]),
        (["image"], {"video": {"most_frames": 3}}, ["text", *["image_url"] * 3]),
        (["image"], {"video": {"frames_per_second": 5}}, ["text", *["image_url"] * 4]),
        (["video", "audio"], {}, ["text", "video_url", "text", "input_audio"]),
        (["video", "audio"], {"video": {"audio": "never"}}, ["text", "video_url"]),
    ],
)
def test_a_clip_goes_as_the_judge_takes_it(folder, takes, how, kinds):
    (request,) = requests(clips(folder, "loud.mp4", takes=takes, **how))
    assert [part["type"] for part in parts_of(request.body)] == kinds


def test_a_silent_clip_has_no_part_for_sound(folder):
    write_clip(folder / "silent.webm", frames=5)
    (request,) = requests(clips(folder, "silent.webm", takes=["video", "audio"]))
    assert [part["type"] for part in parts_of(request.body)] == ["text", "video_url"]


@pytest.mark.parametrize("takes", [["image", "audio"], ["video", "audio"]])
def test_bodies_name_bytes_by_hash_and_the_ledger_gives_them_back(folder, tmp_path, takes):
    study = clips(folder, "loud.mp4", takes=takes)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        (request,) = requests(study, ledger)
        held = [part[part["type"]] for part in parts_of(request.body) if part["type"] != "text"]
        names = [part.get("url") or part["data"] for part in held]
        for name in names:
            assert name.startswith("media:")
            content = ledger.media(name.removeprefix("media:"))[1]
            assert hashlib.sha256(content).hexdigest() == name.removeprefix("media:")
        sent = resolve(request.body, ledger.media)
    assert len(json.dumps(request.body)) < 3000 < len(json.dumps(sent))


def test_the_key_follows_the_clip_and_how_it_is_cut(folder):
    def key(**how: Any) -> str:
        (request,) = requests(clips(folder, "loud.mp4", **how))
        return request.key

    plain = key()
    assert key(video={"frames_per_second": 10}) == plain
    assert key(video={"longest_side": 48}) != plain
    assert key(video={"most_frames": 4}) != plain
    assert key(takes=["image", "audio"]) != plain
    write_clip(folder / "loud.mp4", frames=21)
    assert key() != plain


def test_a_clip_is_cut_once_for_all_judges_and_later_runs(folder, tmp_path, monkeypatch):
    study = clips(folder, "loud.mp4", "loud.mp4", takes=["image", "audio"])
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        first = requests(study, ledger)

    def refuse(*_: object) -> None:
        raise AssertionError("this clip was cut before")

    monkeypatch.setattr(media_parts, "cut_frames", refuse)
    monkeypatch.setattr(media_parts, "sound_track", refuse)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        assert [request.body for request in requests(study, ledger)] == [request.body for request in first]
    assert [request.key for request in requests(study)] == [request.key for request in first]


@pytest.mark.parametrize("loss", ["ledger", "half a file", "no object", "older form"])
def test_what_was_kept_of_a_clip_is_made_again_where_it_is_lost(folder, tmp_path, loss):
    study = clips(folder, "loud.mp4", takes=["image", "audio"])
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        (first,) = requests(study, ledger)
    for path in (tmp_path / "run" / "cuts").glob("*.json"):
        kept = path.read_text(encoding="utf-8")
        lost = {"ledger": kept, "half a file": kept[: len(kept) // 2], "no object": "[]", "older form": "{}"}
        path.write_text(lost[loss], encoding="utf-8")
    name = "another.sqlite" if loss == "ledger" else "ledger.sqlite"
    with Ledger.open(tmp_path / name) as ledger:
        (again,) = requests(study, ledger)
        assert again.key == first.key
        assert len(json.dumps(resolve(again.body, ledger.media))) > 3000


def test_a_run_without_a_ledger_writes_nothing(folder):
    requests(clips(folder, "loud.mp4", takes=["image", "audio"]))
    assert not (folder.parent / "run").exists()


@pytest.mark.parametrize(
    ("name", "takes", "told"),
    [
        ("gone.mp4", None, "gone.mp4: the clip cannot be read .*; check the path"),
        ("../secret.mp4", None, r"\.\./secret\.mp4: this clip lies outside"),
        ("/etc/hosts", None, "/etc/hosts: this clip lies outside"),
        ("link.mp4", None, r"link\.mp4: this clip lies outside"),
        ("loud.mp4", [], r"loud\.mp4: this judge does not take clips or their frames \(takes: text alone\)"),
        (
            "https://clips.org/a.mp4?key=secret",
            None,
            r"a\.mp4: frames are cut from files, and no clip is fetched",
        ),
        (
            "https://other.org/a.mp4",
            ["video"],
            r"other\.org/a\.mp4: images and clips come from .*media_hosts",
        ),
        ("http://clips.org/a.mp4", ["video"], "images and clips come from https addresses"),
        ("file:///etc/hosts", ["video"], "images and clips come from https addresses"),
        ("study.yaml", None, r"study\.yaml: this is no video"),
    ],
)
def test_clips_that_cannot_be_shown_are_refused_in_one_sentence(folder, name, takes, told):
    write_clip(folder.parent / "secret.mp4", frames=2)
    (folder / "link.mp4").symlink_to(folder.parent / "secret.mp4")
    study = clips(folder, name, takes=takes, media_hosts=["clips.org"])
    with pytest.raises(InputError, match=told) as refused:
        requests(study)
    assert "\n" not in str(refused.value)
    assert "key=secret" not in str(refused.value)


def test_the_address_of_a_clip_goes_to_judges_that_take_video(folder):
    address = "https://clips.org/a.mp4"
    study = clips(folder, address, takes=["video", "audio"], media_hosts=["clips.org"])
    (request,) = requests(study)
    assert parts_of(request.body)[1:] == [{"type": "video_url", "video_url": {"url": address}}]


def test_a_clip_that_is_too_large_to_be_sent_whole_is_refused(folder, monkeypatch):
    monkeypatch.setattr(media_parts, "LARGEST", 1000)
    assert len(requests(clips(folder, "loud.mp4"))) == 1
    with pytest.raises(InputError, match=r"no more than 1,000 are sent whole; .*takes: \[image\]"):
        requests(clips(folder, "loud.mp4", takes=["video"]))


def test_a_judge_without_eyes_is_not_shown_pictures(folder):
    Image.new("RGB", (4, 4)).save(folder / "a.png")
    study = clips(folder, "a.png", takes=[])
    table = (study / "items.csv").read_text(encoding="utf-8")
    (study / "items.csv").write_text(table.replace("video", "image"), encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.png: this judge does not take images \(takes: text alone\)"):
        requests(study)


def test_runs_that_began_before_there_were_clips_go_on(folder, server, tmp_path):
    study = clips(folder, "loud.mp4")
    collect(study, tmp_path / "run", base_url=server.url)
    with Ledger.open(tmp_path / "run" / "ledger.sqlite", write=False) as ledger:
        inputs = ledger.get("inputs")
    assert "video" not in inputs["collect"]
    assert "takes" not in inputs["judges"]["judge"]
    change_study(study, lambda content: content["collect"].update(video={"most_frames": 3}))
    with pytest.raises(InputError, match=r"there changed collect\.video"):
        collect(study, tmp_path / "run", base_url=server.url)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"ask": {"model": "m", "takes": ["image", "image"]}}, r":\d+: judge: 'image' is given twice"),
        (
            {"ask": {"model": "m", "takes": ["audio"]}},
            "the sound of a clip goes with its pictures; add 'image'",
        ),
        ({"ask": {"model": "m", "takes": ["smell"]}}, "takes"),
        ({"prompts": ["plane"]}, "judge: 'plane' is unknown here; did you mean 'plain'"),
        ({"prompts": []}, "prompts"),
    ],
)
def test_what_a_judge_takes_and_is_asked_under_is_checked(folder, change, told):
    study = clips(folder, "loud.mp4")
    change_study(study, lambda content: content["judges"][0].update(change))
    with pytest.raises(InputError, match=told):
        load_any_study(study)


@pytest.mark.parametrize(
    "video",
    [{"frames_per_second": 0}, {"most_frames": 0}, {"longest_side": 8}, {"audio": "always"}, {"rate": 10}],
)
def test_how_clips_are_cut_is_checked(folder, video):
    with pytest.raises(InputError, match=rf"study\.yaml:\d+: .*{next(iter(video))}"):
        load_any_study(clips(folder, "loud.mp4", video=video))


def test_a_judge_is_asked_under_its_own_prompts_unless_others_are_named(folder, server, tmp_path):
    study = clips(folder, "loud.mp4")
    change_study(
        study,
        lambda content: (
            content["prompts"].append({"id": "strict", "label": "Strict", "template": "strict.j2"}),
            content["judges"][0].update(prompts=["strict"]),
        ),
    )
    collect(study, tmp_path / "run", base_url=server.url)
    assert table(tmp_path / "run", "judgments")["prompt_id"].unique().tolist() == ["strict"]
    collect(study, tmp_path / "run", prompts=["plain"], base_url=server.url)
    assert set(table(tmp_path / "run", "judgments")["prompt_id"]) == {"strict", "plain"}


def test_a_run_of_clips_goes_on_where_it_stopped_and_is_whole(folder, server, tmp_path):
    write_clip(folder / "silent.webm", frames=5)
    study = clips(folder, "loud.mp4", "silent.webm", takes=["image", "audio"])
    collect(study, tmp_path / "run", base_url=server.url, pairs=1)
    first = table(tmp_path / "run", "responses")["request_key"].tolist()
    assert len(first) == 1
    server.configure(keep=True)
    collect(study, tmp_path / "run", base_url=server.url)
    assert len(server.bodies()) == 1
    found = table(tmp_path / "run", "responses")
    assert len(found) == 2
    assert first[0] in found["request_key"].tolist()
    assert find_problems(tmp_path / "run" / "ledger.sqlite") == []
