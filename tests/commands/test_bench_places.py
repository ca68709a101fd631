"""``completiond bench places`` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from completiond.bench.places.place_set import read_places
from completiond.cli import app


def test_an_unknown_language_is_refused() -> None:
    result = CliRunner().invoke(app, ["bench", "places", "--language", "cobol"])
    assert result.exit_code == 2
    assert "--language cobol is not known" in result.stderr
    assert "html-css" in result.stderr


@pytest.mark.model
def test_suggestions_are_judged_and_shown(default_model: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "places", "--language", "html-css", "--show", "--json"])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    html, both = figures["languages"]
    assert (html["language"], both["language"]) == ("html-css", "all")
    assert html["places"] == len(figures["suggestions"]) == len(list(read_places(["html-css"])))
    assert 0 < html["good"] <= html["answered"] == sum(bool(one["text"]) for one in figures["suggestions"])
    assert figures["suggestions"][0]["place"] in result.stderr
