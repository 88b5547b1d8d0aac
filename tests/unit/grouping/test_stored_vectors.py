"""Stored vectors of an encoder: they decode unchanged, and damaged ones are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.grouping.stored.dense_vectors import (
    MARK_BYTES,
    NUMBERS_MAX,
    decode_text_vector,
    encode_text_vector,
    hash_mark,
)
from fonds.grouping.stored.packing import seal_payload
from fonds.model.errors import DamagedInputError

MODEL, TEXT = hash_mark(b"model"), hash_mark(b"text")


@given(st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=50))
def test_a_vector_is_decoded_with_its_model_and_text_hash(numbers: list[float]) -> None:
    long = np.array(numbers, np.float32)
    vector = long / max(float(np.linalg.norm(long)), 1e-9)
    text_vector = decode_text_vector(encode_text_vector(MODEL, TEXT, vector))
    assert (text_vector.version, text_vector.digest) == (MODEL, TEXT)
    assert np.allclose(text_vector.numbers, vector, atol=1e-3)
    assert encode_text_vector(MODEL, TEXT, text_vector.numbers) == encode_text_vector(
        MODEL, TEXT, vector
    )


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"FGe",
        seal_payload(b"e", MODEL + TEXT),
        seal_payload(b"e", MODEL + TEXT + b"\x00"),
        seal_payload(b"v", MODEL + TEXT + bytes(8)),
        seal_payload(b"e", MODEL + TEXT + np.array([1, 1], "<f2").tobytes()),
        seal_payload(b"e", MODEL + TEXT + np.array([np.nan], "<f2").tobytes()),
        seal_payload(b"e", MODEL + TEXT + bytes(2 * NUMBERS_MAX + 2)),
        encode_text_vector(MODEL, TEXT, np.eye(3, dtype=np.float32)[0])[:-1],
    ],
)
def test_an_invalid_vector_is_refused(value: bytes) -> None:
    with pytest.raises(DamagedInputError):
        decode_text_vector(value)


def test_different_models_and_texts_have_different_hashes() -> None:
    assert len({hash_mark(content) for content in (b"model", b"text", b"", b"text ")}) == 4
    assert len(MODEL) == MARK_BYTES
