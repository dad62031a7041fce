from __future__ import annotations

import base64
import hashlib
import io
import os
from pathlib import Path
from typing import Any

import pytest
from fakes.studies import LABELS, items, write_study
from PIL import Image

from conjury.inference.collecting.runs import RunFolder
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Request
from conjury.inference.requests import media
from conjury.inference.requests.building import Builder
from conjury.inference.requests.media import check_address, read_medium, resolve
from conjury.inference.requests.templates import Templates
from conjury.inference.study import load_any_study


def picture(colour: str = "red", kind: str = "PNG") -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(held, kind)
    return held.getvalue()


def test_a_hash_covers_what_a_template_includes_and_how_it_is_called(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.j2").write_text('{% include "deep/b.j2" %}')
    (tmp_path / "deep" / "b.j2").write_text('{% include "c.j2" %}')
    (tmp_path / "deep" / "c.j2").write_text("one")
    before = Templates(tmp_path).sha256("a.j2")
    assert Templates(tmp_path).render("a.j2", {}) == "one"
    assert Templates(tmp_path).sha256("a.j2") == before
    (tmp_path / "deep" / "c.j2").write_text("two")
    assert Templates(tmp_path).sha256("a.j2") != before


def test_templates_that_include_each_other_still_have_a_hash(tmp_path):
    (tmp_path / "a.j2").write_text('{% if later %}{% include "b.j2" %}{% endif %}')
    (tmp_path / "b.j2").write_text('{% if later %}{% include "a.j2" %}{% endif %}')
    assert len(Templates(tmp_path).sha256("a.j2")) == 64


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ topic }}", r"a.j2: the template cannot be filled \('topic' is undefined\); it may use question"),
        ("{{ question.colour }}", r"a.j2: the template cannot be filled .*no attribute 'colour'"),
        ("{{ question.__class__.__mro__ }}", "a.j2: the template cannot be filled .*unsafe"),
        ("{{ ''.__class__ }}", "a.j2: the template cannot be filled .*unsafe"),
        ("{{ shown.update(x=1) }}", "a.j2: the template cannot be filled"),
        ("{{ question + 1 }}", "a.j2: the template cannot be filled"),
        ("{{ 1 / 0 }}", "a.j2: the template cannot be filled"),
        ("{% for n in range(10000000) %}{% endfor %}", "a.j2: the template cannot be filled"),
        ('{% include "a.j2" %}', "a.j2: the template cannot be filled"),
        ("\n{% if %}", r"a.j2:2: .*; correct the template\."),
        ('{% include "gone.j2" %}', r"gone.j2.*correct it\."),
        ('{% include "../secret.j2" %}', "secret.j2"),
        ("{% include question %}", "includes a file whose name is computed"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, text, told):
    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "secret.j2").write_text("secret")
    (folder / "a.j2").write_text(text)
    templates = Templates(folder)
    with pytest.raises(InputError, match=told) as refused:
        print(templates.sha256("a.j2"), templates.render("a.j2", {"question": "Why?", "shown": {"A": "x"}}))
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


def test_a_template_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "a.j2").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"a\.j2: the template cannot be used"):
        Templates(tmp_path).load("a.j2")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_images_are_named_by_their_bytes_and_sent_as_data_uris(tmp_path, kind):
    content = picture(kind=kind)
    (tmp_path / "picture.dat").write_bytes(content)
    found = read_medium("picture.dat", tmp_path)
    assert (found.sha256, found.mime) == (hashlib.sha256(content).hexdigest(), f"image/{kind.lower()}")
    part = {"type": "image_url", "image_url": {"url": f"media:{found.sha256}", "detail": "low"}}
    body = {
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [part]}],
    }
    sent = resolve(body, {found.sha256: (found.mime, found.content)}.__getitem__)
    uri = f"data:image/{kind.lower()};base64,{base64.b64encode(content).decode()}"
    assert sent["messages"][1]["content"] == [
        {"type": "image_url", "image_url": {"url": uri, "detail": "low"}}
    ]
    assert part["image_url"]["url"].startswith("media:")


