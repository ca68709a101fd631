"""Passes of a fixed shape against the eager decoder; on a CPU a tape takes the CUDA graph's place."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from completiond.cache.kv import KVCache
from completiond.config import ModelConfig
from completiond.engine.decoder import Decoder
from completiond.engine.generate import generate
from completiond.engine.graphs import CudaRecorder, GraphDecoder, Outputs
from completiond.engine.load import load_model
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.engine.static_pass import StaticPlan, key_bucket, token_bucket
from completiond.engine.target import NORMED
from completiond.spec.drafter import Draft, Drafter, NoDrafter, TextDrafter, Verified
from tests.engine.random_models import ARCHITECTURES, VOCAB_SIZE, make_folder

SMALL_KEYS = 32
CAPACITY = 150  # 192 rows: 42 that are never valid


class Tape(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The operators of one pass on the tensors they had, as a CUDA graph holds them: what the host knew is fixed, what
    it would have to wait for or copy from is an error.
    """

    FORBIDDEN = ("_local_scalar_dense", "nonzero", "lift_fresh", "masked_select", "equal", "is_nonzero")

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.steps: list[tuple[Any, Any, Any, Any]] = []
        self.own: list[Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert func.overloadpacket.__name__ not in self.FORBIDDEN, f"{func} in a captured region"
        given = {leaf.untyped_storage().data_ptr() for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        result = func(*args, **(kwargs or {}))
        self.own += [new for new in tree_leaves(result) if new.untyped_storage().data_ptr() not in given]
        self.steps.append((func, args, kwargs or {}, result))
        return result

    def replay(self) -> None:
        for func, args, kwargs, result in self.steps:
            for old, new in zip(tree_leaves(result), tree_leaves(func(*args, **kwargs)), strict=True):
                if old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class TapeRecorder:
    """Like graphs in one pool: a replay spoils everything the others computed, and what it computed itself before."""

    def __init__(self) -> None:
        self.tapes: list[Tape] = []

    def record(self, run: Callable[[], Outputs]) -> Callable[[], Outputs]:
        with Tape() as tape:
            outputs = run()
        self.tapes.append(tape)

        def replay() -> Outputs:
            for each in self.tapes:
                for tensor in each.own:
                    tensor.fill_(float("nan") if tensor.is_floating_point() else 1)
            tape.replay()
            return outputs

        return replay


class Copyist(TextDrafter):
    """Guesses what follows in a known text, in changing numbers, and each ``wrong_every``-th guess wrong."""

    def __init__(self, text: Sequence[int], num_known: int, wrong_every: int) -> None:
        self.text, self.place, self.wrong_every = list(text), num_known, wrong_every
        self.sizes = random.Random(3)

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None: ...

    def propose(self, budget: int) -> Draft:
        guesses = self.text[self.place : self.place + min(budget, self.sizes.randrange(32))]
        for index in range(len(guesses)):
            if (self.place + index) % self.wrong_every == 0:
                guesses[index] = (guesses[index] + 1) % VOCAB_SIZE
        return Draft(tuple(guesses), (0.5,) * len(guesses), "copy")

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        self.place += len(token_ids)


def load(folder: Path, architecture: str, dtype: str = "float32", device: str = "cpu") -> Decoder:
    path = make_folder(folder / "model", architecture)
    target = load_model(
        path, ModelConfig(device=device, dtype=dtype), folder / "prepared", lambda share, what: None
    ).target
    assert isinstance(target, Decoder)
    return target


def taped(decoder: Decoder) -> GraphDecoder:
    return GraphDecoder(decoder, TapeRecorder, SMALL_KEYS)


def ids_of(count: int, seed: int = 1) -> list[int]:
    return random.Random(seed).choices(range(VOCAB_SIZE), k=count)


def answer(target: Any, prompt: list[int], drafter: Drafter, max_tokens: int, kv: KVCache | None = None) -> list[int]:
    kv = kv or target.new_cache(CAPACITY)
    sampler = Sampler(SamplingParams())
    steps = generate(target, kv, prompt, drafter, sampler, lambda token_id: None, max_tokens, 31)
    return [token_id for step in steps for token_id in step.token_ids]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_logits_and_features_are_the_eager_decoder_s(architecture: str, tmp_path: Path) -> None:
    decoder = load(tmp_path, architecture)
    graphs = taped(decoder)
    ids = ids_of(CAPACITY)
    layers = (0, 2, decoder.shape.num_layers, NORMED)
    eager_kv, kv = decoder.new_cache(CAPACITY), graphs.new_cache(CAPACITY)
    # Each size once behind 0 to 90 tokens, so that all buckets of keys (32, 64, 128) are met; and each again, at
    # another place, when nothing new may be recorded for it.
    for start, size in [(0, 1), (1, 31), (32, 32), (64, 5), (69, 4), (73, 3), (76, 2), (78, 1), (79, 32), (90, 31),
                        (70, 3), (40, 2), (41, 1), (33, 5)]:  # fmt: skip
        for cache in (eager_kv, kv):
            cache.rollback(start)
        piece = ids[start : start + size]
        expected = decoder.forward(piece, eager_kv, size, layers)
        found = graphs.forward(piece, kv, size, layers)
        assert kv.token_ids == ids[: start + size]
        assert found.logits.shape == (size, VOCAB_SIZE)
        assert found.logits.dtype is torch.float32
        assert (found.logits - expected.logits).abs().max() < 1e-4
        assert found.features is not None
        assert expected.features is not None
        assert found.features.shape == expected.features.shape == (size, 4 * decoder.shape.hidden_size)
        assert (found.features - expected.features).abs().max() < 1e-3
        assert torch.allclose(kv.keys[:, :, : start + size], eager_kv.keys[:, :, : start + size], atol=1e-4)
        assert torch.allclose(kv.values[:, :, : start + size], eager_kv.values[:, :, : start + size], atol=1e-4)
        assert expected.logits.std() > 0.1, "logits that say something"
    # (tokens, keys): 1 of 32; 1, 2, 8 and 32 of 64; 1, 2, 4, 8 and 32 of 128.
    assert graphs.captured_passes == 10


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("wrong_every", [1, 2, 9, 1000])
def test_drafted_answers_are_the_plain_eager_ones(architecture: str, wrong_every: int, tmp_path: Path) -> None:
    decoder = load(tmp_path, architecture)
    graphs = taped(decoder)
    prompt = ids_of(20)
    plain = answer(decoder, prompt, NoDrafter(), 100)

    drafted = answer(graphs, prompt, Copyist(prompt + plain, 20, wrong_every), 100)

    assert drafted == plain
    assert graphs.captured_passes > 3
    assert len(set(plain)) > 10, "an answer that is not one token again and again"


def test_the_last_rows_of_a_cache_are_filled_and_no_more(tmp_path: Path) -> None:
    decoder = load(tmp_path, "llama")
    ids = ids_of(200)
    # 150 tokens in 192 rows: padding has room. 128 in 128: it has none, and the pass is the eager one.
    for capacity, is_static in [(150, True), (128, False)]:
        graphs = taped(decoder)
        kv = graphs.new_cache(capacity)
        graphs.forward(ids[: capacity - 5], kv, 0)
        found = graphs.forward(ids[capacity - 5 : capacity], kv, 5).logits
        expected = decoder.forward(ids[:capacity], decoder.new_cache(capacity), 5).logits
        assert (found - expected).abs().max() < 1e-4
        assert graphs.captured_passes == is_static
        for too_many in (ids[:1], []):
            with pytest.raises(ValueError, match="cannot go behind"):
                graphs.forward(too_many, kv, 0)
        assert kv.token_ids == ids[:capacity]
        # The last row alone needs no padding.
        kv.rollback(capacity - 1)
        assert (graphs.forward(ids[capacity - 1 : capacity], kv, 1).logits - expected[-1]).abs().max() < 1e-4
        assert graphs.captured_passes == is_static + 1


def test_nothing_is_read_of_rows_that_are_not_valid(tmp_path: Path) -> None:
    decoder = load(tmp_path, "qwen2")
    ids = ids_of(40)
    for num_tokens in (1, 3, 5):
        graphs = taped(decoder)
        kv, clean = graphs.new_cache(CAPACITY), graphs.new_cache(CAPACITY)
        expected = decoder.forward(ids[: 20 + num_tokens], clean, num_tokens).logits
        graphs.forward(ids[:20], kv, 0)
        bucket = token_bucket(num_tokens)
        assert bucket is not None
        for buffer in (kv.keys, kv.values):
            buffer[:, :, 20 : 20 + bucket] = float("nan")  # the pass writes these first, padding too
            buffer[:, :, 20 + bucket : SMALL_KEYS] = 1e4  # masked: finite by the cache's promise
            buffer[:, :, SMALL_KEYS:] = float("nan")  # outside the bucket of keys
        found = graphs.forward(ids[20 : 20 + num_tokens], kv, num_tokens).logits
        assert (found - expected).abs().max() < 1e-4
        assert bool(kv.keys[:, :, : 20 + bucket].isfinite().all())
        # What padding left behind is written over by the next pass, whose bucket of keys may be the next larger.
        for buffer in (kv.keys, kv.values):
            buffer[:, :, SMALL_KEYS:].nan_to_num_(1e4)
        again = graphs.forward(ids[20 + num_tokens : 25 + num_tokens], kv, 5).logits
        expected = decoder.forward(ids[20 + num_tokens : 25 + num_tokens], clean, 5).logits
        assert (again - expected).abs().max() < 1e-4


def test_padding_s_token_ids_change_nothing(tmp_path: Path) -> None:
    graphs = taped(load(tmp_path, "mistral"))
    ids = ids_of(40)
    kv = graphs.new_cache(CAPACITY)
    graphs.forward(ids[:20], kv, 0)
    first = graphs.forward(ids[20:25], kv, 5).logits
    kv.rollback(20)
    graphs.forward(ids[:8], kv, 0)  # the same bucket, full
    kv.rollback(20)
    assert torch.equal(graphs.forward(ids[20:25], kv, 5).logits, first)


def test_only_the_rows_that_were_asked_for_are_returned(tmp_path: Path) -> None:
    decoder = load(tmp_path, "llama")
    graphs = taped(decoder)
    ids = ids_of(30)
    whole = decoder.forward(ids, decoder.new_cache(CAPACITY), 30, (1,))
    assert whole.features is not None
    expected = whole.logits
    assert graphs.forward(ids[:6], graphs.new_cache(CAPACITY), 1).features is None
    kept = []
    kv = graphs.new_cache(CAPACITY)
    for start, num_logits in [(0, 0), (6, 1), (12, 4), (18, 6)]:
        kept.append((start, num_logits, graphs.forward(ids[start : start + 6], kv, num_logits, (1,))))
    for start, num_logits, result in kept:  # compared late: a later pass must not write over an earlier one's rows
        assert result.features is not None
        assert torch.allclose(result.features, whole.features[start : start + 6], atol=1e-3)
        assert result.logits.shape == (num_logits, VOCAB_SIZE)
        assert torch.allclose(result.logits, expected[start + 6 - num_logits : start + 6], atol=1e-4)


def test_trees_and_long_passes_run_eagerly(tmp_path: Path) -> None:
    decoder = load(tmp_path, "qwen3")
    graphs = taped(decoder)
    ids = ids_of(60)
    eager_kv, kv = decoder.new_cache(CAPACITY), graphs.new_cache(CAPACITY)
    for target, cache in ((decoder, eager_kv), (graphs, kv)):
        target.forward(ids[:33], cache, 1)
    assert graphs.captured_passes == 0
    tree = [
        decoder.forward(ids[33:38], eager_kv, 5, (), (-1, 0, -1)),
        graphs.forward(ids[33:38], kv, 5, (), (-1, 0, -1)),
    ]
    assert (tree[0].logits - tree[1].logits).abs().max() < 1e-4
    assert graphs.captured_passes == 0
    for cache in (eager_kv, kv):
        cache.accept([2], [ids[37]])
    behind = [decoder.forward(ids[40:43], eager_kv, 3).logits, graphs.forward(ids[40:43], kv, 3).logits]
    assert (behind[0] - behind[1]).abs().max() < 1e-4
    assert graphs.captured_passes == 1
    assert kv.token_ids == eager_kv.token_ids
    # A tree of which nothing was accepted is no longer kept.
    graphs.forward(ids[33:38], kv, 5, (), (-1, 0, -1))
    graphs.forward(ids[40:43], kv, 3)
    assert kv.tree is None


def test_what_was_recorded_belongs_to_one_cache_and_its_buffers(tmp_path: Path) -> None:
    decoder = load(tmp_path, "qwen2")
    graphs = taped(decoder)
    ids = ids_of(8)
    expected = decoder.forward(ids, decoder.new_cache(CAPACITY), 8).logits
    first, larger = graphs.new_cache(CAPACITY), graphs.new_cache(400)
    assert (graphs.forward(ids, first, 8).logits - expected).abs().max() < 1e-4
    first.rollback(0)
    graphs.forward(ids, first, 8)
    assert graphs.captured_passes == 1
    before = first.keys.clone()
    assert (graphs.forward(ids, larger, 8).logits - expected).abs().max() < 1e-4
    assert graphs.captured_passes == 2
    assert torch.equal(first.keys, before)
    assert larger.keys[:, :, :8].abs().min() > 0
    larger.rollback(0)
    larger.keys, larger.values = torch.zeros_like(larger.keys), torch.zeros_like(larger.values)
    assert (graphs.forward(ids, larger, 8).logits - expected).abs().max() < 1e-4
    assert graphs.captured_passes == 3
    assert larger.keys[:, :, :8].abs().min() > 0


def test_int8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="int8"):
        GraphDecoder(load(tmp_path, "llama", "int8"))


def test_buckets() -> None:
    assert [token_bucket(count) for count in (1, 2, 3, 4, 5, 31, 32, 33)] == [1, 2, 4, 4, 8, 32, 32, None]
    assert [key_bucket(count, 1500) for count in (1, 512, 513, 1024, 1025, 1500)] == [512, 512, 1024, 1024, 1500, 1500]
    with pytest.raises(ValueError, match="129 keys of a cache with 128 rows"):
        key_bucket(129, 128)


def test_bfloat16_attention_is_float32_s_to_rounding() -> None:
    torch.manual_seed(0)
    positions = torch.arange(10, 18)
    queries, rows = torch.randn(8, 6, 32), torch.randn(2, 8, 2, 32)
    keys, values = torch.randn(2, 2, 64, 32)
    wide = StaticPlan(positions, 32).attend(queries, rows[0], rows[1], keys.clone(), values.clone())
    new_keys, new_values = rows.bfloat16()
    narrow = StaticPlan(positions, 32).attend(
        queries.bfloat16(), new_keys, new_values, keys.bfloat16(), values.bfloat16()
    )
    assert narrow.dtype is torch.bfloat16
    assert (narrow.float() - wide).abs().max() < 0.05
    assert wide.std() > 0.2


class FakeCuda:
    """Takes the place of what CudaRecorder calls of ``torch.cuda``, and notes the order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[str] = []
        fake = self

        class Stream:
            def wait_stream(self, other: Any) -> None:
                fake.events.append("wait")

        class Graph:
            def pool(self) -> str:
                return "the pool"

            def replay(self) -> None:
                fake.events.append("replay")

        @contextlib.contextmanager
        def graph(made: Any, pool: Any, capture_error_mode: str) -> Iterator[None]:
            fake.events.append(f"capture {pool}")
            yield
            fake.events.append("captured")

        for name, stand_in in {
            "device": lambda device: contextlib.nullcontext(), "current_stream": Stream, "Stream": Stream,
            "stream": lambda stream: contextlib.nullcontext(), "CUDAGraph": Graph, "graph": graph,
        }.items():  # fmt: skip
            monkeypatch.setattr(torch.cuda, name, stand_in)


def test_a_capture_comes_behind_a_warm_up_and_shares_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeCuda(monkeypatch)
    recorder = CudaRecorder(torch.device("cuda"))
    outputs: Outputs = (torch.zeros(1), None)

    def run() -> Outputs:
        fake.events.append("run")
        return outputs

    replay = recorder.record(run)
    assert fake.events == ["wait", "run", "run", "wait", "capture None", "run", "captured"]
    recorder.record(run)
    fake.events.clear()
    assert replay() is outputs
    assert fake.events == ["replay"]
    recorder.record(run)
    assert "capture the pool" in fake.events


@pytest.mark.skipif(not torch.cuda.is_available(), reason="captures need a CUDA device")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_captured_passes_are_the_eager_ones(architecture: str, tmp_path: Path) -> None:
    decoder = load(tmp_path, architecture, device="cuda")
    graphs = GraphDecoder(decoder, smallest_keys=SMALL_KEYS)
    prompt = ids_of(20)
    plain = answer(decoder, prompt, NoDrafter(), 100)
    kv = graphs.new_cache(CAPACITY)
    for wrong_every in (1, 2, 9, 1000):
        assert answer(graphs, prompt, Copyist(prompt + plain, 20, wrong_every), 100, kv) == plain
    assert graphs.captured_passes > 3
