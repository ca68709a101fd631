"""The GPU script on a CPU: that it runs where only torch is, tells right from wrong, and says what it leaves out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from completiond.bench import gpu
from completiond.bench.gpu_checks import (
    ANSWER_TOKENS,
    NEAR_TIE_ERRORS,
    PASS_SIZES,
    WRONG_EVERY,
    check_greedy,
    check_logits,
)
from completiond.bench.gpu_shapes import SHAPES, make_decoder, make_reference, num_weights, weight_bytes_per_pass
from completiond.cache.kv import KVCache
from completiond.engine.graphs import GraphDecoder
from completiond.engine.static_pass import TOKEN_BUCKETS
from completiond.engine.target import Pass

CPU = torch.device("cpu")
SMALL = replace(SHAPES["tiny"], num_layers=1)
# What completiond depends on besides torch and what comes with it or with transformers.
BLOCKED = ("accelerate", "aiohttp", "gguf", "lsprotocol", "msgpack", "pathspec", "platformdirs", "pydantic",
           "pydantic_settings", "pygls", "rich", "typer")  # fmt: skip


@pytest.fixture(scope="module")
def output() -> subprocess.CompletedProcess[str]:
    """The script in an interpreter in which the packages of BLOCKED cannot be imported."""
    code = (
        "import runpy, sys\n"
        f"sys.modules.update(dict.fromkeys({BLOCKED!r}))\n"
        "sys.argv = ['gpu', '--device', 'cpu', '--shapes', 'tiny']\n"
        "runpy.run_module('completiond.bench.gpu', run_name='__main__')\n"
    )
    root = str(Path(gpu.__file__).parents[2])
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip


def test_it_runs_where_only_torch_is_installed(output: subprocess.CompletedProcess[str]) -> None:
    assert output.stderr == ""
    assert output.returncode == 0


def test_the_last_line_is_the_result(output: subprocess.CompletedProcess[str]) -> None:
    lines = output.stdout.splitlines()
    assert [line for line in lines if line.startswith("{")] == lines[-1:]
    result: dict[str, Any] = json.loads(lines[-1])
    assert (result["benchmark"], result["device"], result["dtype"]) == ("gpu", "cpu", "float32")
    assert result["passed"]
    assert result["skipped"] == result["failed"] == {}
    assert list(result["shapes"]) == ["tiny"]
    tiny = result["shapes"]["tiny"]
    assert tiny["weight_bytes_per_pass"] == 4 * (num_weights(SHAPES["tiny"]) + 5 * 64 + 2 * 128)  # norms and biases
    assert tiny["bound_ms"] == pytest.approx(tiny["weight_bytes_per_pass"] * 1e3 / result["copy_bytes_per_s"])
    times = tiny["times"]
    assert tiny["graph_to_bound"] == pytest.approx(times["graph_ms_per_token"] / tiny["bound_ms"])
    assert tiny["eager_to_bound"] == pytest.approx(times["eager_ms_per_token"] / tiny["bound_ms"])
    assert list(times["pass_ms"]) == [str(bucket) for bucket in TOKEN_BUCKETS]
    assert list(times["prefill_tokens_per_s"]) == ["512", "2048"]
    assert all(number > 0.0 for each in (times["pass_ms"], times["prefill_tokens_per_s"]) for number in each.values())
    logits, greedy = tiny["logits"], tiny["greedy"]
    assert logits["rows"] == sum(PASS_SIZES)
    assert 0.0 < logits["max_difference"] < 1e-4 < logits["logits_std"]
    assert (greedy["tokens"], greedy["runs"]) == (ANSWER_TOKENS, len(WRONG_EVERY))
    assert 0 < greedy["accepted"] < greedy["drafted"]


def test_the_table_names_what_was_measured(output: subprocess.CompletedProcess[str]) -> None:
    *table, last = output.stdout.splitlines()
    tiny = json.loads(last)["shapes"]["tiny"]
    times = tiny["times"]
    assert f"  graph       {times['graph_ms_per_token']:.3f} ms/token, {tiny['graph_to_bound']:.2f} x bound" in table
    for bucket in TOKEN_BUCKETS:
        start = f"  T({bucket})".ljust(14) + f"{times['pass_ms'][str(bucket)]:.3f} ms, "
        assert any(line.startswith(start) for line in table)


def test_without_cuda_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main(["--shapes", "tiny"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "--device cpu" in printed.err


def test_an_unknown_shape_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        gpu.main(["--device", "cpu", "--shapes", "tiny,huge"])
    assert stopped.value.code == 2
    assert "there is no shape 'huge'; the shapes are tiny, 0.5b, 1.5b, 7b" in capsys.readouterr().err


@pytest.fixture
def fake_shapes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What running each shape gives: a result with ``passed``, or an error to raise."""
    results: dict[str, Any] = {}

    def run(name: str, device: torch.device, copy_per_s: float) -> dict[str, Any]:
        if isinstance(results[name], Exception):
            raise results[name]
        return {"passed": results[name], "seconds": 10.0}

    monkeypatch.setattr(gpu, "run_shape", run)
    monkeypatch.setattr(gpu, "time", SimpleNamespace(perf_counter=lambda: 0.0))  # a busy machine is no reason
    monkeypatch.setattr(gpu, "copy_bytes_per_s", lambda device: 1e9)
    monkeypatch.setattr(gpu, "_write_shape", lambda name, shape: None)
    monkeypatch.setattr(gpu, "free_bytes", lambda device: 10**12)
    return results


