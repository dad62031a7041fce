"""Metadata of a run or results folder: Croissant for its tables, RO-Crate for all of its files."""

from __future__ import annotations

import json
import mimetypes
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from conjury.inference.errors import InputError
from conjury.inference.tables.files import file_hash

from .facts import MARK

CROISSANT, CRATE = "croissant.json", "ro-crate-metadata.json"
SKIPPED = (CROISSANT, CRATE, ".lock", "ledger.lock")
TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".sqlite": "application/vnd.sqlite3",
    ".nc": "application/netcdf",
}
CONFORMS = "http://mlcommons.org/croissant/1.0"
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


@dataclass(frozen=True)
class About:
    """What a folder is about."""

    # name, title, description: A name without spaces, a title, and what the folder contains.
    name: str
    title: str
    description: str
    created: str  # date and time in ISO 8601 at which the data were made; empty where no record has it
    # license, creator: What only the author knows; a marked field where it is not given.
    license: str = ""
    creator: str = ""
    # whether data are simulated
    simulated: bool = False


@dataclass(frozen=True)
class File:
    """A file of the folder: its path below it, size in bytes, SHA-256 and media type."""

    path: str
    size: int
    sha256: str
    media: str


def files_of(folder: str | Path) -> list[File]:
    """All files below a folder but hidden ones, locks and metadata, in order of their names."""
    root = Path(folder)
    files = []
    for path in sorted(root.rglob("*")) if root.is_dir() else ():
        name = path.relative_to(root).as_posix()
        if (
            path.is_file()
            and path.name not in SKIPPED
            and not any(part.startswith(".") for part in Path(name).parts)
        ):
            files.append(File(name, path.stat().st_size, file_hash(path), media_type(path)))
    if not files:
        raise InputError(f"{root} contains no files; name a folder of a run or of results.")
    return files


def media_type(path: Path) -> str:
    """The media type of a file by its ending."""
    return TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"


def croissant(about: About, files: Iterable[File], folder: Path) -> dict[str, Any]:
    """Croissant 1.0 of a folder: each Parquet table is a record set with its fields."""
    # Reference: Akhtar et al. (2024). Croissant: a metadata format for ML-ready datasets. DEEM.
    # doi:10.1145/3650203.3663326
    tables = [file for file in files if file.path.endswith(".parquet")]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": about.name,
        "description": _description(about),
        **({"dateCreated": about.created[:10]} if about.created else {}),
        "license": about.license or MARK,
        "creator": {"@type": "sc:Person", "name": about.creator or MARK},
        "url": MARK,
        "version": "1.0.0",
        "citeAs": f"{about.creator or MARK}: {about.title} ({about.created[:4] or MARK}).",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file.path,
                "name": file.path,
                "contentUrl": file.path,
                "contentSize": f"{file.size} B",
                "encodingFormat": "application/x-parquet",
                "sha256": file.sha256,
            }
            for file in tables
        ],
        "recordSet": [_record_set(file, pq.read_schema(folder / file.path)) for file in tables],
    }


def _record_set(file: File, schema: pa.Schema) -> dict[str, Any]:
    name = re.sub(r"\W+", "_", file.path.removesuffix(".parquet"))
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column.name}",
                "name": column.name,
                "dataType": _data_type(column.type),
                "source": {"fileObject": {"@id": file.path}, "extract": {"column": column.name}},
            }
            for column in schema
            if not column.name.startswith("__index")
        ],
    }


def _data_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "sc:Float"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "sc:Date"
    return "sc:Text"


def _description(about: About) -> str:
    return f"{about.description}{' The data are simulated.' if about.simulated else ''}"


def ro_crate(about: About, files: Iterable[File], command: str = "", software: str = "") -> dict[str, Any]:
    """RO-Crate 1.1 of a folder: every file with size and hash, and the command that wrote them."""
    # Reference: Soiland-Reyes et al. (2022). Packaging research artefacts with RO-Crate. Data Science 5(2),
    # 97-138. doi:10.3233/DS-210053
    listed = list(files)
    creator = {"@id": "#author", "@type": "Person", "name": about.creator or MARK}
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": about.title,
        "description": _description(about),
        **({"dateCreated": about.created} if about.created else {}),
        "datePublished": MARK,
        "license": about.license or MARK,
        "author": {"@id": creator["@id"]},
        "hasPart": [{"@id": file.path} for file in listed],
    }
    graph: list[Mapping[str, Any]] = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        },
        root,
        creator,
        *(
            {
                "@id": file.path,
                "@type": "File",
                "name": file.path,
                "encodingFormat": file.media,
                "contentSize": str(file.size),
                "sha256": file.sha256,
            }
            for file in listed
        ),
    ]
    if software:
        graph.append(
            {
                "@id": "#conjury",
                "@type": "SoftwareApplication",
                "name": "conjury",
                "softwareVersion": software,
            }
        )
    if command:
        action = {
            "@id": "#run",
            "@type": "CreateAction",
            "name": command,
            **({"endTime": about.created} if about.created else {}),
            "result": [{"@id": "./"}],
            **({"instrument": {"@id": "#conjury"}} if software else {}),
        }
        graph.append(action)
        root["mentions"] = {"@id": "#run"}
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


def as_json(content: Mapping[str, Any]) -> bytes:
    """JSON as a file contains it."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
