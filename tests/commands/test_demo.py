"""The demo shows three real completions; doctor says what works and what does not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from typer.testing import CliRunner

from completiond.cli import app
from completiond.demo.scenes import SCENES, sample_text


def test_the_sample_is_a_program_and_every_scene_has_its_place() -> None:
    ast.parse(sample_text())
    for scene in SCENES:
        prefix, suffix, erased = scene.split(sample_text())
        assert erased.strip()
        ast.parse(prefix + erased + suffix)


@pytest.mark.model
def test_demo(default_model: Path) -> None:
    result = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    for scene in SCENES:
        assert scene.title in result.stdout
    assert "json.dump" in result.stdout
    assert "stock_by_name[name] -= quantity" in result.stdout
    assert result.stdout.count("tokens/pass") == len(SCENES)
    assert "dictionary" in result.stdout


@pytest.mark.model
def test_doctor_passes(default_model: Path) -> None:
    result = CliRunner().invoke(app, ["doctor"], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    for line in ("settings", "socket", "model", "memory", "device", "lossless", "fill in the middle", "editors"):
        assert line in result.stdout
    assert "bit-identical" in result.stdout
    assert "fail" not in result.stdout


def test_doctor_without_a_model_says_what_to_do(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["doctor"], env={"COMPLETIOND_CACHE_DIR": str(tmp_path), "COLUMNS": "160"})
    assert result.exit_code == 1
    assert "fail" in result.stdout
    assert "completiond model pull" in result.stdout


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("completiond 0.")
