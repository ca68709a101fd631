"""The published layouts of EAGLE checkpoints, brought to one set of names.

===========  ============================================================================================
SafeAILab    EAGLE-3: ``fc``, ``midlayer.*``, ``norm``, ``lm_head``, ``d2t``, ``t2d``, at times ``embed_tokens``.
             EAGLE-1 and -2: ``embed_tokens``, ``fc`` (with or without bias), ``layers.0.*``.
SpecForge    as SafeAILab's EAGLE-3; ``eagle_config.eagle_aux_hidden_state_layer_ids`` names the blocks whose
             *output* is read.
speculators  ``layers.0.*`` for ``midlayer.*``, ``fusion_fc`` for EAGLE-1's ``fc``; ``input_norm`` where
             ``norm_before_fc`` is set, ``fc_norm.*`` where ``fc_norm`` is; sizes under
             ``transformer_layer_config``; ``eagle_aux_hidden_state_layer_ids`` names the blocks whose *input* is
             read.
vLLM         any of them under ``model.``, ``draft_id_to_target_id`` for ``d2t``.
===========  ============================================================================================

An off-by-one in the layers only shows as a head that guesses badly; so each convention is converted here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from torch import Tensor

from completiond.errors import ModelUnsupportedError
from completiond.spec.eagle_shape import EagleShape
from completiond.spec.head_file import ADVICE, HeadFile

__all__ = ["expected_tensors", "our_names", "read_shape"]

_RENAMED = (
    ("model.", ""), ("layers.0.", "midlayer."), ("fusion_fc.", "fc."), ("draft_id_to_target_id", "d2t"),
)  # fmt: skip
_IGNORED = ("midlayer.self_attn.rotary_emb.inv_freq",)
"""Buffers of old libraries, which follow from the configuration."""
_ONLY_EAGLE_3 = frozenset({"midlayer.hidden_norm.weight", "midlayer.input_layernorm.weight"})
_LAYER_IDS = "eagle_aux_hidden_state_layer_ids"


def our_names(file: HeadFile) -> dict[str, Tensor]:
    """The tensors under SafeAILab's names, ``midlayer`` for both versions. Raises ModelUnsupportedError when one is
    there under two names.
    """
    found: dict[str, Tensor] = {}
    for name, tensor in file.tensors.items():
        for theirs, ours in _RENAMED:
            name = ours + name[len(theirs) :] if name.startswith(theirs) else name
        if name in found:
            raise ModelUnsupportedError(f"{file.folder}: the tensor {name} is there under two names.", ADVICE)
        if name not in _IGNORED:
            found[name] = tensor
    return found


def read_shape(file: HeadFile, names: Mapping[str, Tensor], target_hidden_size: int, num_layers: int) -> EagleShape:
    """Sizes and switches from the configuration; the version and the norms from the tensors that are there.

    ``names``: what ``our_names`` gave. ``target_hidden_size`` and ``num_layers`` are the target's. Raises
    ModelUnsupportedError for a configuration that says less than is needed, or what this head does not compute.
    """
    config = HeadFile(file.folder, {**file.config, **file.table("transformer_layer_config")}, {})
    version: Literal[1, 3] = 1 if _ONLY_EAGLE_3.isdisjoint(names) else 3
    if config.number("num_hidden_layers", 1) != 1:
        raise ModelUnsupportedError(
            f"{file.folder}: heads of several layers are not supported.", "Use one of one layer."
        )
    if str(config.config.get("hidden_act", "silu")) != "silu":
        raise ModelUnsupportedError(
            f"{file.folder}: the activation {config.config['hidden_act']} is not supported.", "Use a head with silu."
        )
    heads, hidden = config.number("num_attention_heads"), config.number("hidden_size")
    kv_heads, head_dim = config.number("num_key_value_heads", heads), config.number("head_dim", hidden // heads)
    if heads % kv_heads or head_dim % 2:
        raise ModelUnsupportedError(
            f"{file.folder}: {heads} attention heads of width {head_dim} over {kv_heads} of keys are not possible.",
            ADVICE,
        )
    vocab_size = config.number("vocab_size")
    rope = config.table("rope_parameters") or config.table("rope_scaling")
    if rope.get("rope_type", rope.get("type", "default")) != "default":
        raise ModelUnsupportedError(f"{file.folder}: scaled rotary positions are not supported.", "Use another head.")
    rope_theta = HeadFile(file.folder, rope, {}).decimal("rope_theta", 10000.0)
    layers = _feature_layers(file, num_layers) if version == 3 else (-1,)
    return EagleShape(
        version=version,
        hidden_size=hidden,
        intermediate_size=config.number("intermediate_size"),
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        vocab_size=vocab_size,
        draft_vocab_size=file.number("draft_vocab_size", vocab_size) if version == 3 else vocab_size,
        target_hidden_size=file.number("target_hidden_size", target_hidden_size),
        feature_layers=layers,
        max_positions=_trained_positions(config),
        rms_eps=config.decimal("rms_norm_eps", 1e-6),
        rope_theta=config.decimal("rope_theta", rope_theta),
        norm_before_residual=file.switch("norm_before_residual"),
        norm_output=file.switch("norm_output"),
        norm_before_fc=file.switch("norm_before_fc", "input_norm.weight" in names),
        fc_norms=file.switch("fc_norm", "fc_norm.0.weight" in names),
    )


def _trained_positions(config: HeadFile) -> int:
    """How far back a head looks: as far as it was trained for, or its sliding window, where that is in use."""
    positions = config.number("max_position_embeddings", 2048)
    if config.config.get("sliding_window") is None or not config.switch("use_sliding_window", True):
        return positions
    return min(positions, config.number("sliding_window"))


def _feature_layers(file: HeadFile, num_layers: int) -> tuple[int, ...]:
    """In our convention, the block a hidden state enters; (2, L//2, L-3) where nothing is said."""
    outputs, inputs = file.table("eagle_config").get(_LAYER_IDS), file.config.get(_LAYER_IDS)
    said = outputs or inputs or [2, num_layers // 2, num_layers - 3]
    if not isinstance(said, list) or not all(type(index) is int for index in said):
        raise ModelUnsupportedError(f"{file.folder}: config.json says {_LAYER_IDS} is {said!r}.", ADVICE)
    layers = [index + 1 for index in said] if outputs else said
    if not all(0 <= index <= num_layers for index in layers):
        raise ModelUnsupportedError(
            f"{file.folder}: it reads the layers {layers} of a model that has {num_layers}.",
            "Use the head's own model.",
        )
    return tuple(layers)


def expected_tensors(shape: EagleShape, names: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """Every tensor of a head of this shape, by our name; ``names`` decides on those that may be left out."""
    hidden, inner, dim = shape.hidden_size, shape.intermediate_size, shape.head_dim
    fc_width = shape.feature_width if shape.version == 3 else 2 * hidden
    sizes: dict[str, tuple[int, ...]] = {
        "fc.weight": (hidden, fc_width),
        "midlayer.self_attn.q_proj.weight": (shape.num_heads * dim, shape.input_width),
        "midlayer.self_attn.k_proj.weight": (shape.num_kv_heads * dim, shape.input_width),
        "midlayer.self_attn.v_proj.weight": (shape.num_kv_heads * dim, shape.input_width),
        "midlayer.self_attn.o_proj.weight": (hidden, shape.num_heads * dim),
        "midlayer.mlp.gate_proj.weight": (inner, hidden),
        "midlayer.mlp.up_proj.weight": (inner, hidden),
        "midlayer.mlp.down_proj.weight": (hidden, inner),
        "midlayer.post_attention_layernorm.weight": (hidden,),
    }
    if shape.version == 3:
        sizes["midlayer.hidden_norm.weight"] = sizes["midlayer.input_layernorm.weight"] = (hidden,)
        sizes["norm.weight"] = (hidden,)
        sizes["lm_head.weight"] = (shape.draft_vocab_size, hidden)
        if shape.draft_vocab_size != shape.vocab_size or "d2t" in names:
            sizes["d2t"] = (shape.draft_vocab_size,)
        if "t2d" in names:
            sizes["t2d"] = (shape.vocab_size,)
        if shape.norm_before_fc:
            sizes["input_norm.weight"] = (shape.feature_width,)
        if shape.fc_norms:
            for index in range(len(shape.feature_layers)):
                sizes[f"fc_norm.{index}.weight"] = (shape.target_hidden_size,)
    elif "fc.bias" in names:
        sizes["fc.bias"] = (hidden,)
    if "embed_tokens.weight" in names:
        sizes["embed_tokens.weight"] = (shape.vocab_size, hidden)
    return sizes
