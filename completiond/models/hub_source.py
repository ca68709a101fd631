"""A file in a repository on the model hub."""

from __future__ import annotations

import queue
import shutil
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from completiond.models.child import Patience, run_child
from completiond.models.disk import folder_bytes
from completiond.models.file_digest import FileSpec, file_problem
from completiond.models.progress import Progress
from completiond.models.source import ANSWER_LIMIT_S, SourceFailedError

__all__ = ["HubFile", "require_hub", "run_hub_child"]


@dataclass(frozen=True, slots=True)
class HubFile:
    """The file ``file_name`` of the repository ``repo_id`` (owner/name)."""

    repo_id: str
    file_name: str

    @property
    def label(self) -> str:
        """What the user is told."""
        return f"model hub ({self.repo_id})"

    def bytes_needed(self, spec: FileSpec, staging: Path) -> int:
        """The bytes not downloaded yet."""
        return max(0, spec.size_bytes - folder_bytes(staging / "hub"))

    def fetch(self, spec: FileSpec, staging: Path, progress: Progress) -> Path:
        """Download, going on from where an earlier run stopped, and check the SHA-256.

        Raises SourceFailedError with the reason, or OSError when this machine cannot store it.
        """
        require_hub()
        folder = staging / "hub"
        folder.mkdir(exist_ok=True)
        run_hub_child(
            ["file", self.repo_id, self.file_name, str(folder)],
            folder,
            on_line=lambda line: None,
            on_bytes=lambda count: progress.bytes_done(min(count, spec.size_bytes), spec.size_bytes),
        )
        file = folder / self.file_name
        progress.step("checking the SHA-256")
        problem = file_problem(
            file, spec, reread=True, on_bytes=lambda count: progress.bytes_done(count, spec.size_bytes)
        )
        if problem:
            shutil.rmtree(folder)  # or the next run would believe it whole
            raise SourceFailedError(f"the file there is wrong: {problem}")
        return file


def require_hub() -> None:
    """Raise SourceFailedError, within 5 s, unless the hub answers.

    The question is asked in a thread of its own, because a name look-up that hangs obeys no timeout.
    """
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        raise SourceFailedError("HF_HUB_OFFLINE is set")
    reasons: queue.SimpleQueue[str] = queue.SimpleQueue()

    def ask() -> None:
        try:
            status = get_session().head(constants.ENDPOINT, timeout=ANSWER_LIMIT_S).status_code
        except Exception as error:
            reasons.put(str(error) or type(error).__name__)
        else:
            # 407 is the proxy's own answer; other refusals may concern the front page only
            reasons.put(f"{constants.ENDPOINT} answered {status}" if status >= 500 or status == 407 else "")

    threading.Thread(target=ask, name="hub-probe", daemon=True).start()
    try:
        reason = reasons.get(timeout=ANSWER_LIMIT_S)
    except queue.Empty:
        reason = f"no answer within {ANSWER_LIMIT_S:g} s"
    if reason:
        raise SourceFailedError(reason)


def run_hub_child(
    arguments: list[str], folder: Path, on_line: Callable[[str], None], on_bytes: Callable[[int], None]
) -> None:
    """Run hub_child.py, which downloads into ``folder``; ``on_line`` gets each line it writes.

    Raises SourceFailedError with its reason, OSError when it met a full disk, and whatever ``on_line`` raises.
    """
    from huggingface_hub import constants

    def answered(line: str) -> bool:
        on_line(line)
        return True  # the hub has answered before, see require_hub: now the first byte counts

    result = run_child(
        [sys.executable, "-P", str(Path(__file__).with_name("hub_child.py")), *arguments],
        {
            "HF_ENDPOINT": constants.ENDPOINT,
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
        },
        on_line=answered,
        count_bytes=lambda: folder_bytes(folder),
        on_bytes=on_bytes,
        patience=Patience(),
    )
    if result.exit_status != 0:
        raise SourceFailedError(result.lines[-1] if result.lines else "the download ended without a word")
