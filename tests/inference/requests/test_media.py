"""Images and clips in requests: by hash in the ledger, as data or addresses on their way, or refused."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import wave
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from fakes.clips import number_in, write_clip
from fakes.studies import LABELS, change_study, collect, items, requests_of, table, write_media, write_study
from PIL import Image

from conjury.inference.backends.openai.openai_lines import LINES
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Request, resolve
from conjury.inference.ledger.verify import find_problems
from conjury.inference.requests import media
from conjury.inference.requests.media import check_address, read_medium
from conjury.inference.study import load_any_study

PYAV = pytest.mark.skipif(find_spec("av") is None, reason="needs PyAV (the extra media)")
FRAMES = [int(2.5 * n) for n in range(8)]  # of a clip of 0.8 s with 25 frames per second
ADDRESS = "https://images.org/a.png?size=2"


def picture(colour: str = "red", kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(file, kind)
    return file.getvalue()


def in_order(requests: list[Request]) -> list[Request]:
    return sorted(requests, key=lambda request: request.subject_id)


def parts_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    return list(body["messages"][-1]["content"])


def kinds_of(body: dict[str, Any]) -> list[str]:
    return [part["type"] for part in parts_of(body)]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_images_are_named_by_their_bytes_and_sent_as_data_uris(tmp_path, kind):
    content = picture(kind=kind)
    (tmp_path / "picture.dat").write_bytes(content)
    found = read_medium("picture.dat", tmp_path)
    assert (found.sha256, found.mime) == (hashlib.sha256(content).hexdigest(), f"image/{kind.lower()}")

    def messages(url: str) -> list[dict[str, Any]]:
        part = {"type": "image_url", "image_url": {"url": url, "detail": "low"}}
        return [{"role": "system", "content": "s"}, {"role": "user", "content": [part]}]

    body = {"model": "m", "messages": messages(f"media:{found.sha256}")}
    before = json.dumps(body)
    sent = resolve(body, {found.sha256: (found.mime, found.content)}.__getitem__)
    uri = f"data:image/{kind.lower()};base64,{base64.b64encode(content).decode()}"
    assert sent == {"model": "m", "messages": messages(uri)}
    assert json.dumps(body) == before
    assert check_address(ADDRESS, ["images.org"]) == ADDRESS
    assert resolve({"messages": messages(ADDRESS)}, {}.__getitem__) == {"messages": messages(ADDRESS)}


CONTENTS = {"text": b"not an image", "cut": picture()[:20], "bmp": picture(kind="BMP"), "png": picture()}


@pytest.mark.parametrize(("name", "content", "told"), cases(__file__, "refused_images"))
def test_what_is_no_image_or_outside_the_folder_by_whatever_path_is_refused(tmp_path, name, content, told):
    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(picture())
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "out").symlink_to(tmp_path, target_is_directory=True)
    name = name.replace("FOLDER", str(folder))
    if content is not None:
        (folder / name).write_bytes(CONTENTS[content])
    with pytest.raises(InputError, match=told):
        read_medium(name, folder)
    (folder / "real.png").write_bytes(picture())
    (folder / "good.png").symlink_to(folder / "real.png")
    assert read_medium("good.png", folder).content == picture()


def test_images_that_are_too_large_are_refused(tmp_path, monkeypatch):
    (tmp_path / "big.png").write_bytes(picture())
    monkeypatch.setattr(media, "PIXELS", 16)
    assert read_medium("big.png", tmp_path).content == picture()
    monkeypatch.setattr(media, "PIXELS", 15)
    with pytest.raises(InputError, match="16 pixels, more than 15"):
        read_medium("big.png", tmp_path)
    os.truncate(tmp_path / "big.png", media.LARGEST + 1)
    with pytest.raises(InputError, match="20,000,001 bytes, more than 20,000,000"):
        read_medium("big.png", tmp_path)


@pytest.mark.parametrize("address", cases(__file__, "refused_addresses"))
def test_addresses_beyond_the_allowed_hosts_are_refused(address):
    with pytest.raises(InputError, match="media_hosts"):
        check_address(address, ["images.org"])


def test_image_items_become_parts_stored_once_and_their_bytes_are_part_of_the_key(tmp_path):
    study = write_media(tmp_path / "posts", "image", "a.png", "b.png", ADDRESS, media_hosts=["images.org"])
    for name in ("a.png", "b.png"):
        (study / name).write_bytes(picture())
    name = hashlib.sha256(picture()).hexdigest()
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        made = in_order(requests_of(study, ledger))
        assert ledger.media(name) == ("image/png", picture())
    urls = [parts_of(request.body)[1]["image_url"]["url"] for request in made]
    assert urls == [f"media:{name}", f"media:{name}", ADDRESS]
    (study / "a.png").write_bytes(picture("blue"))
    changed = [one.key != other.key for one, other in zip(made, in_order(requests_of(study)), strict=True)]
    assert changed == [True, False, False]


def test_items_without_an_image_for_judges_of_text_or_outside_the_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="column 'media' is missing or empty"):
        requests_of(write_media(tmp_path / "posts", "image", "a.png", ""))
    study = write_media(tmp_path / "posts", "image", "a.png", takes=[])
    (study / "a.png").write_bytes(picture())
    with pytest.raises(InputError, match=r"a\.png: this judge does not take images \(takes: text alone\)"):
        requests_of(study)
    content = items({"form": "label", "labels": LABELS}) | {"items": "../items.csv"}
    (write_study(tmp_path / "posts", content) / "items.csv").rename(tmp_path / "items.csv")
    with pytest.raises(InputError, match="leads out of the folder of the study"):
        requests_of(tmp_path / "posts")


@pytest.fixture(scope="module")
def loud(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clips") / "loud.mp4", frames=20, sound=True).read_bytes()


@pytest.fixture
def clips(tmp_path, loud):
    """A function that writes a study of clips."""

    def write(*names: str, **how: Any) -> Path:
        study = write_media(tmp_path / "posts", "video", *(names or ["loud.mp4"]), **how)
        (study / "loud.mp4").write_bytes(loud)
        return study

    return write


def decoded(uri: str, mime: str) -> bytes:
    head, _, content = uri.partition(",")
    assert head == f"data:{mime};base64"
    return base64.b64decode(content)


@PYAV
@pytest.mark.parametrize("batch", [False, True])
def test_frames_arrive_in_order_with_the_sound_after_them(clips, server, tmp_path, batch):
    study = clips(takes=["image", "audio"], video={"longest_side": 48})
    if batch:
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            (request,) = requests_of(study, ledger)
            body = json.loads(LINES.write(request, ledger.media))["body"]
    else:
        server.configure(keep=True)
        collect(study, tmp_path / "run", base_url=server.url)
        (body,) = server.bodies()
    text, *frames, sound_text, sound = parts_of(body)
    assert text["text"] == "Video, 0.8 seconds long, shown as 8 frames, one every 0.10 seconds"
    assert sound_text["text"] == "Sound of the video"
    shown = [decoded(part["image_url"]["url"], "image/jpeg") for part in frames]
    assert [number_in(content) for content in shown] == FRAMES
    assert {Image.open(io.BytesIO(content)).size for content in shown} == {(48, 32)}
    assert (sound["type"], sound["input_audio"]["format"]) == ("input_audio", "wav")
    with wave.open(io.BytesIO(base64.b64decode(sound["input_audio"]["data"]))) as track:
        assert track.getnframes() / track.getframerate() == pytest.approx(0.8, abs=0.05)


@PYAV
def test_a_judge_that_takes_video_gets_the_file_or_the_address_as_it_is(clips, server, tmp_path):
    study = clips(takes=["video", "image"])
    server.configure(keep=True)
    collect(study, tmp_path / "run", base_url=server.url)
    words, clip = parts_of(server.bodies()[0])
    assert words["text"] == "Video"
    assert decoded(clip["video_url"]["url"], "video/mp4") == (study / "loud.mp4").read_bytes()
    assert table(tmp_path / "run", "judgments")["status"].tolist() == ["ok"]
    address = "https://clips.org/a.mp4"
    (request,) = requests_of(clips(address, takes=["video", "audio"], media_hosts=["clips.org"]))
    assert parts_of(request.body)[1:] == [{"type": "video_url", "video_url": {"url": address}}]


@PYAV
@pytest.mark.parametrize(("name", "takes", "video", "kinds"), cases(__file__, "ways"))
def test_a_clip_goes_as_the_judge_takes_it_and_by_hash(clips, tmp_path, name, takes, video, kinds):
    study = clips(name, takes=takes, **({"video": video} if video else {}))
    write_clip(study / "silent.webm", frames=5)
    assert kinds_of(requests_of(study)[0].body) == kinds
    assert not (tmp_path / "run").exists()  # without a ledger
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        (request,) = requests_of(study, ledger)
        bytes_of = [part[part["type"]] for part in parts_of(request.body) if part["type"] != "text"]
        for part in bytes_of:
            start, sha256 = (part.get("url") or part["data"]).split(":")
            assert (start, hashlib.sha256(ledger.media(sha256)[1]).hexdigest()) == ("media", sha256)
        sent = resolve(request.body, ledger.media)
    assert len(json.dumps(request.body)) < 3000
    assert "media:" not in json.dumps(sent)


@PYAV
def test_the_key_follows_the_clip_and_how_it_is_cut(clips):
    def key(**how: Any) -> str:
        return requests_of(clips(**how))[0].key

    plain = key()
    assert key(video={"frames_per_second": 10}) == plain
    other = [key(video={"longest_side": 48}), key(video={"most_frames": 4}), key(takes=["image", "audio"])]
    study = clips()
    write_clip(study / "loud.mp4", frames=21)
    assert len({plain, *other, requests_of(study)[0].key}) == 5


@PYAV
def test_a_clip_is_cut_once_for_all_judges_and_later_runs(clips, tmp_path, monkeypatch):
    study = clips("loud.mp4", "loud.mp4", takes=["image", "audio"])
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        first = requests_of(study, ledger)

    def refuse(*_: object) -> None:
        raise AssertionError("this clip was cut before")

    monkeypatch.setattr(media, "cut_frames", refuse)
    monkeypatch.setattr(media, "sound_track", refuse)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        assert [request.body for request in requests_of(study, ledger)] == [request.body for request in first]
    assert [request.key for request in requests_of(study)] == [request.key for request in first]


@PYAV
@pytest.mark.parametrize("loss", ["ledger", "half a file", "no object", "older form"])
def test_what_was_kept_of_a_clip_is_made_again_where_it_is_lost(clips, tmp_path, loss):
    study = clips(takes=["image", "audio"])
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        (first,) = requests_of(study, ledger)
    cuts = list((tmp_path / "run" / "cuts").glob("*.json"))
    assert cuts
    for path in cuts:
        kept = path.read_text(encoding="utf-8")
        lost = {"ledger": kept, "half a file": kept[: len(kept) // 2], "no object": "[]", "older form": "{}"}
        path.write_text(lost[loss], encoding="utf-8")
    name = "another.sqlite" if loss == "ledger" else "ledger.sqlite"
    with Ledger.open(tmp_path / name) as ledger:
        (again,) = requests_of(study, ledger)
        assert again.key == first.key
        assert len(json.dumps(resolve(again.body, ledger.media))) > 3000


@PYAV
@pytest.mark.parametrize(("name", "takes", "told"), cases(__file__, "refused_clips"))
def test_clips_that_cannot_be_shown_are_refused_in_one_sentence(clips, loud, tmp_path, name, takes, told):
    study = clips(name, takes=takes, media_hosts=["clips.org"])
    (tmp_path / "secret.mp4").write_bytes(loud)
    (study / "link.mp4").symlink_to(tmp_path / "secret.mp4")
    with pytest.raises(InputError, match=told) as refused:
        requests_of(study)
    assert "\n" not in str(refused.value)
    assert "key=secret" not in str(refused.value)


@PYAV
def test_a_clip_that_is_too_large_to_be_sent_whole_is_refused(clips, monkeypatch):
    monkeypatch.setattr(media, "LARGEST", 1000)
    assert len(requests_of(clips())) == 1
    with pytest.raises(InputError, match=r"no more than 1,000 are sent whole; .*takes: \[image\]"):
        requests_of(clips(takes=["video"]))


@PYAV
def test_runs_that_began_before_there_were_clips_go_on(clips, server, tmp_path):
    study, run = clips(), tmp_path / "run"
    collect(study, run, base_url=server.url)
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        inputs = ledger.get("inputs")
    assert "video" not in inputs["collect"]
    assert "takes" not in inputs["judges"]["judge"]
    change_study(study, lambda content: content["collect"].update(video={"most_frames": 3}))
    with pytest.raises(InputError, match=r"have changed since it began \(collect\.video"):
        collect(study, run, base_url=server.url)


@PYAV
@pytest.mark.parametrize(("change", "told"), cases(__file__, "wrong_settings"))
def test_what_a_judge_takes_is_asked_and_how_clips_are_cut_is_checked(clips, change, told):
    is_of_judge = {"ask", "prompts"} & set(change)
    study = clips(**({} if is_of_judge else {"video": change}))
    change_study(study, lambda content: content["judges"][0].update(change if is_of_judge else {}))
    with pytest.raises(InputError, match=told):
        load_any_study(study)


@pytest.mark.long
@PYAV
def test_a_run_of_clips_goes_on_where_it_stopped_under_the_prompts_of_the_judge_unless_others_are_named(
    clips, server, tmp_path
):
    def change(content: dict[str, Any]) -> None:
        content["prompts"].append({"id": "strict", "label": "Strict", "template": "strict.j2"})
        content["judges"][0].update(prompts=["strict"])

    study, run = clips("loud.mp4", "silent.webm", takes=["image", "audio"]), tmp_path / "run"
    write_clip(study / "silent.webm", frames=5)
    change_study(study, change)
    collect(study, run, base_url=server.url, pairs=1)
    (first,) = table(run, "responses")["request_key"]
    server.configure(keep=True)
    collect(study, run, base_url=server.url)
    assert len(server.bodies()) == 1
    found = table(run, "responses")
    assert len(found) == 2
    assert first in found["request_key"].tolist()
    assert set(found["prompt_id"]) == {"strict"}
    assert find_problems(run / "ledger.sqlite") == []
    collect(study, run, prompts=["plain"], base_url=server.url)
    assert set(table(run, "judgments")["prompt_id"]) == {"strict", "plain"}
