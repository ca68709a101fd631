"""The program that downloads from the model hub, run as a child process (child.py says why); never imported.

    hub_child.py file REPO FILE FOLDER
    hub_child.py snapshot REPO FOLDER PATTERN...

Its last line is the reason when it fails. ``snapshot`` first writes one line ``plan JSON``: the files to come, each as
[name, bytes, SHA-256 or null]. Files that are there are kept, begun ones (``NAME.ETAG.part``) are finished: the
library's own snapshot_download starts a begun file anew.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from fnmatch import fnmatch
from pathlib import Path

from huggingface_hub import HfApi, constants, get_hf_file_metadata, get_token, hf_hub_url
from huggingface_hub.file_download import http_get

_CHUNK_BYTES = 1 << 18


def _end_with_parent() -> None:
    """Standard input is a pipe nobody writes to: it ends when the parent does."""
    os.read(0, 1)
    os._exit(1)


def _fetch_file(repo_id: str, name: str, revision: str | None, folder: Path) -> None:
    target = folder / name
    if not target.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"the repository holds a file {name!r}, which leads out of its folder")
    url = hf_hub_url(repo_id, name, revision=revision)
    metadata = get_hf_file_metadata(url)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{metadata.etag}.part")
    with part.open("ab") as stream:
        present_bytes = part.stat().st_size
        if metadata.size is not None and present_bytes > metadata.size:
            stream.truncate(0)
            present_bytes = 0
        # compressed on the way, bytes could be neither counted nor resumed
        headers = {"Accept-Encoding": "identity"}
        if not constants.HF_HUB_DISABLE_IMPLICIT_TOKEN and (token := get_token()):
            headers["Authorization"] = f"Bearer {token}"
        if metadata.size is None or present_bytes < metadata.size:
            http_get(url, stream, resume_size=present_bytes, headers=headers, expected_size=metadata.size)
    part.replace(target)


def _fetch_snapshot(repo_id: str, folder: Path, patterns: list[str]) -> None:
    info = HfApi().model_info(repo_id, files_metadata=True, timeout=10)
    files = [
        (file.rfilename, file.size or 0, file.lfs.sha256 if file.lfs else None)
        for file in info.siblings or []
        if any(fnmatch(file.rfilename, pattern) for pattern in patterns)
    ]
    print("plan", json.dumps(files), flush=True)  # noqa: T201 - the parent reads it
    for name, size_bytes, sha256 in files:
        file = folder / name
        # Without a SHA-256 to check, a file may be of an earlier revision; such files are small.
        if not (sha256 and file.exists() and file.stat().st_size == size_bytes):
            _fetch_file(repo_id, name, info.sha, folder)


def main(arguments: list[str]) -> int:
    """Do what the command line says; the exit status."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The library's own 10 MB would hide from the parent, for minutes on a slow line, that bytes arrive.
    constants.DOWNLOAD_CHUNK_SIZE = _CHUNK_BYTES
    print("asking", flush=True)  # noqa: T201 - the parent reads it
    try:
        match arguments:
            case ["file", repo_id, name, folder]:
                _fetch_file(repo_id, name, None, Path(folder))
            case ["snapshot", repo_id, folder, *patterns]:
                _fetch_snapshot(repo_id, Path(folder), patterns)
            case _:
                raise ValueError(f"unknown arguments {arguments}")
    except Exception as error:  # whatever it is, it is the reason
        print(" ".join(f"{type(error).__name__}: {error}".split()), flush=True)  # noqa: T201 - the parent reads it
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
