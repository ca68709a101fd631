"""Measure what one keystroke costs the document store: the edit, the new snapshot and the next position look-up.

``python -m completiond.bench.keystroke`` prints a table, then one line of JSON.
"""

from __future__ import annotations

import json
import platform
import random
import sys
import time
from typing import Any

from completiond.lsp.documents import Change, DocumentStore, Position

__all__ = ["run"]

NUM_KEYS = 1000
NUM_LINES = 100_000
LINE_BYTES = 2_000_000
WINDOW_CHARS = 8192
URI = "file:///bench"

ASCII_LINE = "    total += weights[index] * values[index]\n"
OTHER_LINE = "    总数 += größe[índice] * 'наш 🙂 e\u0301'  # 合計\n"


def run() -> dict[str, Any]:
    """Type 1,000 keys at random and at fixed places of four texts (utf-16 positions); times are in milliseconds."""
    texts = {
        f"{NUM_LINES} lines, ascii": ASCII_LINE * NUM_LINES,
        f"{NUM_LINES} lines, non-ascii": OTHER_LINE * NUM_LINES,
        "2 MB line, ascii": _one_line(ASCII_LINE),
        "2 MB line, non-ascii": _one_line(OTHER_LINE),
    }
    cases = []
    for name, text in texts.items():
        store = DocumentStore("utf-16")
        num_chars = len(text)
        places = {"random": None, "start": 0, "middle": num_chars // 2, "end": num_chars}
        for place, first_offset_chars in places.items():
            store.open(URI, "python", 0, text)
            cases.append({"text": name, "place": place, **_type_keys(store, first_offset_chars)})
    return {
        "benchmark": "keystroke",
        "python": platform.python_version(),
        "machine": platform.machine(),
        "num_keys": NUM_KEYS,
        "window_chars": WINDOW_CHARS,
        "cases": cases,
    }


def main() -> None:
    """Print the table and the JSON line."""
    result = run()
    write = sys.stdout.write
    write(f"{'text':28}{'place':10}{'p50 ms':>10}{'p95 ms':>10}{'max ms':>10}\n")
    for case in result["cases"]:
        write(
            f"{case['text']:28}{case['place']:10}{case['p50_ms']:10.3f}{case['p95_ms']:10.3f}{case['max_ms']:10.3f}\n"
        )
    write(json.dumps(result) + "\n")


def _one_line(line: str) -> str:
    line = line.rstrip("\n")
    return line * (LINE_BYTES // len(line.encode()))


def _type_keys(store: DocumentStore, first_offset_chars: int | None) -> dict[str, float]:
    """Type a word of 1,000 letters at one place, or each letter at a random place."""
    source = random.Random(0)
    times_ms = []
    for key in range(NUM_KEYS):
        document = store.get(URI)
        assert document is not None
        if first_offset_chars is None:
            place = document.position_at(source.randrange(document.text.num_chars))
        else:
            place = document.position_at(first_offset_chars + key)
        change = {"range": {"start": _to_json(place), "end": _to_json(place)}, "text": "x"}
        started_ns = time.perf_counter_ns()
        changed = store.change(URI, key, [Change.from_json(change)])
        assert changed is not None
        changed.around(Position(place.line, place.character + 1), WINDOW_CHARS, WINDOW_CHARS)
        times_ms.append((time.perf_counter_ns() - started_ns) / 1e6)
    times_ms.sort()
    return {
        "p50_ms": round(times_ms[len(times_ms) // 2], 4),
        "p95_ms": round(times_ms[len(times_ms) * 95 // 100], 4),
        "max_ms": round(times_ms[-1], 4),
    }


def _to_json(position: Position) -> dict[str, int]:
    return {"line": position.line, "character": position.character}


if __name__ == "__main__":
    main()