def test_images_outside_the_folder_are_refused_by_whatever_path(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(picture())
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "out").symlink_to(tmp_path, target_is_directory=True)
    (folder / "inside.png").write_bytes(picture())
    (folder / "good.png").symlink_to(folder / "inside.png")
    names = ["../secret.png", str(tmp_path / "secret.png"), "link.png", "out/secret.png"]
    for name in [*names, str(folder / "inside.png")]:
        with pytest.raises(InputError, match="lies outside"):
            read_medium(name, folder)
    assert read_medium("good.png", folder).content == picture()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("gone.png", None, "cannot be read"),
        ("text.png", b"not an image", "no image that can be read"),
        ("cut.png", picture()[:20], "no image that can be read"),
        ("page.bmp", picture(kind="BMP"), "models do not take BMP"),
        (".", None, "cannot be read"),
        ("nul\0.png", None, "lies outside|cannot be read"),
    ],
)
def test_what_is_no_image_is_refused(tmp_path, name, content, told):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=told):
        read_medium(name, tmp_path)


def test_images_that_are_too_large_are_refused(tmp_path, monkeypatch):
    (tmp_path / "big.png").write_bytes(picture())
    monkeypatch.setattr(media, "PIXELS", 15)
    with pytest.raises(InputError, match="16 pixels, more than 15"):
        read_medium("big.png", tmp_path)
    os.truncate(tmp_path / "big.png", media.LARGEST + 1)
    with pytest.raises(InputError, match="20,000,001 bytes, more than 20,000,000"):
        read_medium("big.png", tmp_path)


@pytest.mark.parametrize(
    "address",
    [
        "http://images.org/a.png",
        "https://other.org/a.png",
        "https://images.org.evil.com/a.png",
        "https://user:password@images.org/a.png",
        "file:///etc/passwd",
        "data://images.org/a",
        "https://[images.org/a.png",
        "https://images.org@evil.com/a.png",
    ],
)
def test_addresses_beyond_the_allowed_hosts_are_refused(address):
    with pytest.raises(InputError, match="media_hosts"):
        check_address(address, ["images.org"])


def test_addresses_of_allowed_hosts_are_sent_as_they_are():
    address = "https://images.org/a.png?size=2"
    assert check_address(address, ["images.org"]) == address
    body = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": address}}]}]}
    assert resolve(body, {}.__getitem__) == body


def pictured(folder: Path, names: list[str], **collect: Any) -> Path:
    """Write a study of images."""
    content = items({"form": "label", "labels": LABELS})
    content["collect"] |= collect
    study = write_study(folder, content, names)
    rows = "".join(f"post_{n},image,{name}\n" for n, name in enumerate(names))
    (study / "items.csv").write_text(f"item_id,modality,media\n{rows}", encoding="utf-8")
    return study


def image_requests(study: Path, ledger: Ledger | None = None) -> list[Request]:
    known = load_any_study(study)
    ask = known.judges[0].ask
    folder = RunFolder(study.parent / "run")
    builder = Builder(known, "judge", ask, known.prompts, folder.media(known, ledger))
    return list(builder.requests(folder.content(known).subjects()))


def test_image_items_become_parts_stored_once_and_their_bytes_are_part_of_the_key(tmp_path):
    names = ["a.png", "b.png", "https://images.org/c.png"]
    study = pictured(tmp_path / "posts", names, media_hosts=["images.org"])
    for name in ("a.png", "b.png"):
        (study / name).write_bytes(picture())
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        made = {r.subject_id: r for r in image_requests(study, ledger)}
        name = hashlib.sha256(picture()).hexdigest()
        assert ledger.media(name) == ("image/png", picture())
    urls = {key: r.body["messages"][1]["content"][1]["image_url"]["url"] for key, r in made.items()}
    assert urls == {"post_0": f"media:{name}", "post_1": f"media:{name}", "post_2": names[2]}
    (study / "a.png").write_bytes(picture("blue"))
    again = {r.subject_id: r.key for r in image_requests(study)}
    assert {key for key in again if again[key] != made[key].key} == {"post_0"}


def test_items_without_their_image_are_refused(tmp_path):
    study = pictured(tmp_path / "posts", ["a.png", ""])
    with pytest.raises(InputError, match="column 'media' is missing or empty"):
        image_requests(study)


def test_items_outside_the_folder_are_refused(tmp_path):
    content = items({"form": "label", "labels": LABELS}) | {"items": "../items.csv"}
    study = write_study(tmp_path / "posts", content)
    (study / "items.csv").rename(tmp_path / "items.csv")
    with pytest.raises(InputError, match="lie outside the folder"):
        image_requests(study)
