"""Every published layout of EAGLE checkpoints loads under its own names; what is not quite one is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from completiond.errors import ModelCorruptError, ModelUnsupportedError
from completiond.spec.eagle_checkpoint import load_eagle
from completiond.spec.eagle_head import EagleHead
from completiond.spec.eagle_shape import EagleShape
from tests.spec.eagle_files import Sizes, Tensors, config_of, eagle1, eagle3, head_target, randoms, write

SIZES = Sizes()
TARGET = head_target(SIZES)
HIDDEN, VOCAB = SIZES.hidden, SIZES.vocab
IDS = "eagle_aux_hidden_state_layer_ids"
PLAIN = EagleShape(
    version=3, hidden_size=16, intermediate_size=28, num_heads=4, num_kv_heads=2, head_dim=6, vocab_size=40,
    draft_vocab_size=12, target_hidden_size=16, feature_layers=(2, 4, 6), max_positions=512, rms_eps=1e-5,
    rope_theta=5000.0,
)  # fmt: skip
FIRST = replace(PLAIN, version=1, draft_vocab_size=VOCAB, feature_layers=(-1,))

HEAD3, WHOLE3, HEAD1 = eagle3(SIZES), eagle3(SIZES, reduced=False), eagle1(SIZES)
CONFIG = config_of(SIZES)
EMBEDDING = {"embed_tokens.weight": randoms(torch.Generator().manual_seed(9), VOCAB, HIDDEN)}
INPUT_NORM = {"input_norm.weight": torch.full((3 * HIDDEN,), 1.5)}
FC_NORMS = {f"fc_norm.{index}.weight": torch.full((HIDDEN,), 1.0 + index) for index in range(3)}


def renamed(tensors: Tensors, *names: tuple[str, str], prefix: str = "") -> Tensors:
    for old, new in names:
        tensors = {name.replace(old, new): tensor for name, tensor in tensors.items()}
    return {prefix + name: tensor for name, tensor in tensors.items()}


def speculators(**more: Any) -> dict[str, Any]:
    layer = {key: value for key, value in CONFIG.items() if key not in ("draft_vocab_size", "rope_theta")}
    return {
        "architectures": ["Eagle3DraftModel"],
        "speculators_model_type": "eagle3",
        "draft_vocab_size": SIZES.draft_vocab,
        "target_hidden_size": None,
        "norm_before_residual": True,
        IDS: [1, 4, 8],
        "transformer_layer_config": layer | {"rope_parameters": {"rope_type": "default", "rope_theta": 5000.0}},
        **more,
    }


SPECULATORS = renamed(HEAD3, ("midlayer.", "layers.0."))
LAYOUTS: dict[str, tuple[Tensors, dict[str, Any], EagleShape]] = {
    "SafeAILab": (HEAD3, CONFIG, PLAIN),
    "SafeAILab, embedding": (HEAD3 | EMBEDDING, CONFIG, PLAIN),
    "SafeAILab, half": ({k: v.half() if v.is_floating_point() else v for k, v in HEAD3.items()}, CONFIG, PLAIN),
    "no t2d": ({k: v for k, v in HEAD3.items() if k != "t2d"}, CONFIG, PLAIN),
    "int32 d2t": (HEAD3 | {"d2t": HEAD3["d2t"].int()}, CONFIG, PLAIN),
    "whole vocabulary": (WHOLE3, CONFIG | {"draft_vocab_size": VOCAB}, replace(PLAIN, draft_vocab_size=VOCAB)),
    "vocabulary unsaid": (WHOLE3, CONFIG | {"draft_vocab_size": None}, replace(PLAIN, draft_vocab_size=VOCAB)),
    "whole vocabulary, d2t": (
        WHOLE3 | {"d2t": torch.zeros(VOCAB).long(), "t2d": torch.ones(VOCAB).bool()},
        CONFIG | {"draft_vocab_size": VOCAB}, replace(PLAIN, draft_vocab_size=VOCAB),
    ),
    "buffer": (HEAD3 | {"midlayer.self_attn.rotary_emb.inv_freq": torch.ones(3)}, CONFIG, PLAIN),
    "defaults": (
        HEAD3, {k: v for k, v in CONFIG.items() if k not in ("rms_norm_eps", "rope_theta", "max_position_embeddings")},
        replace(PLAIN, rms_eps=1e-6, rope_theta=10000.0, max_positions=2048),
    ),
    "SpecForge": (
        HEAD3, CONFIG | {"eagle_config": {"use_aux_hidden_state": True, IDS: [0, 3, 8]}},
        replace(PLAIN, feature_layers=(1, 4, 9)),
    ),
    "SpecForge, the embedding's output": (
        HEAD3, CONFIG | {"eagle_config": {IDS: [-1, 3, 7]}}, replace(PLAIN, feature_layers=(0, 4, 8)),
    ),
    "speculators": (
        SPECULATORS, speculators(), replace(PLAIN, feature_layers=(1, 4, 8), norm_before_residual=True),
    ),
    "speculators, norms": (
        SPECULATORS | INPUT_NORM | EMBEDDING,
        speculators(norm_before_residual=False, norm_before_fc=True, norm_output=True, fc_norm=False),
        replace(PLAIN, feature_layers=(1, 4, 8), norm_before_fc=True, norm_output=True),
    ),
    "speculators, norm of each": (
        SPECULATORS | FC_NORMS, speculators(norm_before_residual=False, fc_norm=True),
        replace(PLAIN, feature_layers=(1, 4, 8), fc_norms=True),
    ),
    "norms unsaid": (HEAD3 | INPUT_NORM, CONFIG, replace(PLAIN, norm_before_fc=True)),
    "vLLM": (renamed(HEAD3, ("d2t", "draft_id_to_target_id"), prefix="model."), CONFIG, PLAIN),
    "vLLM, layers": (renamed(SPECULATORS, ("d2t", "draft_id_to_target_id"), prefix="model."), CONFIG, PLAIN),
    "EAGLE-1": (HEAD1, CONFIG, FIRST),
    "EAGLE-1, no bias": (eagle1(SIZES, bias=False), CONFIG, FIRST),
    "EAGLE-1, speculators": (
        renamed(HEAD1, ("fc.", "fusion_fc.")),
        {"speculators_model_type": "eagle", "transformer_layer_config": CONFIG}, FIRST,
    ),
    "EAGLE-1, vLLM": (renamed(HEAD1, prefix="model."), CONFIG, FIRST),
}  # fmt: skip


@pytest.mark.parametrize("file", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_loads(name: str, file: str, tmp_path: Path) -> None:
    tensors, config, shape = LAYOUTS[name]

    head = load_eagle(write(tmp_path, tensors, config, file), TARGET)

    assert head.shape == shape
    check_weights(head, tensors)
    check_borrowed(head, tensors)
    d2t = tensors.get("d2t", tensors.get("model.draft_id_to_target_id"))
    ids = range(VOCAB) if d2t is None else [int(shift) + index for index, shift in enumerate(d2t)]
    assert [head.target_id(index) for index in range(shape.draft_vocab_size)] == list(ids)


def check_weights(head: EagleHead, tensors: Tensors) -> None:
    """What was in the file, whatever it was called, is where it belongs."""

    def stored(*ends: str) -> Tensor:
        found = [[t for n, t in tensors.items() if n == e or n.endswith(("." + e, "n_" + e))] for e in ends]
        assert all(len(same) == 1 for same in found), ends
        return torch.cat([same[0].float() for same in found])

    weights = head.weights
    assert torch.equal(weights.fc, stored("fc.weight"))
    assert torch.equal(weights.qkv.data, stored("q_proj.weight", "k_proj.weight", "v_proj.weight"))
    assert torch.equal(weights.out.data, stored("o_proj.weight"))
    assert torch.equal(weights.gate_up.data, stored("gate_proj.weight", "up_proj.weight"))
    assert torch.equal(weights.down.data, stored("down_proj.weight"))
    assert torch.equal(weights.mlp_norm, stored("post_attention_layernorm.weight"))
    assert (weights.fc_bias is not None) == any(name.endswith("fc.bias") for name in tensors)
    assert len(weights.fc_norms) == (3 if head.shape.fc_norms else int(head.shape.norm_before_fc))
    if head.shape.version == 3:
        for mine, theirs in ((weights.input_norm, "input_layernorm"), (weights.hidden_norm, "hidden_norm")):
            assert mine is not None
            assert torch.equal(mine, stored(f"{theirs}.weight"))


def check_borrowed(head: EagleHead, tensors: Tensors) -> None:
    """A head without them has the target's embedding and, the first version, its product with the vocabulary."""
    own = [tensor for name, tensor in tensors.items() if name.endswith("embed_tokens.weight")]
    assert torch.equal(head.weights.embedding, own[0] if own else TARGET.embedding)
    assert (head.weights.lm_head is TARGET.lm_head) == (head.shape.version == 1)


