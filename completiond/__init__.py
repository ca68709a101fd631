"""completiond: a code-completion daemon with lossless speculative decoding."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
