"""Medusa heads from files of every layout, against the network written out plainly; and files that are refused."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import cosine_similarity, silu

from completiond.engine.linear import FloatKernels, Int8Kernels, Kernels, Weight, quantize_weight
from completiond.errors import ModelCorruptError, ModelUnsupportedError
from completiond.spec.medusa_heads import MedusaHeads, load_medusa
from tests.spec.malicious import Malicious

HIDDEN = 16
VOCAB = 48
HEADS = 3
KEPT = torch.tensor([40, 3, 17, 0, 47, 22])
CPU = torch.device("cpu")
FLOAT = FloatKernels(torch.float32)

Tensors = dict[str, Tensor]


def randoms(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=GENERATOR).mul_(shape[-1] ** -0.5)


GENERATOR = torch.Generator().manual_seed(3)
TARGET_LM_HEAD = randoms(VOCAB, HIDDEN) * 3


def blocks_of(name: str, num_blocks: int, bias: bool = True) -> Tensors:
    """Random residual blocks; ``name`` has places for head, block and kind."""
    tensors = {}
    for head in range(HEADS):
        for block in range(num_blocks):
            tensors[name.format(i=head, j=block, kind="weight")] = randoms(HIDDEN, HIDDEN)
            if bias:
                tensors[name.format(i=head, j=block, kind="bias")] = randoms(HIDDEN)
    return tensors


def lm_heads_of(name: str, rows: int = VOCAB, heads: int = HEADS) -> Tensors:
    return {name.format(i=head): 3 * randoms(rows, HIDDEN) for head in range(heads)}


def authors(num_blocks: int, prefix: str = "") -> Tensors:
    blocks = blocks_of(prefix + "{i}.{j}.linear.{kind}", num_blocks)
    return blocks | lm_heads_of(prefix + "{i}." + f"{num_blocks}.weight")


def whole_model() -> Tensors:
    base = {"model.embed_tokens.weight": randoms(VOCAB, HIDDEN), "lm_head.weight": randoms(VOCAB, HIDDEN)}
    return base | authors(1, "medusa_head.")


def vllm(num_blocks: int = 1, bias: bool = True, rows: int = VOCAB, heads: int = HEADS) -> Tensors:
    blocks = blocks_of("blocks.{i}.layers.{j}.{kind}", num_blocks, bias)
    return blocks | lm_heads_of("lm_heads.{i}.weight", rows, heads)


def shared(num_blocks: int = 1) -> Tensors:
    return blocks_of("{i}.{j}.linear.{kind}", num_blocks)


def write(folder: Path, tensors: Tensors, config: dict[str, Any] | None, file: str) -> Path:
    folder.mkdir(exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    if file.endswith(".safetensors"):
        save_file(tensors, folder / file)
    else:
        torch.save(tensors, folder / file)
    return folder


def pack(weight: Tensor, kernels: Kernels) -> Weight:
    return kernels.pack(*quantize_weight(weight), None) if kernels.int8 else Weight(weight.to(kernels.dtype))


def load(folder: Path, kernels: Kernels = FLOAT) -> MedusaHeads:
    def rows(token_ids: Tensor | None) -> Weight:
        return pack(TARGET_LM_HEAD if token_ids is None else TARGET_LM_HEAD[token_ids], kernels)

    return load_medusa(folder, HIDDEN, VOCAB, kernels, CPU, rows)


def plain_logits(state: Tensor, tensors: Tensors, block: str, lm_head: Callable[[int], Tensor]) -> Tensor:
    """Head by head, block by block."""
    logits = []
    for head in range(HEADS):
        x = state
        index = 0
        while (name := block.format(i=head, j=index, kind="weight")) in tensors:
            inner = tensors[name] @ x
            inner = inner + tensors.get(block.format(i=head, j=index, kind="bias"), torch.zeros(HIDDEN))
            x = x + silu(inner)
            index += 1
        logits.append(lm_head(head) @ x)
    return torch.stack(logits)


AUTHORS_BLOCK = "{i}.{j}.linear.{kind}"
VLLM_BLOCK = "blocks.{i}.layers.{j}.{kind}"

Layout = tuple[Tensors, dict[str, Any] | None, str, str, Callable[[int], Tensor], list[int]]


def layouts() -> dict[str, Layout]:
    """By name: tensors, configuration, file, names of blocks, plain product of each head, the target's ids."""
    everything = list(range(VOCAB))
    made: dict[str, Layout] = {}

    def add(
        name: str, tensors: Tensors, config: dict[str, Any] | None, file: str, block: str,
        lm_head: Callable[[int], Tensor], ids: list[int] = everything,
    ) -> None:  # fmt: skip
        made[name] = (tensors, config, file, block, lm_head, ids)

    for num_blocks, file in ((1, "medusa_lm_head.pt"), (2, "medusa_lm_head.safetensors"), (3, "medusa_lm_head.pt")):
        tensors = authors(num_blocks)
        add(f"authors, {num_blocks} blocks", tensors,
            {"medusa_num_heads": 2, "medusa_num_layers": 1, "base_model_name_or_path": "lmsys/vicuna-7b-v1.3"},
            file, AUTHORS_BLOCK,
            lambda i, t=tensors, n=num_blocks: t[f"{i}.{n}.weight"])  # type: ignore[misc]  # fmt: skip
    model = whole_model()
    add("in the model", model, {"hidden_size": HIDDEN, "vocab_size": VOCAB}, "model.safetensors",
        "medusa_head." + AUTHORS_BLOCK, lambda i: model[f"medusa_head.{i}.1.weight"])  # fmt: skip
    full = vllm(2)
    add("vllm", full, {"num_heads": 3, "hidden_size": HIDDEN, "vocab_size": VOCAB, "truncated_vocab_size": None},
        "model.safetensors", VLLM_BLOCK, lambda i: full[f"lm_heads.{i}.weight"])  # fmt: skip
    bare = vllm(bias=False)
    add("vllm, no bias", bare, {"medusa_fc_bias": False}, "pytorch_model.bin", VLLM_BLOCK,
        lambda i: bare[f"lm_heads.{i}.weight"])  # fmt: skip
    one = vllm(heads=1)
    add("vllm, one product", one, {"original_lm_head": True}, "model.safetensors", VLLM_BLOCK,
        lambda i: one["lm_heads.0.weight"])  # fmt: skip
    cut = vllm(rows=len(KEPT)) | {"token_map": KEPT}
    add("vllm, reduced", cut, {"truncated_vocab_size": len(KEPT), "vocab_size": VOCAB}, "model.safetensors",
        VLLM_BLOCK, lambda i: cut[f"lm_heads.{i}.weight"], KEPT.tolist())  # fmt: skip
    whole = vllm() | {"token_map": KEPT}
    add("vllm, reduced when loaded", whole, {"truncated_vocab_size": len(KEPT)}, "model.safetensors",
        VLLM_BLOCK, lambda i: whole[f"lm_heads.{i}.weight"][KEPT], KEPT.tolist())  # fmt: skip
    ours = shared(2)
    add("shared", ours, {"shared_lm_head": True}, "model.safetensors", AUTHORS_BLOCK, lambda i: TARGET_LM_HEAD)
    rows = shared() | {"token_ids": KEPT}
    add("shared rows", rows, {"shared_lm_head": True}, "medusa_lm_head.safetensors", AUTHORS_BLOCK,
        lambda i: TARGET_LM_HEAD[KEPT], KEPT.tolist())  # fmt: skip
    return made