def test_a_vocabulary_without_the_targets_padding_fits(tmp_path: Path) -> None:
    padded = head_target(replace(SIZES, vocab=64))

    assert load_eagle(write(tmp_path, HEAD3, CONFIG), padded).shape == PLAIN


def test_a_narrow_head_with_an_embedding_of_its_own_fits(tmp_path: Path) -> None:
    wide = replace(head_target(SIZES), hidden_size=24)
    tensors = HEAD3 | EMBEDDING | {"fc.weight": torch.ones(HIDDEN, 3 * 24)}

    shape = load_eagle(write(tmp_path, tensors, CONFIG), wide).shape

    assert (shape.hidden_size, shape.target_hidden_size, shape.feature_width) == (16, 24, 72)


# Refused


def refused(folder: Path, tensors: Tensors, config: Any, message: str) -> None:
    folder = write(folder, tensors, config)
    with pytest.raises(ModelUnsupportedError, match=message) as error:
        load_eagle(folder, TARGET)
    assert str(folder) in error.value.message
    assert error.value.advice


def ours(name: str) -> str:
    return name.replace("layers.0.", "midlayer.")


NEEDED3 = [*(HEAD3 | INPUT_NORM).keys() - {"t2d"}, "fc_norm.2.weight"]
NEEDED1 = sorted(HEAD1.keys() - {"fc.bias", "embed_tokens.weight"})


