"""The names of drafters, as settings, requests and the command line spell them."""

from __future__ import annotations

from typing import Final, Literal, get_args

__all__ = ["DRAFTERS", "DrafterChoice"]

DrafterChoice = Literal["auto", "ngram", "eagle", "draft", "medusa", "lookahead", "none"]
"""
``auto``       copies from text where they are expected to do best, else the EAGLE head if there is one that pays
``ngram``      copies from the text, open files and recent edits
``eagle``      an EAGLE head
``draft``      a smaller model, or some layers of the model itself
``medusa``     Medusa heads
``lookahead``  Jacobi trajectories of the model itself
``none``       plain decoding
"""

DRAFTERS: Final[tuple[DrafterChoice, ...]] = get_args(DrafterChoice)