LAYOUTS = layouts()


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_the_logits_of_the_plain_network(name: str, tmp_path: Path) -> None:
    tensors, config, file, block, lm_head, ids = LAYOUTS[name]
    heads = load(write(tmp_path, tensors, config, file))
    state = torch.randn(1, HIDDEN)
    expected = plain_logits(state[0], tensors, block, lm_head)

    assert (heads.num_heads, heads.draft_vocab_size) == (HEADS, len(ids))
    assert heads.logits(state).dtype is torch.float32
    assert (heads.logits(state) - expected).abs().max() < 1e-4
    assert (heads.logits(state, 2) - expected[:2]).abs().max() < 1e-4
    assert heads.target_ids(torch.arange(len(ids))).tolist() == ids


@pytest.mark.parametrize(
    "kernels",
    [Int8Kernels(), Int8Kernels(packed=False), FloatKernels(torch.bfloat16)],
    ids=["int8", "int8, not packed", "bfloat16"],
)
@pytest.mark.parametrize("name", LAYOUTS)
def test_coarser_kernels_come_close(name: str, kernels: Kernels, tmp_path: Path) -> None:
    tensors, config, file, block, lm_head, _ = LAYOUTS[name]
    heads = load(write(tmp_path, tensors, config, file), kernels)
    for _ in range(5):
        state = torch.randn(1, HIDDEN)
        expected = plain_logits(state[0], tensors, block, lm_head)
        assert cosine_similarity(heads.logits(state), expected, dim=-1).min() > 0.99


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_files_of_half_precision_run_in_the_type_of_the_target(dtype: torch.dtype, tmp_path: Path) -> None:
    tensors = {name: tensor.to(dtype) for name, tensor in authors(1).items()}
    heads = load(write(tmp_path, tensors, None, "medusa_lm_head.pt"))
    state = torch.randn(1, HIDDEN)
    wide = {name: tensor.float() for name, tensor in tensors.items()}

    expected = plain_logits(state[0], wide, AUTHORS_BLOCK, lambda i: wide[f"{i}.1.weight"])
    assert (heads.logits(state) - expected).abs().max() < 1e-4


