"""Exactness and speed of captured passes on a GPU, with random weights: ``python -m completiond.bench.gpu``.

Needs torch only, no model and no network. Prints a table, then one line of JSON. Exit code 1: a check failed, a shape
could not be run to its end, or none was run; 2: there is no CUDA device.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch

from completiond.bench.gpu_checks import check_greedy, check_logits
from completiond.bench.gpu_shapes import SHAPES, free_bytes, make_decoder, num_weights, weight_bytes_per_pass
from completiond.bench.gpu_times import copy_bytes_per_s, measure_times
from completiond.engine.graphs import GraphDecoder

__all__ = ["main", "run_shape"]

DEFAULT_SECONDS = 400.0
DTYPES = {"cuda": "bfloat16", "cpu": "float32"}


def run_shape(name: str, device: torch.device, copy_per_s: float) -> dict[str, Any]:
    """Check and time one of SHAPES; ``copy_per_s``: bytes per second of the copy that sets the bound."""
    started = time.perf_counter()
    decoder = make_decoder(SHAPES[name], device, DTYPES[device.type])
    graphs = GraphDecoder(decoder)
    logits = check_logits(graphs, decoder)
    greedy = check_greedy(graphs, decoder, logits.near_tie)
    times = measure_times(graphs, decoder)
    weight_bytes = weight_bytes_per_pass(decoder)
    bound_ms = weight_bytes * 1e3 / copy_per_s
    return {
        "passed": logits.passed and greedy.passed,
        "weight_bytes_per_pass": weight_bytes,
        "bound_ms": bound_ms,
        "graph_to_bound": times.graph_ms_per_token / bound_ms,
        "eager_to_bound": times.eager_ms_per_token / bound_ms,
        "logits": {**dataclasses.asdict(logits), "passed": logits.passed},
        "greedy": {**dataclasses.asdict(greedy), "passed": greedy.passed},
        "times": dataclasses.asdict(times),
        "seconds": time.perf_counter() - started,
    }


def why_skip(name: str, device: torch.device, left_s: float, last: tuple[str, float] | None) -> str | None:
    """Why shape ``name`` should not be started with ``left_s`` seconds left, or None. ``last``: the shape that ran
    before and its seconds; this one is expected to take as much longer as it has more weights.
    """
    weights = num_weights(SHAPES[name])
    expected_s = 0.0 if last is None else last[1] * max(1.0, weights / num_weights(SHAPES[last[0]]))
    if left_s <= expected_s:
        return f"it is expected to take {expected_s:.0f} s, and {max(0.0, left_s):.0f} s are left"
    # 1.3: caches, logits and graphs; and one vocabulary matrix in float32, for the reference.
    dtype: torch.dtype = getattr(torch, DTYPES[device.type])
    needed = int(1.3 * weights * dtype.itemsize) + 4 * SHAPES[name].vocab_size * SHAPES[name].hidden_size
    if needed > (free := free_bytes(device)):
        return f"it needs {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for and return the exit code."""
    started = time.perf_counter()
    options = _options(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.stderr.write("torch sees no CUDA device: run this on a machine with one, or try it with --device cpu.\n")
        return 2
    device = torch.device(options.device)
    copy_per_s = copy_bytes_per_s(device)
    device_name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    _write(f"{device_name}, torch {torch.__version__}, {DTYPES[device.type]}: copies {copy_per_s / 1e9:.0f} GB/s")
    shapes: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    failed: dict[str, str] = {}
    last: tuple[str, float] | None = None
    for name in options.shapes:
        left_s = options.seconds - (time.perf_counter() - started)
        try:
            _give_back(device)
            if reason := why_skip(name, device, left_s, last):
                skipped[name] = reason
                _write(f"{name}: skipped, because {reason}.")
                continue
            shapes[name] = run_shape(name, device, copy_per_s)
        except Exception as error:
            # Time on a GPU is scarce: the other shapes still run. The report and the exit code tell.
            failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
            _write(f"\n{name}: FAILED, {failed[name]}")
        else:
            last = (name, shapes[name]["seconds"])
            _write_shape(name, shapes[name])
    passed = bool(shapes) and not failed and all(shape["passed"] for shape in shapes.values())
    result = {
        "benchmark": "gpu", "device": device.type, "device_name": device_name, "torch": torch.__version__,
        "dtype": DTYPES[device.type], "copy_bytes_per_s": copy_per_s, "passed": passed, "shapes": shapes,
        "skipped": skipped, "failed": failed, "seconds": time.perf_counter() - started,
    }  # fmt: skip
    _write(json.dumps(result))
    return 0 if passed else 1


def _give_back(device: torch.device) -> None:
    """Let go of what the shape before has left."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m completiond.bench.gpu", description=__doc__)
    parser.add_argument("--device", choices=sorted(DTYPES), default="cuda")
    parser.add_argument("--shapes", default="0.5b,1.5b,7b", help=f"some of {', '.join(SHAPES)}, separated by commas")
    parser.add_argument(
        "--seconds", type=float, default=DEFAULT_SECONDS, help="start no shape that would take longer than this in all"
    )
    options = parser.parse_args(arguments)
    options.shapes = options.shapes.split(",")
    if unknown := [name for name in options.shapes if name not in SHAPES]:
        parser.error(f"there is no shape {unknown[0]!r}; the shapes are {', '.join(SHAPES)}")
    return options


def _write_shape(name: str, shape: dict[str, Any]) -> None:
    logits, greedy, times = shape["logits"], shape["greedy"], shape["times"]
    _write(f"\n{name}: {'passed' if shape['passed'] else 'FAILED'} in {shape['seconds']:.1f} s")
    _write(
        f"  logits      graph and eager differ by {logits['max_difference']:.2g} at most; from float32 by "
        f"{logits['graph_error']:.2g} and {logits['eager_error']:.2g} (rms; logits have {logits['logits_std']:.2g})"
    )
    _write(
        f"  choices     {logits['differing_rows']} of {logits['rows']} rows differ, gap up to {logits['max_gap']:.2g}; "
        f"up to {logits['near_tie']:.2g} is a near-tie"
    )
    _write(
        f"  drafted     {greedy['runs']} runs of {greedy['tokens']} tokens ({greedy['distinct']} different): "
        f"{len(greedy['gaps'])} differ from plain ones, gap at most {max(greedy['gaps'], default=0.0):.2g}; "
        f"{greedy['accepted']} of {greedy['drafted']} guesses accepted"
    )
    _write(f"  bound       {shape['bound_ms']:.3f} ms for {shape['weight_bytes_per_pass'] / 1e9:.3g} GB of weights")
    for kind in ("graph", "eager"):
        _write(f"  {kind:12}{times[f'{kind}_ms_per_token']:.3f} ms/token, {shape[f'{kind}_to_bound']:.2f} x bound")
    for num_tokens, pass_ms in times["pass_ms"].items():
        ratio = pass_ms / times["pass_ms"]["1"]
        _write(
            f"  T({num_tokens + ')':10}{pass_ms:.3f} ms, {ratio:.2f} x T(1), {pass_ms / shape['bound_ms']:.2f} x bound"
        )
    for num_tokens, per_s in times["prefill_tokens_per_s"].items():
        _write(f"  prefill     {num_tokens} tokens at {per_s:.0f} tokens/s")
    _write(f"  captures    {times['captured_passes']}, the longest first pass {times['capture_ms']:.0f} ms")


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
