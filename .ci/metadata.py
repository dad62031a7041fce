"""Writes what pyproject.toml and CITATION.cff state into every other file that states it.

The version, the licence and the address (`[tool.conjury] repository`) are those of pyproject.toml; title,
abstract, keywords and authors those of CITATION.cff. Run it from the root of a checkout after a change to
either. Without an address, pages show a placeholder and nothing links to it. `--release v0.2.0` changes
nothing: it says what a release by that tag still lacks.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

HOST, PLACEHOLDER = "https://github.com/", "OWNER/conjury"
PAGES = ("docs/howto/analysing/github-actions.md", "docs/howto/analysing/r.md", "docs/start/install.md")
STATED = {  # files that state the version alone, and what stands before it
    "quarto/_extensions/conjury/_extension.yml": "^version: ",
    "docs/examples/cluster/rayjob.yaml": "image: conjury:",
}
MADE = ("codemeta.json", ".zenodo.json")
FILES = ("pyproject.toml", "CITATION.cff", "R/DESCRIPTION", "uv.lock", "CHANGELOG.md", "docs/project/cite.md")
FILES = (*FILES, *PAGES, *STATED, *MADE)
EXAMPLE_MAIL = "conjury@example.org"


def read_all(root: Path) -> dict[str, str]:
    """Text of each file, by its path; those that are written whole may be absent."""
    return {
        name: (root / name).read_text(encoding="utf-8")
        for name in FILES
        if name not in MADE or (root / name).exists()
    }


def repository_of(texts: Mapping[str, str]) -> str:
    """Owner and name of the repository that pyproject.toml states, "" without one."""
    address = tomllib.loads(texts["pyproject.toml"])["tool"]["conjury"]["repository"]
    if address and not re.fullmatch(rf"{HOST}[\w.-]+/[\w.-]+", address):
        raise SystemExit(
            f"pyproject.toml, [tool.conjury] repository: {address!r} is no address such as {HOST}OWNER/NAME."
        )
    return str(address).removeprefix(HOST)


def filled(texts: Mapping[str, str]) -> dict[str, str]:
    """The same files as they should be."""
    project = tomllib.loads(texts["pyproject.toml"])["project"]
    version = project["version"]
    repository = repository_of(texts)
    address = HOST + repository if repository else ""
    before = json.loads(texts.get("codemeta.json", "{}")).get("codeRepository", "").removeprefix(HOST)
    released = re.search(rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)$", texts["CHANGELOG.md"], re.M)
    date = released[1] if released else ""
    after = dict(texts)

    urls = {"Source": "", "Issues": "/issues", "Changelog": "/blob/main/CHANGELOG.md"}
    lines = "".join(f'{name} = "{address}{path}"\n' for name, path in urls.items())
    text = re.sub(r"\[project\.urls\]\n(?:.+\n)*\n", "", texts["pyproject.toml"])
    block = f"[project.urls]\n{lines}\n" if address else ""
    after["pyproject.toml"] = text.replace(
        "[project.optional-dependencies]", f"{block}[project.optional-dependencies]", 1
    )

    after["uv.lock"] = re.sub(
        r'(?<=\nname = "conjury"\nversion = ")[^"]+', version, texts["uv.lock"], count=1
    )

    text = re.sub(r"^(?:repository-code|date-released): .*\n", "", texts["CITATION.cff"], flags=re.M)
    stated = f"version: {version}\n" + (f"date-released: {date}\n" if date else "")
    stated += f'repository-code: "{address}"\n' if address else ""
    after["CITATION.cff"] = re.sub(r"^version: .*\n", stated, text, flags=re.M)

    text = re.sub(r"^(?:URL|BugReports): .*\n", "", texts["R/DESCRIPTION"], flags=re.M)
    text = re.sub(r"^Version: .*", f"Version: {version}", text, flags=re.M)
    links = f"URL: {address}\nBugReports: {address}/issues\n" if address else ""
    after["R/DESCRIPTION"] = re.sub(r"^License: .*\n", lambda line: line[0] + links, text, flags=re.M)

    text = re.sub(r"(?<=version = \{)[^}]+", version, texts["docs/project/cite.md"])
    after["docs/project/cite.md"] = re.sub(r"(?<=year = \{)\d+", date[:4], text) if date else text

    for name, before_it in STATED.items():
        pattern = rf"({before_it})\d+\.\d+\.\d+"
        after[name] = re.sub(pattern, lambda stated: stated[1] + version, texts[name], flags=re.M)

    for page in PAGES:
        old, new = before or PLACEHOLDER, repository or PLACEHOLDER
        after[page] = texts[page].replace(PLACEHOLDER, old).replace(old, new)

    cited = yaml.safe_load(after["CITATION.cff"])
    after["codemeta.json"] = in_json(codemeta(project, cited, address, date))
    after[".zenodo.json"] = in_json(zenodo(project, cited))
    return after


def codemeta(project: Mapping[str, Any], cited: Mapping[str, Any], address: str, date: str) -> dict[str, Any]:
    """Metadata in the vocabulary of CodeMeta 3.0."""
    described = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": project["name"],
        "description": project["description"],
        "version": project["version"],
        "license": f"https://spdx.org/licenses/{project['license']}",
        "author": [named_author(author) for author in cited["authors"]],
        "keywords": cited["keywords"],
        "programmingLanguage": ["Python", "R"],
        "runtimePlatform": f"Python {project['requires-python']}",
        "developmentStatus": "active",
    }
    if date:
        described["datePublished"] = date
    if address:
        described |= {"codeRepository": address, "issueTracker": f"{address}/issues"}
    return described


def named_author(author: Mapping[str, str]) -> dict[str, str]:
    """A person or a group of CITATION.cff in the vocabulary of CodeMeta."""
    if "name" in author:
        return {"@type": "Organization", "name": author["name"]}
    names = {"givenName": author["given-names"], "familyName": author["family-names"]}
    return {"@type": "Person", **({"@id": author["orcid"]} if "orcid" in author else {}), **names}


def zenodo(project: Mapping[str, Any], cited: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata of the archive that Zenodo makes of a release."""
    creators = []
    for author in cited["authors"]:
        name = author.get("name") or f"{author['family-names']}, {author['given-names']}"
        orcid = author.get("orcid", "").removeprefix("https://orcid.org/")
        creators.append({"name": name, **({"orcid": orcid} if orcid else {})})
    return {
        "upload_type": "software",
        "title": cited["title"],
        "description": " ".join(cited["abstract"].split()),
        "creators": creators,
        "version": project["version"],
        "license": project["license"],
        "access_right": "open",
        "keywords": cited["keywords"],
    }