def without(tensors: Tensors, name: str) -> Tensors:
    return {key: tensor for key, tensor in tensors.items() if key != name}


AUTHORS = authors(2)
MODEL = whole_model()
VLLM = vllm()
REDUCED = vllm(rows=len(KEPT)) | {"token_map": KEPT}
SHARED = shared()
TRUNCATED = {"truncated_vocab_size": len(KEPT)}
OURS = {"shared_lm_head": True}
BAD: list[tuple[str, Tensors, dict[str, Any], str]] = [
    ("block missing", without(AUTHORS, "1.0.linear.weight"), {}, "1.0.linear.weight is missing"),
    ("bias missing", without(AUTHORS, "2.1.linear.bias"), {}, "2.1.linear.bias is missing"),
    ("product missing", without(AUTHORS, "0.2.weight"), {}, "0.2.weight is missing"),
    ("gap in the heads", {k: v for k, v in AUTHORS.items() if k[0] != "1"}, {}, "1.0.linear.weight is missing"),
    ("far head", AUTHORS | {"9999999999.0.linear.bias": randoms(HIDDEN)}, {}, "3.0.linear.weight is missing"),
    ("no heads at all", {}, {}, "0.0.linear.weight is missing"),
    ("left over", AUTHORS | {"norm.weight": randoms(HIDDEN)}, {}, "norm.weight belongs to no layout"),
    ("product of no head", AUTHORS | {"3.2.weight": randoms(VOCAB, HIDDEN)}, {}, "3.2.weight belongs to no layout"),
    ("hidden size", AUTHORS | {"1.1.linear.weight": randoms(HIDDEN, 8)}, {}, "1.1.linear.weight is .16, 8., not"),
    ("bias shape", AUTHORS | {"1.1.linear.bias": randoms(HIDDEN, 1)}, {}, "1.1.linear.bias is .16, 1., not"),
    ("vocabulary", AUTHORS | {"2.2.weight": randoms(VOCAB + 1, HIDDEN)}, {}, "2.2.weight is .49, 16., not .48, 16."),
    ("no shape", AUTHORS | {"2.2.weight": torch.tensor(1.0)}, {}, r"2.2.weight is \[\], not"),
    ("whole numbers", AUTHORS | {"0.2.weight": torch.ones(VOCAB, HIDDEN).int()}, {}, "0.2.weight is torch.int32"),
    ("ids without a shared product", AUTHORS | {"token_ids": KEPT}, {}, "token_ids belongs to no layout"),
    ("of another width", AUTHORS, {"hidden_size": 32}, "hidden_size is 32, but the model's is 16"),
    ("of another vocabulary", AUTHORS, {"vocab_size": 32}, "vocab_size is 32, but the model's is 48"),
    ("size is no number", AUTHORS, {"vocab_size": "48"}, "vocab_size is '48'"),
    ("scaled", AUTHORS, {"logit_scale": 0.5}, "logit_scale"),
    ("in the model, missing", without(MODEL, "medusa_head.2.1.weight"), {}, "medusa_head.2.1.weight is missing"),
    ("in the model, left over", MODEL | {"medusa_head.x": KEPT}, {}, "medusa_head.x belongs to no layout"),
    ("vllm, missing", without(VLLM, "lm_heads.2.weight"), {}, "lm_heads.2.weight is missing"),
    ("vllm, some biases", without(VLLM, "blocks.1.layers.0.bias"), {}, "blocks.1.layers.0.bias is missing"),
    ("vllm, bias denied", VLLM, {"medusa_fc_bias": False}, "blocks.0.layers.0.bias belongs to no layout"),
    ("vllm, left over", VLLM | {"0.0.linear.weight": KEPT}, {}, "0.0.linear.weight belongs to no layout"),
    ("map without a size", VLLM | {"token_map": KEPT}, {}, "token_map belongs to no layout"),
    ("size without a map", without(REDUCED, "token_map"), TRUNCATED, "token_map is missing"),
    ("map of another size", REDUCED, {"truncated_vocab_size": 5}, r"token_map is torch.int64 \[6\], not int64 \[5\]"),
    ("map of another type", REDUCED | {"token_map": KEPT.int()}, TRUNCATED, "token_map is torch.int32"),
    ("map of too large ids", REDUCED | {"token_map": KEPT + 1}, TRUNCATED, "token_map does not hold ids below 48"),
    ("map of twice the same", REDUCED | {"token_map": KEPT // 9}, TRUNCATED, "token_map does not hold .* each once"),
    ("shared, products too", SHARED | {"0.1.weight": randoms(VOCAB, HIDDEN)}, OURS, "0.1.weight belongs to no"),
    ("shared, undeclared", SHARED, {}, "0.1.weight is missing"),
    ("shared, bad switch", SHARED, {"shared_lm_head": "yes"}, "shared_lm_head is 'yes'"),
    ("shared, table of ids", SHARED | {"token_ids": KEPT[None]}, OURS, r"token_ids is torch.int64 \[1, 6\]"),
    ("shared, no ids", SHARED | {"token_ids": KEPT[:0]}, OURS, "token_ids does not hold"),
]  # fmt: skip


@pytest.mark.parametrize(("tensors", "config", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_file_that_is_not_quite_a_head_is_refused_by_name(
    tensors: Tensors, config: dict[str, Any], message: str, tmp_path: Path
) -> None:
    folder = write(tmp_path, tensors, config, "medusa_lm_head.pt")

    with pytest.raises(ModelUnsupportedError, match=message) as error:
        load(folder)

    assert str(folder) in error.value.message
    assert error.value.advice


def test_a_folder_without_heads_says_which_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnsupportedError, match=r"medusa_lm_head\.safetensors or medusa_lm_head\.pt"):
        load(tmp_path)


@pytest.mark.parametrize("save", [torch.save, lambda obj, path: path.write_bytes(pickle.dumps(obj, 2))])
def test_code_in_a_pickle_is_not_run(save: Callable[[Any, Path], None], tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    save(authors(1) | {"0.1.weight": Malicious(touched)}, tmp_path / "medusa_lm_head.pt")

    with pytest.raises(ModelCorruptError, match=r"medusa_lm_head\.pt cannot be read"):
        load(tmp_path)

    assert not touched.exists()


@pytest.mark.parametrize("content", [[torch.ones(2)], {"0.0.linear.weight": 3}, torch.ones(2)])
def test_a_pickle_of_something_else_is_refused(content: object, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "medusa_lm_head.pt")

    with pytest.raises(ModelCorruptError, match="not a table of tensors"):
        load(tmp_path)


def test_a_file_that_ends_early_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, authors(1), None, "model.safetensors") / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-8])

    with pytest.raises(ModelCorruptError, match=r"model\.safetensors cannot be read"):
        load(tmp_path)