@pytest.mark.parametrize("name", sorted(NEEDED3))
def test_an_eagle_3_head_that_lacks_a_tensor_is_refused(name: str, tmp_path: Path) -> None:
    extra, switch = (FC_NORMS, {"fc_norm": True}) if "fc_norm" in name else (INPUT_NORM, {"norm_before_fc": True})
    tensors = HEAD3 | extra
    del tensors[name]

    refused(tmp_path, tensors, CONFIG | switch, f"the tensor {name} is missing")


@pytest.mark.parametrize("name", NEEDED1)
def test_an_eagle_1_head_that_lacks_a_tensor_is_refused(name: str, tmp_path: Path) -> None:
    refused(tmp_path, {k: v for k, v in HEAD1.items() if k != name}, CONFIG, f"the tensor {ours(name)} is missing")


@pytest.mark.parametrize("name", sorted(HEAD3 | EMBEDDING | INPUT_NORM))
def test_an_eagle_3_head_with_a_tensor_of_another_shape_is_refused(name: str, tmp_path: Path) -> None:
    tensors = HEAD3 | EMBEDDING | INPUT_NORM
    tensors[name] = torch.cat((tensors[name], tensors[name][:1]))
    found, expected = list(tensors[name].shape), list((HEAD3 | EMBEDDING | INPUT_NORM)[name].shape)

    refused(tmp_path, tensors, CONFIG, rf"{name} is \[{str(found)[1:-1]}\], not \[{str(expected)[1:-1]}\]")


@pytest.mark.parametrize("name", sorted(HEAD1))
def test_an_eagle_1_head_with_a_tensor_of_another_shape_is_refused(name: str, tmp_path: Path) -> None:
    tensors = HEAD1 | {name: HEAD1[name][..., :-1].contiguous()}

    refused(tmp_path, tensors, CONFIG, rf"{ours(name)} is \[.+\], not \[")


