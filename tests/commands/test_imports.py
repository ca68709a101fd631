"""What every verb of the command line imports: it has to answer at once."""

from __future__ import annotations

import subprocess
import sys


def test_the_command_line_begins_without_torch() -> None:
    code = "import completiond.cli, sys; print([name for name in ('torch', 'transformers') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
