"""The ``completiond`` program, and ``python -m completiond``."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command in ``sys.argv``; ``completiond lsp`` starts without the command line's slow libraries."""
    # Threads that wait for each other spin, and on a busy machine spin away the others' time. Spinning for less costs
    # nothing on a quiet one (docs/log.md). OpenMP reads this when torch is imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    if sys.argv[1:] == ["lsp"]:
        sys.exit(_lsp())
    from completiond.cli import main as run_cli

    run_cli()


def _lsp() -> int:
    from completiond.lsp.shim import run_shim
    from completiond.paths import Paths

    try:
        return run_shim(Paths.from_environment())
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    main()