WITH_DIFFERENT_T2D = HEAD3["t2d"].roll(1)
NOT_ASCENDING = HEAD3["d2t"].index_fill(0, torch.tensor([0]), 20)
LAYER = "midlayer.self_attn."
BAD: list[tuple[str, Tensors, dict[str, Any], str]] = [
    ("a bias", HEAD3 | {LAYER + "q_proj.bias": torch.ones(24)}, {}, "q_proj.bias belongs to no layout"),
    ("a second layer", HEAD3 | {"layers.1.mlp.up_proj.weight": torch.ones(2)}, {}, "layers.1.mlp.up_proj.weight bel"),
    ("norms of EAGLE-3", HEAD1 | {"norm.weight": torch.ones(HIDDEN)}, {}, "norm.weight belongs to no layout"),
    ("d2t of EAGLE-3", HEAD1 | {"d2t": HEAD3["d2t"]}, {}, "d2t belongs to no layout"),
    ("twice the same", HEAD3 | {"model.fc.weight": HEAD3["fc.weight"] + 1}, {}, "fc.weight is there under two names"),
    ("norm denied", HEAD3 | INPUT_NORM, {"norm_before_fc": False}, "input_norm.weight belongs to no layout"),
    ("more norms than layers", HEAD3 | FC_NORMS | {"fc_norm.3.weight": torch.ones(HIDDEN)}, {}, "fc_norm.3.weight bel"),
    ("another draft vocabulary", HEAD3, {"draft_vocab_size": 13}, r"lm_head.weight is \[12, 16\], not \[13, 16\]"),
    ("no d2t", WHOLE3 | {"lm_head.weight": HEAD3["lm_head.weight"]}, {}, "d2t is missing"),
    ("not ascending", HEAD3 | {"d2t": NOT_ASCENDING}, {}, "d2t does not lead to ascending ids"),
    ("negative id", HEAD3 | {"d2t": HEAD3["d2t"] - 9}, {}, "d2t does not lead to ascending ids"),
    ("id out of range", HEAD3 | {"d2t": HEAD3["d2t"] + 20}, {}, "d2t does not lead to ascending ids of its vocab"),
    ("t2d says else", HEAD3 | {"t2d": WITH_DIFFERENT_T2D}, {}, "d2t and t2d do not say the same"),
    ("t2d says more", HEAD3 | {"t2d": torch.ones(VOCAB).bool()}, {}, "d2t and t2d do not say the same"),
    ("d2t is no number", HEAD3 | {"d2t": HEAD3["d2t"].float()}, {}, "the tensor d2t is torch.float32"),
    ("quantised", HEAD3 | {"fc.weight": HEAD3["fc.weight"].to(torch.int8)}, {}, "the tensor fc.weight is torch.int8"),
    ("states of another width", HEAD3, {"target_hidden_size": 32}, r"fc.weight is \[16, 48\], not \[16, 96\]"),
    ("layers of another model", HEAD3, {IDS: [2, 4, 10]}, r"layers \[2, 4, 10\] of a model that has 9"),
    ("behind the last", HEAD3, {"eagle_config": {IDS: [1, 3, 9]}}, r"layers \[2, 4, 10\] of a model that has 9"),
    ("before the first", HEAD3, {IDS: [-1, 4, 5]}, r"layers \[-1, 4, 5\]"),
    ("four layers", HEAD3, {IDS: [1, 2, 3, 4]}, r"fc.weight is \[16, 48\], not \[16, 64\]"),
    ("layers are text", HEAD3, {IDS: ["1", "2", "3"]}, f"says {IDS} is \\['1', '2', '3'\\]"),
    ("outputs are text", HEAD3, {"eagle_config": {IDS: ["1", 2, 3]}}, f"says {IDS} is"),
    ("layers are a number", HEAD3, {IDS: 3}, f"says {IDS} is 3"),
    ("a layer is a truth", HEAD3, {IDS: [True, 2, 3]}, f"says {IDS} is"),
    ("eagle_config is a list", HEAD3, {"eagle_config": [1]}, r"says eagle_config is \[1\]"),
    ("nested sizes are a list", HEAD3, {"transformer_layer_config": [1]}, "says transformer_layer_config is"),
    ("scaled", HEAD3, {"rope_scaling": {"type": "linear", "factor": 2.0}}, "scaled rotary positions"),
    ("scaled, new name", HEAD3, {"rope_parameters": {"rope_type": "llama3"}}, "scaled rotary positions"),
    ("rope is text", HEAD3, {"rope_scaling": "linear"}, "says rope_scaling is 'linear'"),
    ("activation", HEAD3, {"hidden_act": "gelu"}, "the activation gelu is not supported"),
    ("two layers", HEAD3, {"num_hidden_layers": 2}, "heads of several layers"),
    ("heads do not divide", HEAD3, {"num_key_value_heads": 3}, "4 attention heads of width 6 over 3"),
    ("odd heads", HEAD3, {"head_dim": 5}, "4 attention heads of width 5 over 2"),
    ("no hidden size", HEAD3, {"hidden_size": None}, "does not say hidden_size"),
    ("size is text", HEAD3, {"intermediate_size": "28"}, "says intermediate_size is '28'"),
    ("size is a fraction", HEAD3, {"num_attention_heads": 4.5}, "says num_attention_heads is 4.5"),
    ("eps is text", HEAD3, {"rms_norm_eps": "small"}, "says rms_norm_eps is 'small'"),
    ("theta is text", HEAD3, {"rope_theta": "1e4"}, "says rope_theta is '1e4'"),
    ("switch is text", HEAD3, {"norm_output": "false"}, "says norm_output is 'false'"),
]  # fmt: skip


