"""Dense vectors: similar texts are near each other, and vectors have length 1."""

from __future__ import annotations

import numpy as np
import pytest

from fonds.grouping.algorithms import encoder as dense
from fonds.model.errors import ConfigurationError


@pytest.fixture(scope="module")
def encoder() -> dense.Encoder:
    pytest.importorskip("onnxruntime", reason="the extra `dense` is not installed")
    return dense.Encoder()


def test_texts_of_similar_meaning_have_near_vectors(encoder: dense.Encoder) -> None:
    texts = ["A physician treats the sick", "The doctor heals patients", "Shares fell in Tokyo"]
    vectors = encoder.encode(texts)
    assert vectors.shape == (3, dense.DIMENSIONS)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_long_and_empty_texts_have_vectors_too(encoder: dense.Encoder) -> None:
    vectors = encoder.encode(["", "  ", "word " * 100_000, "\ufffd\x00", "word"])
    assert not vectors[:2].any()
    assert np.isfinite(vectors).all()
    assert encoder.encode([]).shape == (0, dense.DIMENSIONS)


def test_without_the_extra_the_error_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dense, "_MODEL", ("no_such_package_here", "model.onnx"))
    with pytest.raises(ConfigurationError, match=r"fonds\[dense\]"):
        dense.Encoder()
