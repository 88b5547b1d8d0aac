"""Vectors of an encoder: what was kept comes back, and what is altered is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.formats.grouping.dense import NUMBERS_MAX
from fonds.formats.grouping.encoded import (
    MARK_BYTES,
    from_vector_encoded,
    mark_of,
    to_vector_encoded,
)
from fonds.formats.grouping.packing import sealed
from fonds.model.errors import DamagedInputError

MODEL, TEXT = mark_of(b"model"), mark_of(b"text")


@given(st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=50))
def test_a_vector_comes_back_with_what_it_is_of(numbers: list[float]) -> None:
    long = np.array(numbers, np.float32)
    vector = long / max(float(np.linalg.norm(long)), 1e-9)
    found = from_vector_encoded(to_vector_encoded(MODEL, TEXT, vector))
    assert (found.version, found.digest) == (MODEL, TEXT)
    assert np.allclose(found.numbers, vector, atol=1e-3)
    assert to_vector_encoded(MODEL, TEXT, found.numbers) == to_vector_encoded(MODEL, TEXT, vector)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"FGe",
        sealed(b"e", MODEL + TEXT),
        sealed(b"e", MODEL + TEXT + b"\x00"),
        sealed(b"v", MODEL + TEXT + bytes(8)),
        sealed(b"e", MODEL + TEXT + np.array([1, 1], "<f2").tobytes()),
        sealed(b"e", MODEL + TEXT + np.array([np.nan], "<f2").tobytes()),
        sealed(b"e", MODEL + TEXT + bytes(2 * NUMBERS_MAX + 2)),
        to_vector_encoded(MODEL, TEXT, np.eye(3, dtype=np.float32)[0])[:-1],
    ],
)
def test_what_is_no_vector_is_refused(value: bytes) -> None:
    with pytest.raises(DamagedInputError):
        from_vector_encoded(value)


def test_other_models_and_texts_have_other_marks() -> None:
    assert len({mark_of(one) for one in (b"model", b"text", b"", b"text ")}) == 4
    assert len(MODEL) == MARK_BYTES
