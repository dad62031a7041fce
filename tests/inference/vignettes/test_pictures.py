"""Pictures of profiles: which one under which prompt, and what providers refuse and scale down."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from fakes.studies import towns, write_study
from PIL import Image

from conjury.inference.collecting.run_folder import RunFolder, merged_facts, run_facts
from conjury.inference.design.run_design import save_design
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Request
from conjury.inference.requests.building import Builder
from conjury.inference.study import Study, load_study
from conjury.inference.tables import write_table
from conjury.inference.vignettes import Pictures, encode, find_pictures, provider_notes
from conjury.inference.vignettes.pictures import LIMITS

HOST = "pictures.example.org"


@pytest.fixture
def known(tmp_path):
    """A study with a prompt whose pictures show no faces."""
    content = towns()
    content["prompts"][1] |= {"stimuli": "images", "cues": "name"}
    content["collect"]["media_hosts"] = [HOST]
    return load_study(write_study(tmp_path / "towns", content))


@pytest.fixture
def run(tmp_path):
    return RunFolder(tmp_path / "run")


@pytest.fixture
def root(tmp_path):
    return tmp_path / "stimuli"


def draw(known: Study, root: Path, cues: str, profile_ids: pd.Series[int], shade: int = 0) -> None:
    """Draw pictures that differ by profile and cues, as `conjury render` would store them."""
    rows: list[dict[str, Any]] = []
    for number in profile_ids:
        colour = (int(number) % 256, len(cues) * 20, shade)
        content = encode(Image.new("RGB", (30, 20), colour), "png")
        name = hashlib.sha256(content).hexdigest()
        file = root / "pictures" / name[:2] / f"{name}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        url = f"https://{HOST}/{name}.png" if cues == "both" else None
        rows.append({"profile_id": number, "file": str(file.relative_to(root)), "sha256": name, "url": url})
    folder = root / known.name / cues
    write_table(pd.DataFrame(rows).astype({"url": "string"}), folder / "profiles.parquet")
    (folder / "job.json").write_text(json.dumps({"shade": shade}), encoding="utf-8")


def requests(known: Study, run: RunFolder, pictures: Pictures, ledger: Ledger | None) -> list[Request]:
    ask = known.judges[1].ask
    builder = Builder(known, "judge", ask, known.prompts, run.media(known, ledger, pictures))
    return list(builder.requests(run.content(known, images=True, pictures=pictures).subjects()))


def addresses(request: Request) -> list[str]:
    parts = request.body["messages"][-1]["content"]
    assert [part["text"] for part in parts if part["type"] == "text"] == ["Image A", "Image B"]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def test_a_prompt_shows_the_pictures_with_its_cues_or_their_addresses(known, run, root):
    design = run.draw(known, 10, 0.2, 1)
    for cues in ("both", "name"):
        draw(known, root, cues, design.posts["profile_id"])
    pictures = find_pictures(known, design, known.prompts, root)
    with Ledger.open(run.ledger) as ledger:
        made = requests(known, run, pictures, ledger)
        assert len(made) == 24
        for request in made:
            cues = {"plain": "both", "strict": "name"}[request.prompt_id]
            drawn = pd.read_parquet(root / known.name / cues / "profiles.parquet").set_index("profile_id")
            ids = [request.arrangement[side] for side in ("A", "B")]
            assert addresses(request) == [f"media:{drawn['sha256'][number]}" for number in ids]
            mime, content = ledger.media(drawn["sha256"][ids[0]])
            assert (mime, content) == ("image/png", (root / drawn["file"][ids[0]]).read_bytes())
    known = known.model_copy(update={"prompts": known.prompts[:1]})
    pictures = find_pictures(known, design, known.prompts, root, links=True)
    for request in requests(known, run, pictures, None):
        assert all(address.startswith(f"https://{HOST}/") for address in addresses(request))
    assert run.content(known, images=True, pictures=pictures).facts["stimuli"] == "links"


def test_pictures_of_the_first_pairs_are_enough_for_these(known, run, root):
    design = run.draw(known, 10, 0.0, 1)
    first = design.first_pairs(3)["profile_id"].drop_duplicates()
    draw(known, root, "both", first)
    prompts = known.prompts[:1]
    pictures = find_pictures(known, design, prompts, root, pairs=3)
    assert len(list(run.content(known, 3, images=True, pictures=pictures).subjects())) == 3
    missing = len(design.posts) - len(first)
    with pytest.raises(InputError, match=rf"{missing} of {len(design.posts)} profiles .* --cues both --out"):
        find_pictures(known, design, prompts, root)


@pytest.mark.parametrize("links", [False, True])
def test_a_design_without_pictures_is_refused_with_the_command_that_draws_them(known, run, root, links):
    design = run.draw(known, 10, 0.0, 1)
    if links:
        draw(known, root, "both", design.posts["profile_id"])
        draw(known, root, "name", design.posts["profile_id"])
    command = rf"`conjury render {known.folder}/study\.yaml --run {run.path} --cues (both|name) --out {root}"
    with pytest.raises(InputError, match=command):
        find_pictures(known, design, known.prompts, root, links=links, run=run.path)
    own = replace(design, posts=design.posts.assign(media="a.png"))
    save_design(own, run.path / "design")
    assert find_pictures(known, own, known.prompts[:1], root).drawn == {}
    with pytest.raises(InputError, match="Prompt strict shows the cues 'name'"):
        find_pictures(known, own, known.prompts, root)


def test_a_run_goes_on_with_the_pictures_it_began_with(known, run, root):
    design = run.draw(known, 10, 0.0, 1)
    ask = known.judges[1].ask

    def facts(prompts: int, shade: int) -> dict[str, Any]:
        chosen = known.prompts[:prompts]
        for prompt in chosen:
            draw(known, root, prompt.cues, design.posts["profile_id"], shade)
        pictures = find_pictures(known, design, chosen, root)
        content = run.content(known, images=True, pictures=pictures)
        return run_facts(known, "judge", ask, chosen, content.facts, pictures.drawn)

    both = merged_facts(facts(1, shade=0), facts(2, shade=0), run.path)
    assert set(both["prompts"]) == {"plain", "strict"}
    with pytest.raises(InputError, match=r"prompts\.plain\.pictures"):
        merged_facts(both, facts(1, shade=1), run.path)
    text = run.content(known)
    with pytest.raises(InputError, match="stimuli"):
        merged_facts(both, run_facts(known, "judge", ask, known.prompts[:1], text.facts), run.path)


@pytest.mark.parametrize(("provider", "largest", "beyond"), cases(__file__, "bounds"))
def test_providers_refuse_and_scale_down_what_is_beyond_their_bounds(provider, largest, beyond):
    limit = next(one for one in LIMITS if one.provider.startswith(provider))
    columns = [np.array(values) for values in zip(largest, *beyond, strict=True)]
    found = limit.refuses(*columns) if len(largest) == 3 else limit.scales(*columns)
    assert found.tolist() == [False, *[True] * len(beyond)]


def test_usual_posts_are_accepted_by_all_and_each_provider_has_one_sentence():
    heights = np.array([620, 880])
    (sentence,) = provider_notes(np.full(2, 1050), heights, np.array([50_000, 60_000]))
    assert sentence.startswith("OpenAI (GPT-4o, GPT-4.1, o models; detail high) scales down 1 of 2 pictures")
    assert not list(provider_notes(np.array([1050]), heights[:1], np.array([50_000])))
    sentences = list(provider_notes(np.array([9000]), np.array([9000]), np.array([19_000_000])))
    assert len(sentences) == len(LIMITS)
    assert "refuses 1 of 1 pictures, those with more than 7.5 MB or a side of more than 8,000" in sentences[2]
    assert all(one.source.startswith("https://") for one in LIMITS)