def in_json(value: Mapping[str, Any]) -> str:
    """A JSON file that people read."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def lacks(texts: Mapping[str, str], tag: str) -> Iterator[str]:
    """What a release by a tag lacks, in one sentence each."""
    version = tomllib.loads(texts["pyproject.toml"])["project"]["version"]
    if tag != f"v{version}":
        yield f"The tag is {tag}, and the version in pyproject.toml {version}."
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", texts["CHANGELOG.md"], re.M):
        yield f"CHANGELOG.md has no heading '## {version} (YYYY-MM-DD)'."
    if not repository_of(texts):
        yield "pyproject.toml has no address under [tool.conjury] repository."
    if EXAMPLE_MAIL in texts["R/DESCRIPTION"]:
        yield f"R/DESCRIPTION has the address {EXAMPLE_MAIL} in place of a maintainer's."
    for name, text in filled(texts).items():
        if text != texts.get(name):
            yield f"{name} states something else; run .ci/metadata.py."


def main() -> int:
    """Write the files, or say what a release lacks; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", metavar="TAG", help="say what a release by this tag lacks")
    options = parser.parse_args()
    root = Path()
    texts = read_all(root)
    if options.release:
        sentences = list(lacks(texts, options.release))
        print(*sentences, sep="\n", end="\n" if sentences else "")
        return 1 if sentences else 0
    for name, text in filled(texts).items():
        if text != texts.get(name):
            (root / name).write_text(text, encoding="utf-8")
            print(f"{name} is written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
