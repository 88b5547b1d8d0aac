"""Block classifier: a small model that finds the blocks of a page that belong to its article.

`scripts/train_pages.py` trained the weights on labelled pages: three networks with two hidden
layers, whose outputs are averaged.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

KEEP_THRESHOLD = 0.5
"""Minimum probability of a block to be in the text of the article."""

_PRODUCTS_MAX = 200_000
"""Maximum number of multiplications in one matrix product. OpenBLAS divides larger products among
threads that busy-wait: 6 ms of processor time per page instead of 0.4.
"""

_WEIGHTS = Path(__file__).parent / "weights.npz"


@dataclass(frozen=True, slots=True)
class ClassifierWeights:
    """Weights of the networks of the block classifier.

    - `mean`, `spread`: mean and standard deviation of each feature, with which features are
      normalized.
    - `first`, `second`, `last`: weight matrices of the three layers. The first axis is the network.
    - `first_offset`, `second_offset`, `last_offset`: offsets (biases) that each layer adds, in the
      same order.
    """

    mean: Floats
    spread: Floats
    first: Floats
    first_offset: Floats
    second: Floats
    second_offset: Floats
    last: Floats
    last_offset: Floats

    def save(self, path: Path) -> None:
        """Write the weights to a file in half precision, which changes no block's probability by
        more than 0.01.
        """
        parts = {part.name: getattr(self, part.name).astype(np.float16) for part in fields(self)}
        with path.open("wb") as file:
            np.savez_compressed(file, **parts)


@cache
def load_layers() -> ClassifierWeights:
    """Load the weights of the block classifier that Fonds ships, once per process."""
    with np.load(_WEIGHTS, allow_pickle=False) as file:
        return ClassifierWeights(
            *(file[part.name].astype(np.float32) for part in fields(ClassifierWeights))
        )


def score_blocks(model: ClassifierWeights, features: Floats) -> Floats:
    """Return for each block the probability that it belongs to the article.

    `features` has one row per block.
    """
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
    """Return how uncertain the choice of the article's blocks is, from 0 to about 1.

    It is the uncertain share of the text that would be kept, weighted by block length. `scores` are
    the probabilities of the blocks. The first column of `features` must be the logarithm of the
    blocks' width.
    """
    weight = features[:, 0]
    doubt = float((weight * np.minimum(scores, 1 - scores)).sum())
    return doubt / max(float((weight * scores).sum()), 1.0)


def apply_opinion(scores: Floats, agrees: NDArray[np.bool_], strength: float) -> Floats:
    """Return the probabilities of blocks, corrected by the result of another extractor.

    - `scores`: probabilities that the blocks belong to the article.
    - `agrees`: for each block, whether the other extractor also found it.
    - `strength`: number added to the logit of a block that was found, and subtracted otherwise.
    """
    bounded_scores = np.clip(scores, 1e-4, 1 - 1e-4)
    logit = np.log(bounded_scores / (1 - bounded_scores)) + strength * np.where(agrees, 1, -1)
    return np.asarray(1 / (1 + np.exp(-logit)), dtype=np.float32)
