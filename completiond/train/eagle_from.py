"""Training that goes on from a head that is there: an hour on one's own code begins where the hours of others ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from completiond.engine.shape import DecoderShape
from completiond.errors import UsageError
from completiond.spec.eagle_layouts import expected_tensors, our_names, read_shape
from completiond.spec.eagle_shape import EagleShape
from completiond.spec.head_file import HeadFile, take
from completiond.train.eagle_net import EagleNet
from completiond.train.eagle_start import head_shape

__all__ = ["StartHead", "read_start", "start_from_head"]


@dataclass(frozen=True, slots=True)
class StartHead:
    """A head of the kind that training makes. ``tensors``: under SafeAILab's names."""

    folder: Path
    shape: EagleShape
    tensors: Mapping[str, Tensor]

    @property
    def token_ids(self) -> Tensor:
        """The target's ids that it can guess, ascending, int64 [draft_vocab_size]."""
        return self.tensors["d2t"].long() + torch.arange(self.shape.draft_vocab_size)


def read_start(folder: Path, target: DecoderShape) -> StartHead:
    """Raises UsageError for a head that training could not have made for ``target``, and what reading a head does."""
    file = HeadFile.read(folder)
    names = our_names(file)
    shape = read_shape(file, names, target.hidden_size, target.num_layers)
    ours = head_shape(target, shape.intermediate_size, shape.draft_vocab_size, shape.max_positions)
    for name, wanted in asdict(ours).items():
        if (found := asdict(shape)[name]) != wanted:
            raise _refused(folder, f"its {name} is {found}, not {wanted}")
    if "d2t" not in names or "embed_tokens.weight" in names:
        raise _refused(folder, "it has no vocabulary of its own, or an embedding of its own")
    return StartHead(folder, shape, take(folder, names, expected_tensors(shape, names)))


def start_from_head(net: EagleNet, start: StartHead, scale: Tensor) -> None:
    """Set all weights of ``net``. ``scale`` float32 [feature_width]: what training divides the features by, which is
    part of the first product in a head that is saved (eagle_save.py).
    """
    weights = {name: start.tensors[name].float() for name in net.state_dict()}
    weights["fc.weight"] = weights["fc.weight"] * scale
    net.load_state_dict(weights)


def _refused(folder: Path, why: str) -> UsageError:
    return UsageError(f"{folder} is no head that training can go on from: {why}.", "Leave out --from, or name another.")
