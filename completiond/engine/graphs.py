"""The whole decode pass as one CUDA graph: what a GPU does per token without waiting for Python (CUDA graphs: the
CUDA programming guide, "Stream capture", and torch.cuda.CUDAGraph).

A pass of up to 32 tokens is padded to a bucket and replayed; longer ones and trees run eagerly. On a CPU the same
fixed-shape code runs uncaptured, so that its arithmetic and its bookkeeping can be tested without a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import embedding

from completiond.cache.kv import KVCache
from completiond.engine.decoder import Decoder, rotary_table
from completiond.engine.static_pass import SMALLEST_KEYS, TOKEN_BUCKETS, FusedKernels, StaticPlan, key_bucket
from completiond.engine.static_pass import token_bucket as bucket_of
from completiond.engine.target import Pass

__all__ = ["CudaRecorder", "GraphDecoder", "Outputs", "PlainRecorder", "Recorder"]

Outputs = tuple[Tensor, Tensor | None]
"""Logits float32 [M, vocab_size] and features float32 [M, layers * hidden_size] of all rows, padding included."""

WARM_UP_PASSES = 2
"""Before a capture: libraries set themselves up in their first calls, which must not be recorded."""


class Recorder(Protocol):
    """Makes something that repeats a pass out of the pass."""

    def record(self, run: Callable[[], Outputs]) -> Callable[[], Outputs]:
        """``run`` reads and writes the same tensors at every call. What is returned does the same work again; its
        outputs may lie where an earlier call's lay, or the outputs of another pass recorded here.
        """


class PlainRecorder:
    """Records nothing: every pass runs through Python. For CPUs."""

    def record(self, run: Callable[[], Outputs]) -> Callable[[], Outputs]:
        """See Recorder.record."""
        return run


class CudaRecorder:
    """Captures passes as CUDA graphs that share one memory pool, which is right as long as they never run at once."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool: Any = None

    def record(self, run: Callable[[], Outputs]) -> Callable[[], Outputs]:
        """See Recorder.record. Runs the pass a few times, which is harmless: it writes the same rows each time."""
        cuda: Any = torch.cuda  # its streams have no types
        with cuda.device(self._device):
            caller, side = cuda.current_stream(), cuda.Stream()
            side.wait_stream(caller)
            with cuda.stream(side):
                for _ in range(WARM_UP_PASSES):
                    run()
            caller.wait_stream(side)
            graph = cuda.CUDAGraph()
            # thread_local: other threads of the program may go on using the GPU meanwhile.
            with cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                outputs = run()
        # A pool lives as long as a graph in it, so the first one's is asked for, not an empty one made.
        self._pool = graph.pool()

        def replay() -> Outputs:
            graph.replay()
            return outputs

        return replay


class _CachePasses:
    """Everything that is tied to the addresses of one cache's buffers."""

    def __init__(self, kv: KVCache, rotary: Tensor, recorder: Recorder) -> None:
        self.kv = kv
        self.keys, self.values = kv.keys, kv.values
        self.rotary = rotary
        self.recorder = recorder
        self.recorded: dict[tuple[int, int, tuple[int, ...]], Callable[[], Outputs]] = {}

    def belongs_to(self, kv: KVCache) -> bool:
        """Whether ``kv`` is that cache, with the buffers it had."""
        return self.kv is kv and self.keys is kv.keys and self.values is kv.values