def last_line(capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, Any]]:
    printed = capsys.readouterr().out
    return printed, json.loads(printed.splitlines()[-1])


def test_shapes_that_do_not_fit_in_time_are_skipped_and_named(
    fake_shapes: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    fake_shapes.update({"0.5b": True, "1.5b": True})
    # 10 s for 0.5B make 31 s for 1.5B by their weights, and 10 s for that 49 s for 7B.
    assert gpu.main(["--device", "cpu", "--seconds", "40"]) == 0
    printed, result = last_line(capsys)
    assert list(result["shapes"]) == ["0.5b", "1.5b"]
    assert list(result["skipped"]) == ["7b"]
    assert "7b: skipped, because it is expected to take 49 s, and 40 s are left." in printed
    assert gpu.main(["--device", "cpu", "--seconds", "20"]) == 0
    printed, result = last_line(capsys)
    assert list(result["shapes"]) == ["0.5b"]
    assert list(result["skipped"]) == ["1.5b", "7b"]
    assert "1.5b: skipped, because it is expected to take 31 s, and 20 s are left." in printed
    assert gpu.main(["--device", "cpu", "--seconds", "0"]) == 1
    assert list(last_line(capsys)[1]["skipped"]) == ["0.5b", "1.5b", "7b"]


def test_shapes_that_do_not_fit_in_memory_are_skipped_and_named(
    fake_shapes: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_shapes["tiny"] = True
    monkeypatch.setattr(gpu, "free_bytes", lambda device: 2 * 10**9)
    assert gpu.main(["--device", "cpu", "--shapes", "7b,tiny"]) == 0
    printed, result = last_line(capsys)
    assert list(result["shapes"]) == ["tiny"]
    assert "GB of memory, and 2.0 GB are free" in result["skipped"]["7b"]
    assert "7b: skipped" in printed


def test_a_failed_check_and_a_failed_run_are_told_and_the_others_still_run(
    fake_shapes: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    memory = torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 2 GiB.")
    fake_shapes.update({"0.5b": False, "1.5b": memory, "7b": True})
    assert gpu.main(["--device", "cpu", "--seconds", "10000"]) == 1
    printed, told = capsys.readouterr()
    assert told == "", "no traceback"
    reason = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB."
    assert f"1.5b: FAILED, {reason}" in printed.splitlines()
    result = json.loads(printed.splitlines()[-1])
    assert list(result["shapes"]) == ["0.5b", "7b"]
    assert result["failed"] == {"1.5b": reason}
    assert not result["passed"]
    fake_shapes.update({"0.5b": False, "1.5b": True})
    assert gpu.main(["--device", "cpu", "--seconds", "10000"]) == 1


def test_a_device_that_is_broken_fails_each_shape_and_nothing_else(
    fake_shapes: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def free_bytes(device: torch.device) -> int:
        raise RuntimeError("an illegal memory access was encountered")

    monkeypatch.setattr(gpu, "free_bytes", free_bytes)
    assert gpu.main(["--device", "cpu", "--shapes", "tiny,0.5b"]) == 1
    _, result = last_line(capsys)
    reason = "RuntimeError: an illegal memory access was encountered"
    assert result["failed"] == {"tiny": reason, "0.5b": reason}
    assert not result["passed"]


class WrongDecoder(GraphDecoder):
    """Off by ``size`` in every pass of several tokens."""

    size = 1e-3

    def forward(
        self,
        token_ids: Sequence[int],
        kv: KVCache,
        num_logits: int,
        feature_layers: Sequence[int] = (),
        parents: Sequence[int] = (),
    ) -> Pass:
        result = super().forward(token_ids, kv, num_logits, feature_layers, parents)
        if 1 < len(token_ids) <= 32:
            noise = torch.randn(result.logits.shape, generator=torch.Generator().manual_seed(0))
            return replace(result, logits=result.logits + self.size * noise)
        return result


def test_wrong_logits_and_wrong_choices_do_not_pass() -> None:
    decoder = make_decoder(SMALL, CPU, "float32")
    right = check_logits(GraphDecoder(decoder), decoder)
    assert right.passed
    assert right.repeatable
    wrong = check_logits(WrongDecoder(decoder), decoder)
    assert not wrong.passed
    assert wrong.graph_error == pytest.approx(1e-3 * (1 - 3 / right.rows) ** 0.5, rel=0.1)
    assert wrong.eager_error == right.eager_error
    # Choices that differ are seen where float32 has them far apart.
    very_wrong = WrongDecoder(decoder)
    very_wrong.size = 1.0
    greedy = check_greedy(very_wrong, decoder, right.near_tie)
    assert greedy.gaps
    assert max(greedy.gaps) > 100 * right.near_tie
    assert not greedy.passed


def test_differences_pass_as_near_ties_only() -> None:
    decoder = make_decoder(SMALL, CPU, "bfloat16")
    check = check_logits(GraphDecoder(decoder), decoder)
    assert check.passed
    assert check.near_tie == NEAR_TIE_ERRORS * check.eager_error
    assert 1e-3 < check.eager_error < 0.1
    assert not replace(check, differing_rows=1, max_gap=1.01 * check.near_tie).passed
    assert not replace(check, graph_error=2.0 * check.eager_error).passed
    assert not replace(check, graph_error=3.0, eager_error=3.0).passed


def test_the_reference_is_float32_s_own_result() -> None:
    decoder = make_decoder(SMALL, CPU, "float32")
    ids = list(range(20))
    wide = make_reference(decoder)
    assert torch.equal(
        wide.forward(ids, wide.new_cache(20), 20).logits, decoder.forward(ids, decoder.new_cache(20), 20).logits
    )
    narrow = make_decoder(SMALL, CPU, "bfloat16")
    wide = make_reference(narrow)
    logits = wide.forward(ids, wide.new_cache(20), 20).logits
    assert wide.new_cache(1).keys.dtype is torch.float32
    assert logits.dtype is torch.float32
    assert 0.0 < (logits - narrow.forward(ids, narrow.new_cache(20), 20).logits).abs().max() < 0.2


@pytest.mark.parametrize(("name", "billions"), [("0.5b", 0.494), ("1.5b", 1.543), ("7b", 7.615)])
def test_the_shapes_are_those_of_the_models(name: str, billions: float) -> None:
    # The models' cards: 0.49, 1.54 and 7.61 billion parameters.
    assert num_weights(SHAPES[name]) / 1e9 == pytest.approx(billions, abs=1e-3)


def test_an_untied_embedding_is_not_read_by_every_pass() -> None:
    tied = weight_bytes_per_pass(make_decoder(SMALL, CPU, "bfloat16"))
    untied = make_decoder(replace(SMALL, tied_embeddings=False), CPU, "bfloat16")
    assert weight_bytes_per_pass(untied) == tied
    assert num_weights(untied.shape) == num_weights(SMALL) + SMALL.vocab_size * SMALL.hidden_size
    assert untied.weights.lm_head.data is not untied.weights.embedding
