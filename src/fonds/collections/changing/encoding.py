"""Dense vectors made of texts where a configuration names an encoder; the model is loaded once a process.

They are made whenever they are needed and kept nowhere: what is stored of a document stays what it was posted
with, and collections grouped by terms alone pay nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Lock

from fonds.collections.configurations import Configuration
from fonds.grouping.dense import NUMBERS, Encoder
from fonds.grouping.space.weighting import Floats

_ONE = Lock()


def numbers_of(configuration: Configuration) -> int:
    """How many numbers the dense vectors have that count; 0 where terms alone do."""
    return NUMBERS if configuration.encoder is not None else configuration.dense or 0


def check_encoder(configuration: Configuration) -> None:
    """Raises ConfigurationError, which names the extra, where a model is asked for that is not installed."""
    if configuration.encoder is not None:
        with _ONE:
            _encoder()


def encoded(texts: Sequence[str]) -> Floats:
    """Texts x 384, float32, each of length 1. Raises ConfigurationError without the extra."""
    with _ONE:
        return _encoder().encode(texts)


@cache
def _encoder() -> Encoder:
    return Encoder()