@pytest.mark.parametrize(("tensors", "config", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_file_that_is_not_quite_a_head_is_refused(
    tensors: Tensors, config: dict[str, Any], message: str, tmp_path: Path
) -> None:
    refused(tmp_path, tensors, CONFIG | config, message)


def test_a_head_for_another_model_is_refused(tmp_path: Path) -> None:
    def why(tensors: Tensors, config: dict[str, Any], **target: int) -> str:
        folder = write(tmp_path, tensors, config)
        with pytest.raises(ModelUnsupportedError, match="the head's own model") as error:
            load_eagle(folder, replace(TARGET, **target))  # type: ignore[arg-type]
        return error.value.message

    says_width = CONFIG | {"target_hidden_size": HIDDEN}
    assert "reads states of width 16, the model's are 24" in why(HEAD3 | EMBEDDING, says_width, hidden_size=24)
    assert "its vocabulary has 40 tokens, the model's 39" in why(HEAD3, CONFIG, vocab_size=39)
    assert "its vocabulary has 40 tokens, the model's 41" in why(HEAD1, CONFIG, vocab_size=41)
    narrow = HEAD3 | {"fc.weight": torch.ones(HIDDEN, 3 * 24)}
    assert "its width is 16, the model's 24, and it has no embedding" in why(narrow, CONFIG, hidden_size=24)
    assert "its width is 16, the model's 24" in why(HEAD1, CONFIG | {"target_hidden_size": 24}, hidden_size=24)
    four = CONFIG | {"eagle_config": {IDS: [1, 3, 6]}}
    assert "layers [2, 4, 7] of a model that has 6" in why(HEAD3, four, num_layers=6)
    # By default it reads an early, the middle and a late layer, which a model of two does not have.
    assert "layers [2, 1, -1] of a model that has 2" in why(HEAD3, CONFIG, num_layers=2)


@pytest.mark.parametrize(
    ("config", "seen"),
    [
        ({"sliding_window": 100}, 100),
        ({"sliding_window": 4096}, 512),
        ({"sliding_window": None}, 512),
        ({"sliding_window": 100, "use_sliding_window": False}, 512),
    ],
)
def test_it_looks_back_no_further_than_its_sliding_window(config: dict[str, Any], seen: int, tmp_path: Path) -> None:
    write(tmp_path / "head", HEAD3, CONFIG | config)
    assert load_eagle(tmp_path / "head", TARGET).shape.max_positions == seen


def test_without_a_configuration_it_says_what_is_missing(tmp_path: Path) -> None:
    refused(tmp_path, HEAD3, None, "config.json does not say num_attention_heads")


def test_a_configuration_that_is_no_object_is_corrupt(tmp_path: Path) -> None:
    with pytest.raises(ModelCorruptError, match="not a JSON object"):
        load_eagle(write(tmp_path, HEAD3, [1]), TARGET)


def test_a_folder_without_a_head_says_so(tmp_path: Path) -> None:
    with pytest.raises(ModelUnsupportedError, match=r"model\.safetensors or pytorch_model\.bin is missing"):
        load_eagle(tmp_path, TARGET)
