"""Pictures in storage: copied once, by content, their addresses noted; secrets are told nowhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import fsspec
import pytest
from cases import cases
from fakes.vignettes import rows

from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.vignettes import JobFolder, read_manifest, upload
from conjury.inference.vignettes.jobs.picture_manifest import merge_parts, write_part
from conjury.inference.vignettes.jobs.uploading import Storage, check_address, open_storage

ADDRESS = "https://pictures.example.org/audit"
SECRET = "quince-SENTINEL-0123456789"
TARGET = "memory://bucket/audit"


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    """Manifest and pictures of 60 profiles."""
    made = JobFolder(tmp_path / "stimuli", "towns", "both")
    write_part(made, rows(made, list(range(60))))
    merge_parts(made)
    return made


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    """Storage in memory, empty before and after."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


def send(folder: JobFolder, target: str = TARGET) -> tuple[int, int]:
    return upload(folder, open_storage(target), ADDRESS, lambda done, total: None)


def manifest(folder: JobFolder) -> Any:
    return read_manifest(folder.root, "towns", "both")


@pytest.mark.parametrize("target", [TARGET, "file://{tmp_path}/copies/audit", "file://{tmp_path}/copies/"])
@pytest.mark.usefixtures("memory")
def test_each_picture_lies_below_the_target_and_the_manifest_has_its_address(folder, tmp_path, target):
    target = target.format(tmp_path=tmp_path)
    assert send(folder, target) == (60, 60)
    storage = open_storage(target)
    assert len(storage.sizes()) == 60
    for row in manifest(folder).itertuples():
        name = f"{row.sha256[:2]}/{row.sha256}.png"
        assert row.url == f"{ADDRESS}/{name}"
        content = storage.files.cat_file(f"{storage.folder.rstrip('/')}/{name}")
        assert content == (folder.root / row.file).read_bytes()


def test_only_what_is_missing_or_cut_off_is_copied(folder, memory):
    send(folder)
    assert send(folder) == (0, 60)
    first, second, *_ = memory.find("/bucket/audit")
    memory.rm_file(first)
    memory.pipe_file(second, b"")
    memory.pipe_file("/bucket/audit/notes.txt", b"not a picture")
    watched: list[tuple[int, int]] = []
    storage = open_storage(TARGET)
    assert upload(folder, storage, ADDRESS, lambda *seen: watched.append(seen)) == (2, 60)
    assert watched == [(58, 60), (59, 60), (60, 60)]
    sizes = {size for name, size in storage.sizes().items() if name != "notes.txt"}
    assert sizes == set(manifest(folder)["bytes"])
    write_part(folder, rows(folder, [60, 61]))
    merge_parts(folder)
    assert manifest(folder)["url"].isna().sum() == 2
    assert send(folder) == (2, 62)
    assert manifest(folder)["url"].notna().all()


@pytest.mark.usefixtures("memory")
def test_an_upload_that_fails_can_be_taken_up_and_tells_no_secret(folder, monkeypatch):
    put, copied = Storage.put, list[str]()

    def failing(self: Storage, path: Path, name: str) -> None:
        if len(copied) >= 20:
            raise PermissionError(f"the key {SECRET} is not allowed")
        put(self, path, name)
        copied.append(name)

    with monkeypatch.context() as patch:
        patch.setattr(Storage, "put", failing)
        with pytest.raises(InputError) as refused:
            send(folder)
    assert str(refused.value).startswith(f"{TARGET}: the storage cannot be used (PermissionError); check ")
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None
    assert manifest(folder)["url"].isna().all()
    held = len(open_storage(TARGET).sizes())
    assert 20 <= held < 60
    assert send(folder) == (60 - held, 60)
    fsspec.filesystem("memory").store.clear()
    gone = folder.root / manifest(folder)["file"][7]
    gone.unlink()
    with pytest.raises(InputError, match=rf"{gone.name}: the picture is gone; draw it again"):
        send(folder)


@pytest.mark.parametrize(("target", "told"), cases(__file__, "targets"))
def test_targets_that_cannot_be_used_are_refused(target, told, monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    error = MissingDependency if target.startswith("gs") else InputError
    with pytest.raises(error, match=told) as refused:
        open_storage(target)
    assert SECRET not in str(refused.value)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingDependency, match="Uploading pictures needs fsspec"):
        open_storage(TARGET)


@pytest.mark.parametrize("address", cases(__file__, "addresses"))
def test_addresses_from_which_judges_cannot_fetch_are_refused(address):
    with pytest.raises(InputError, match="judges fetch pictures from an https address") as refused:
        check_address(address)
    assert SECRET not in str(refused.value)


class Bucket(BaseHTTPRequestHandler):
    """As much of S3 as an upload needs: objects are listed and put."""

    protocol_version = "HTTP/1.1"
    objects: ClassVar[dict[str, tuple[str, bytes]]] = {}

    def do_GET(self) -> None:
        prefix = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
        listed = "".join(
            f"<Contents><Key>{key}</Key><Size>{len(content)}</Size></Contents>"
            for key, (_, content) in self.objects.items()
            if key.startswith(prefix)
        )
        self._answer(f"<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>")

    def do_HEAD(self) -> None:
        self.send_error(404)

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.objects[self.path.split("/", 2)[2]] = (self.headers["Content-Type"], content)
        self._answer("")

    def _answer(self, page: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, format: str, *values: object) -> None:
        pass


@pytest.mark.long
def test_pictures_reach_a_bucket_with_their_media_type(folder, monkeypatch):
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    with ThreadingHTTPServer(("127.0.0.1", 0), Bucket) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, value in (
            ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_DEFAULT_REGION", "us-east-1"),
        ):
            monkeypatch.setenv(name, value)
        assert send(folder, "s3://bucket/audit") == (60, 60)
        assert send(folder, "s3://bucket/audit") == (0, 60)
        server.shutdown()
    for row in manifest(folder).itertuples():
        there = Bucket.objects[f"audit/{row.file.removeprefix('pictures/')}"]
        assert there == ("image/png", (folder.root / row.file).read_bytes())


@pytest.mark.parametrize(
    "file", ["../secret.txt", "pictures/../../secret.txt", "pictures/link.png", "/absolute"]
)
def test_no_file_outside_the_pictures_is_copied(folder, tmp_path, memory, monkeypatch, file):
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET, encoding="utf-8")
    (folder.root / "pictures").mkdir(exist_ok=True)
    (folder.root / "pictures" / "link.png").symlink_to(secret)
    file = str(secret) if file == "/absolute" else file
    sizes = {file: secret.stat().st_size}
    monkeypatch.setattr("conjury.inference.vignettes.jobs.uploading.file_sizes", lambda _: sizes)
    with pytest.raises(InputError, match="leads out of the folder of the pictures"):
        send(folder)
    assert memory.store == {}