class GraphDecoder(Decoder):
    """A decoder's weights behind fixed-shape passes: a TargetModel that gives its tokens, to rounding.

    Graphs are captured when a pass first needs them, one per bucket of tokens, bucket of keys and set of feature
    layers, and belong to one cache: a pass with another cache drops them all. The last cache used is kept alive.
    """

    def __init__(
        self, decoder: Decoder, recorder: Callable[[], Recorder] | None = None, smallest_keys: int = 0
    ) -> None:
        """``recorder`` makes a new recorder for each cache; by default the device decides. ``smallest_keys``: see
        static_pass.key_bucket; 0 for its default.

        Raises ValueError for int8 weights: those are bit-exact in passes of any size, which padding would not keep.
        """
        if decoder.kernels.int8:
            raise ValueError("int8 weights have no fixed-shape pass")
        super().__init__(
            decoder.shape, decoder.weights, FusedKernels(decoder.kernels.dtype), decoder.device, decoder.dtype_name
        )
        self.captured_passes = 0
        """How many were recorded so far, for all caches."""
        on_gpu = self.device.type == "cuda"
        self._recorder = recorder or ((lambda: CudaRecorder(self.device)) if on_gpu else PlainRecorder)
        self._smallest_keys = smallest_keys or SMALLEST_KEYS
        # The place of the first token, then the token ids: one copy to the device per pass.
        self._inputs = torch.zeros(1 + max(TOKEN_BUCKETS), dtype=torch.int64, device=self.device)
        self._offsets = torch.arange(max(TOKEN_BUCKETS), device=self.device)
        self._passes: _CachePasses | None = None

    @torch.inference_mode()
    def forward(
        self,
        token_ids: Sequence[int],
        kv: KVCache,
        num_logits: int,
        feature_layers: Sequence[int] = (),
        parents: Sequence[int] = (),
    ) -> Pass:
        """See TargetModel.forward."""
        start, num_tokens = kv.num_tokens, len(token_ids)
        bucket = bucket_of(num_tokens)
        # Padding is written too, so it needs rows, though not valid ones. A pass that does not fit at all is refused.
        num_rows = min(kv.keys.shape[2], kv.values.shape[2])
        fits = bucket is not None and start + bucket <= num_rows and 0 < num_tokens <= kv.capacity_tokens - start
        if parents or bucket is None or not fits:
            return super().forward(token_ids, kv, num_logits, feature_layers, parents)
        num_keys = key_bucket(start + bucket, num_rows, self._smallest_keys)
        inputs = torch.tensor([start, *token_ids, *[0] * (bucket - num_tokens)])
        # Not waited for: the host's memory is not pinned, so the call returns when it has been read.
        self._inputs[: 1 + bucket].copy_(inputs, non_blocking=True)
        kv.tree = None
        logits, features = self._recorded(kv, bucket, num_keys, tuple(feature_layers))()
        kv.extend(token_ids)
        # Copies: the next pass writes its outputs, or what it computes on the way, where these lie.
        return Pass(
            logits[num_tokens - num_logits : num_tokens].clone(),
            None if features is None else features[:num_tokens].clone(),
        )

    def _recorded(
        self, kv: KVCache, bucket: int, num_keys: int, feature_layers: tuple[int, ...]
    ) -> Callable[[], Outputs]:
        passes = self._passes
        if passes is None or not passes.belongs_to(kv):
            self._passes = None  # gives the old graphs' memory back before new ones ask for theirs
            table = rotary_table(self.shape.head_dim, self.shape.rope_theta, kv.keys.shape[2])
            passes = _CachePasses(kv, table.to(self.device, self.kernels.dtype), self._recorder())
            self._passes = passes
        key = (bucket, num_keys, feature_layers)
        if key not in passes.recorded:
            passes.recorded[key] = passes.recorder.record(self._fixed_pass(passes, bucket, num_keys, feature_layers))
            self.captured_passes += 1
        return passes.recorded[key]

    def _fixed_pass(
        self, passes: _CachePasses, bucket: int, num_keys: int, feature_layers: tuple[int, ...]
    ) -> Callable[[], Outputs]:
        """The pass of that shape; start and token ids are what ``_inputs`` holds when it runs."""

        def run() -> Outputs:
            positions = self._inputs[0] + self._offsets[:bucket]
            cos, sin = passes.rotary.index_select(1, positions).unbind()
            x = embedding(self._inputs[1 : 1 + bucket], self.weights.embedding).to(self.kernels.dtype)
            x, features = self._layers(x, cos, sin, passes.kv, StaticPlan(positions, num_keys), feature_layers)
            return self._logits(x), features

        return run
