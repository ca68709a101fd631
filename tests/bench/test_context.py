"""``completiond bench context``: which places are asked for, and what is said of the answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from completiond.bench.call_places import CallPlace, call_places, evenly
from completiond.bench.context import context_json, context_table, measure_context
from completiond.cli import app
from completiond.complete.completer import Completer
from completiond.config import Config, ModelConfig, PromptConfig
from tests.fake_model import bytes_of, fake_model, says

SOURCES = {
    "p/a.py": "from .b import make, Box\nfrom . import c\n\nx = make(1, size=2)\ny = Box.empty(x)\nz = c.run(x)\n",
    "p/b.py": "def make(n, size):\n    return n\n\n\nclass Box:\n    pass\n",
    "p/c.py": "def run(a):\n    return a\n",
    "p/d.py": "from p.b import make\nmake(1)\nmake(\n    1, 2)\nmake(1, 2)  # twice\n",
    "p/broken.py": "from p.b import make\nmake(1, 2\n",
    "p/test_a.py": "from p.b import make\nmake(1, 2)\n",
}  # fmt: skip


def test_places_are_where_another_file_decides() -> None:
    places = list(call_places(SOURCES))
    assert [(one.kind, one.name, one.expected, one.files[-1][0]) for one in places] == [
        ("arguments", "make", "1, size=2)", "p/b.py"),
        ("member", "Box", "empty(x)", "p/b.py"),
        ("member", "c", "run(x)", "p/c.py"),
    ]
    for one in places:
        assert one.prefix + one.expected + one.suffix == SOURCES["p/a.py"]
        assert one.path not in [path for path, _ in one.files]
        assert not any("test" in path for path, _ in one.files)


def test_all_groups_have_their_share() -> None:
    places = list(call_places(SOURCES))
    assert evenly([places, places[:1], []], 3) == [places[0], places[0]]
    assert evenly([places, places], 4) == [places[0], places[0], places[1], places[1]]


def test_what_is_right_is_counted_and_files_are_told() -> None:
    places: list[CallPlace] = [one for one in call_places(SOURCES) if one.name == "make"]
    model, _ = fake_model(says(bytes_of("1, size=2)")))
    config = Config(
        model=ModelConfig(name="fake", context_tokens=2000), prompt=PromptConfig(prefix_tokens=200, max_read_ms=0)
    )
    completer = Completer(model, config)
    runs = list(measure_context(places, completer, (0, 500)))
    without, told, *_ = context_json(runs)
    assert (without["context_tokens"], without["same_line"], without["told"]) == (0, 1, 0)
    assert (told["context_tokens"], told["same_line"], told["told"], told["won"], told["lost"]) == (500, 1, 1, 0, 0)
    assert told["prompt_tokens"] == without["prompt_tokens"] + told["told_tokens"]
    assert context_table(runs, "title").row_count == 4
    assert completer.dictionary.num_documents == 0


@pytest.mark.model
def test_as_a_command(default_model: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "context", "--limit", "1", "--tokens", "0", "--tokens", "128", "--json"])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)["context"]
    assert [row["context_tokens"] for row in figures] == [0, 128, 0, 128]


@pytest.mark.model
def test_what_does_not_fit_is_refused(default_model: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "context", "--tokens", "4000"])
    assert result.exit_code == 2
    assert "--tokens 4000 does not fit" in result.stderr
