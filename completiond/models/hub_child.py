"""The program that downloads from the model hub, run as a child process (child.py says why); never imported.

    hub_child.py file REPO FILE FOLDER
    hub_child.py snapshot REPO FOLDER PATTERN...

Its last line is the reason when it fails. ``snapshot`` first writes one line ``plan JSON``: the files to come, each as
[name, bytes, SHA-256 or null].
"""

from __future__ import annotations

import json
import os
import sys
import threading
from fnmatch import fnmatch

from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download

_CHUNK_BYTES = 1 << 18


def _end_with_parent() -> None:
    """Standard input is a pipe nobody writes to: it ends when the parent does."""
    os.read(0, 1)
    os._exit(1)


def _fetch_snapshot(repo_id: str, folder: str, patterns: list[str]) -> None:
    info = HfApi().model_info(repo_id, files_metadata=True, timeout=10)
    files = [
        (file.rfilename, file.size, file.lfs.sha256 if file.lfs else None)
        for file in info.siblings or []
        if any(fnmatch(file.rfilename, pattern) for pattern in patterns)
    ]
    print("plan", json.dumps(files), flush=True)  # noqa: T201 - the parent reads it
    snapshot_download(repo_id, revision=info.sha, local_dir=folder, allow_patterns=patterns)


def main(arguments: list[str]) -> int:
    """Do what the command line says; the exit status."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The library's own 10 MB would hide from the parent, for minutes on a slow line, that bytes arrive.
    constants.DOWNLOAD_CHUNK_SIZE = _CHUNK_BYTES
    print("asking", flush=True)  # noqa: T201 - the parent reads it
    try:
        match arguments:
            case ["file", repo_id, file_name, folder]:
                hf_hub_download(repo_id, file_name, local_dir=folder)
            case ["snapshot", repo_id, folder, *patterns]:
                _fetch_snapshot(repo_id, folder, patterns)
            case _:
                raise ValueError(f"unknown arguments {arguments}")
    except Exception as error:  # whatever it is, it is the reason
        print(" ".join(f"{type(error).__name__}: {error}".split()), flush=True)  # noqa: T201 - the parent reads it
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
