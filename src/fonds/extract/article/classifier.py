"""Which blocks of a page are its article: a small model over what is evident of each.

The weights were made by `scripts/train_pages.py` out of marked pages; three networks of two hidden layers,
whose opinions are averaged.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

KEEP_THRESHOLD = 0.5
"""Blocks this likely to be of the article are its text."""

_PRODUCTS_MAX = 200_000
"""OpenBLAS shares larger products among threads that then wait busily: 6 ms CPU a page instead of 0.4."""

_WEIGHTS = Path(__file__).parent / "weights.npz"


@dataclass(frozen=True, slots=True)
class ClassifierWeights:
    """`mean` and `spread` of each feature; weights and offsets with one network a row."""

    mean: Floats
    spread: Floats
    first: Floats
    first_offset: Floats
    second: Floats
    second_offset: Floats
    last: Floats
    last_offset: Floats

    def save(self, path: Path) -> None:
        """Write them in half precision, which changes no judgement by more than 0.01."""
        parts = {part.name: getattr(self, part.name).astype(np.float16) for part in fields(self)}
        with path.open("wb") as file:
            np.savez_compressed(file, **parts)


@cache
def load_layers() -> ClassifierWeights:
    """The weights that come with the package, loaded once in a process."""
    with np.load(_WEIGHTS, allow_pickle=False) as file:
        return ClassifierWeights(
            *(file[part.name].astype(np.float32) for part in fields(ClassifierWeights))
        )


def score_blocks(model: ClassifierWeights, features: Floats) -> Floats:
    """How likely each block is of the article, 0 to 1; `features` has a row a block."""
    x = np.clip((features - model.mean) / model.spread, -6, 6)
    rows = max(1, _PRODUCTS_MAX // model.first[0].size)
    parts = [_compute_logits(model, x[start : start + rows]) for start in range(0, len(x), rows)]
    return np.asarray(1 / (1 + np.exp(-np.concatenate(parts))), dtype=np.float32)


def _compute_logits(model: ClassifierWeights, x: Floats) -> Floats:
    total = np.zeros(len(x), np.float32)
    for net in range(len(model.first)):
        h = np.maximum(x @ model.first[net] + model.first_offset[net], 0)
        g = np.maximum(h @ model.second[net] + model.second_offset[net], 0)
        total += (g @ model.last[net] + model.last_offset[net])[:, 0]
    return np.asarray(total / len(model.first), dtype=np.float32)


def compute_uncertainty(scores: Floats, features: Floats) -> float:
    """How much of what would be kept is in doubt, 0 to about 1, long blocks weighing more.

    The first feature is the logarithm of a block's width.
    """
    weight = features[:, 0]
    doubt = float((weight * np.minimum(scores, 1 - scores)).sum())
    return doubt / max(float((weight * scores).sum()), 1.0)


def apply_opinion(scores: Floats, agrees: NDArray[np.bool_], strength: float) -> Floats:
    """What becomes of the judgement when another extractor has, or has not, each block."""
    bounded = np.clip(scores, 1e-4, 1 - 1e-4)
    logit = np.log(bounded / (1 - bounded)) + strength * np.where(agrees, 1, -1)
    return np.asarray(1 / (1 + np.exp(-logit)), dtype=np.float32)
