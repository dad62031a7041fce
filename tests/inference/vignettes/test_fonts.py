"""Fonts: which family has a character, what is missing and how it is named, emoji fonts."""

from __future__ import annotations

import hashlib
import importlib
import shutil
import sys

import pytest
import yaml
from cases import cases
from fontTools.ttLib import TTFont

from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.vignettes import Fonts
from conjury.inference.vignettes import fonts as module
from conjury.inference.vignettes.fonts import EMOJI, FONTS, EmojiFont, find_emoji


def name_of(fonts: Fonts, cluster: str) -> str:
    return fonts.families[fonts.family_of(cluster)].name


def without(fonts: Fonts, **changed: object) -> Fonts:
    kept = {"families": fonts.families, "emoji": fonts.emoji, "shaping": True, "shaped": ("Arabic", "Hebrew")}
    return Fonts(**{**kept, **changed})  # type: ignore[arg-type]


def test_a_cluster_goes_to_the_first_family_that_has_it(fonts):
    families = dict.fromkeys(("a", "ж", "Ω", "ế", "ő", "ő"), "Inter")  # the last is decomposed
    families |= {"س": "Noto Sans Arabic", "ש": "Heebo", "क्षि": "Noto Sans Devanagari"}
    assert {cluster: name_of(fonts, cluster) for cluster in families} == families
    assert not fonts.covers(0, "\u030b")
    assert fonts.family_of("\N{PILE OF POO}\ufe0e") == EMOJI  # which has no letter form
    pytest.importorskip("noto_cjk_sans_jp_regular")
    assert {name_of(fonts, each) for each in "日本語ひらカタ한"} == {"Noto Sans CJK JP"}


def test_latin_text_opens_no_other_fonts_table(fonts, monkeypatch):
    opened: list[str] = []
    read = module.read_font_tables
    monkeypatch.setattr(module, "read_font_tables", lambda path: opened.append(path.name) or read(path))
    fresh = without(fonts)
    for letter in "Naïve 2024!":
        fresh.family_of(letter)
    assert opened == ["Inter[opsz,wght].ttf"]


def test_a_face_is_loaded_once_and_weights_differ(fonts):
    assert fonts.face(0, 30, 400) is fonts.face(0, 30, 400)
    for number in range(len(fonts.families)):
        cluster = next(
            each for each in "aسשक日" if fonts.covers(number, each) and (each != "a" or not number)
        )
        regular, bold = (fonts.face(number, 60, weight).getmask(cluster) for weight in (400, 700))
        assert sum(bytes(bold)) > 1.1 * sum(bytes(regular)), fonts.families[number].name


def test_axes_are_listed_in_the_order_of_the_files_and_small_letters_are_wider(fonts):
    listed = {entry["name"]: entry.get("axes", {}) for entry in yaml.safe_load(FONTS.read_text())["families"]}
    for family in fonts.families:
        with TTFont(family.regular, lazy=True) as font:
            axes = [axis.axisTag for axis in font["fvar"].axes] if "fvar" in font else []
        assert list(listed[family.name]) == axes, family.name
    small, large = (fonts.face(0, size, 400).getlength("handgloves") / size for size in (28, 64))
    assert small > 1.02 * large


@pytest.mark.parametrize(("cluster", "named"), cases(__file__, "characters"))
def test_a_character_in_no_font_is_named(fonts, cluster, named):
    with pytest.raises(InputError, match=r"remove (it|them)") as caught:
        fonts.family_of(cluster)
    assert named in str(caught.value)


def test_missing_fonts_are_named_with_the_extra(fonts, monkeypatch):
    find = module.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if "cjk" in name else find(name))
    poorer = Fonts.find()
    assert poorer.family_of("a") == 0
    with pytest.raises(InputError, match=r"U\+65E5 .* Noto Sans CJK JP.*pip install 'conjury\[cjk\]'"):
        poorer.family_of("日")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"fontpkg-inter.*pip install 'conjury\[pictures\]'"):
        Fonts.find()


def test_emoji_without_a_font_or_that_it_lacks_are_named(fonts):
    with pytest.raises(InputError, match=r"U\+1F600 \(GRINNING FACE\).*fonts-noto-color-emoji"):
        without(fonts, emoji=None).emoji_font("😀")
    older = EmojiFont(fonts.emoji.path)
    older._characters -= {0x1FAF9}
    with pytest.raises(InputError, match=r"lacks the emoji U\+1FAF9"):
        without(fonts, emoji=older).emoji_font("\U0001faf9")


def test_an_emoji_font_is_found_below_a_folder_and_a_file_can_be_named(fonts, tmp_path):
    below = tmp_path / "truetype" / "noto" / "Some Emoji.ttf"
    below.parent.mkdir(parents=True)
    shutil.copy(fonts.emoji.path, below)
    found = find_emoji(["Some Emoji.ttf"], ["/no/such/folder", str(tmp_path)], None)
    assert found.path == below
    assert find_emoji(["Other.ttf"], [str(tmp_path)], None) is None
    named = Fonts.find(below).emoji
    assert named.path == below


def test_a_font_that_cannot_be_drawn_is_passed_over_unless_named(fonts, tmp_path):
    broken = tmp_path / "Broken.ttf"
    broken.write_text("no font")
    assert find_emoji(["Broken.ttf"], [str(tmp_path)], None) is None
    for path in (broken, tmp_path / "absent.ttf"):
        with pytest.raises(InputError, match="not a font with emoji"):
            Fonts.find(path)
    with pytest.raises(InputError, match="no colour emoji that can be drawn"):
        Fonts.find(fonts.families[0].regular)


def test_emoji_are_as_large_beside_any_text(fonts):
    for size in (12, 35, 70):
        image, left, top, advance = fonts.emoji.draw("😀", size)
        assert image.mode == "RGBA"
        assert image.height == pytest.approx(1.17 * size, abs=1)
        assert -top == pytest.approx(0.93 * size, abs=1)
        assert left + image.width == pytest.approx(advance, abs=1.5)


@pytest.mark.parametrize(("package", "module"), [("regex", "characters"), ("fontTools", "fonts")])
def test_missing_packages_of_the_extra_are_named(monkeypatch, package, module):
    name = f"conjury.inference.vignettes.{module}"
    for loaded in [each for each in sys.modules if each == name or each.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependency, match=r"Drawing pictures needs .* 'conjury\[pictures\]'"):
        importlib.import_module(name)


def test_hashes_are_those_of_the_files(fonts):
    inter = fonts.families[0].regular
    assert fonts.sha256[inter.name] == hashlib.sha256(inter.read_bytes()).hexdigest()
    assert fonts.emoji.path.name in fonts.sha256
    assert len(fonts.sha256) >= len(fonts.families) + 1
