"""Train the model that classifies the blocks of pages, on the labelled pages of the corpus.

    python scripts/train_pages.py --folds 5    # cross-validate by site
    python scripts/train_pages.py              # write src/fonds/extract/article/weights.npz

Pages with a labelled full text give a label for each block. Snippets give labels for the blocks that contain
them. On pages without labels, blocks on which four other extractors agree get a label with a small weight.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fonds.extract.article.classifier import (
    KEEP_THRESHOLD,
    ClassifierWeights,
    apply_opinion,
    compute_uncertainty,
    score_blocks,
)
from fonds.extract.article.extraction import (
    DOUBT_MAX,
    OPINION_STRENGTH,
    normalize_text,
    read_page,
)
from fonds.extract.charset import decode_page
from page_gold import Marked, Score, compute_shingle_score, compute_snippet_score, read_marked_pages
from page_peers import Extractor, install_peers

Floats = NDArray[np.float32]
WEIGHTS = Path(__file__).parents[1] / "src" / "fonds" / "extract" / "article" / "weights.npz"
VOTERS = ("trafilatura", "trafilatura fast recall", "readability-lxml", "resiliparse")
SECOND_OPINION = "trafilatura fast recall"
HIDDEN, EPOCHS, BATCH, RATE, DECAY, DROPPED, NETS = 48, 14, 512, 2e-3, 1e-3, 0.25, 3
_NOT_WORD, _WORD = re.compile(r"\W+"), re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Lesson:
    """Training data of a page: features, targets (1: keep) and weights (0: unlabelled) of its blocks."""

    page: Marked
    features: Floats
    texts: list[str]
    targets: Floats
    weights: Floats
    agrees: NDArray[np.bool_]


def build_lesson(page: Marked, voters: dict[str, Extractor]) -> Lesson | None:
    markup, _ = decode_page(page.body, None)
    read = read_page(markup)
    if read is None or read.features is None:
        return None
    texts = [normalize_text(block.text) for block in read.blocks]
    targets = np.zeros(len(texts), np.float32)
    weights = np.zeros(len(texts), np.float32)
    full = page.full_text
    if full is not None and page.source in (
        "article-extraction-benchmark",
        "newspaper",
        "readability",
    ):
        _label_by_text(full, texts, targets, weights)
    else:
        _label_by_votes([voters[name](markup) for name in VOTERS], texts, targets, weights)
    if page.has_snippets:
        _label_by_snippets(page, texts, targets, weights)
    opinion = _squash(voters[SECOND_OPINION](markup))
    agrees = np.array([_squash(block.text[:400]) in opinion for block in read.blocks])
    return Lesson(page, read.features, texts, targets, weights, agrees & (len(opinion) > 0))


def _label_by_text(full: str, texts: list[str], targets: Floats, weights: Floats) -> None:
    words = _WORD.findall(full.casefold())
    rows = set(zip(words, words[1:], words[2:], words[3:], strict=False))
    pairs = set(itertools.pairwise(words))
    lines = {_squash(line) for line in full.split("\n")}
    for index, text in enumerate(texts):
        words_of_block = _WORD.findall(text.casefold())
        if len(words_of_block) >= 6:
            own = list(
                zip(
                    words_of_block,
                    words_of_block[1:],
                    words_of_block[2:],
                    words_of_block[3:],
                    strict=False,
                )
            )
            share = sum(row in rows for row in own) / len(own)
            targets[index] = share >= 0.5
            weights[index] = 1.0 if not 0.2 < share < 0.8 else 0.3
        else:
            is_line = _squash(text) in lines
            own_pairs = list(itertools.pairwise(words_of_block))
            is_part = bool(own_pairs) and all(pair in pairs for pair in own_pairs)
            targets[index] = is_line
            weights[index] = 0.7 if is_line or not is_part else 0.1


def _label_by_votes(
    readings: list[str], texts: list[str], targets: Floats, weights: Floats
) -> None:
    squashed = [_squash(reading) for reading in readings]
    if min(map(len, squashed)) <= 150:
        return
    for index, text in enumerate(texts):
        block_text = _squash(text)[:400]
        if len(block_text) < 12:
            continue
        votes = sum(block_text in reading for reading in squashed)
        if votes in (0, len(squashed)):
            targets[index] = votes > 0
            weights[index] = 0.1


def _label_by_snippets(page: Marked, texts: list[str], targets: Floats, weights: Floats) -> None:
    for name, value in (("must_contain", 1), ("must_not_contain", 0)):
        for snippet in page.gold[name]:
            holding = [index for index, text in enumerate(texts) if snippet in text]
            for index in holding if value == 0 or len(holding) <= 2 else ():
                targets[index] = value
                weights[index] = 8 / len(holding)


def _squash(text: str) -> str:
    return _NOT_WORD.sub("", text).casefold()


def train(lessons: list[Lesson]) -> ClassifierWeights:
    labelled_masks = [lesson.weights > 0 for lesson in lessons]
    x = np.concatenate(
        [lesson.features[mask] for lesson, mask in zip(lessons, labelled_masks, strict=True)]
    )
    y = np.concatenate(
        [lesson.targets[mask] for lesson, mask in zip(lessons, labelled_masks, strict=True)]
    )
    w = np.concatenate(
        [lesson.weights[mask] for lesson, mask in zip(lessons, labelled_masks, strict=True)]
    )
    mean, spread = x.mean(0), x.std(0) + 1e-3
    x = np.clip((x - mean) / spread, -6, 6).astype(np.float32)
    nets = [_train_network(x, y, w, seed) for seed in range(NETS)]
    return ClassifierWeights(mean, spread, *(np.stack(part) for part in zip(*nets, strict=True)))


def _train_network(x: Floats, y: Floats, w: Floats, seed: int) -> list[Floats]:
    """Train one network by Adam with dropout and a rate that decays to zero."""
    random = np.random.default_rng(seed)
    sizes = (x.shape[1], HIDDEN, HIDDEN // 2, 1)
    parts: list[Floats] = []
    for inner, outer in itertools.pairwise(sizes):
        parts.append(random.normal(0, (2 / inner) ** 0.5, (inner, outer)).astype(np.float32))
        parts.append(np.zeros(outer, np.float32))
    first = [np.zeros_like(part) for part in parts]
    second = [np.zeros_like(part) for part in parts]
    batches = len(x) // BATCH
    step = 0
    for _ in range(EPOCHS):
        order = random.permutation(len(x))
        for batch in range(batches):
            rows = order[batch * BATCH : (batch + 1) * BATCH]
            step += 1
            rate = RATE * (1 - step / (EPOCHS * batches + 1))
            slopes = _compute_slopes(parts, x[rows], y[rows], w[rows], random)
            for k, slope in enumerate(slopes):
                first[k] = 0.9 * first[k] + 0.1 * slope
                second[k] = 0.999 * second[k] + 0.001 * slope**2
                size = first[k] / (1 - 0.9**step)
                size /= np.sqrt(second[k] / (1 - 0.999**step)) + 1e-8
                parts[k] -= (rate * (size + (10 * DECAY * parts[k] if k % 2 == 0 else 0))).astype(
                    np.float32
                )
    return parts


def _compute_slopes(
    parts: list[Floats], x: Floats, y: Floats, w: Floats, random: np.random.Generator
) -> list[Floats]:
    x = x * (random.random(x.shape, dtype=np.float32) > 0.05) / 0.95
    a = x @ parts[0] + parts[1]
    dropout_mask = (random.random(a.shape, dtype=np.float32) > DROPPED) / (1 - DROPPED)
    h = np.maximum(a, 0) * dropout_mask
    b = h @ parts[2] + parts[3]
    g = np.maximum(b, 0)
    p = 1 / (1 + np.exp(-(g @ parts[4] + parts[5])[:, 0]))
    error = ((p - y) * w / w.mean() / len(x)).astype(np.float32)[:, None]
    to_g = error @ parts[4].T * (b > 0)
    to_h = to_g @ parts[2].T * dropout_mask * (a > 0)
    return [x.T @ to_h, to_h.sum(0), h.T @ to_g, to_g.sum(0), g.T @ error, error.sum(0)]


def compute_scores(
    lessons: list[Lesson], layers: list[ClassifierWeights], *, has_second_opinion: bool
) -> tuple[Score, Score]:
    """Return the scores by snippets, and by shingles on scrapinghub's pages; each page has its own layers.

    With `has_second_opinion`, trafilatura decides where the model is in doubt, as in production.
    """
    texts = []
    for lesson, page_layers in zip(lessons, layers, strict=True):
        likely = score_blocks(page_layers, lesson.features)
        if (
            has_second_opinion
            and lesson.agrees.any()
            and compute_uncertainty(likely, lesson.features) > DOUBT_MAX
        ):
            likely = apply_opinion(likely, lesson.agrees, OPINION_STRENGTH)
        is_kept = likely >= KEEP_THRESHOLD
        texts.append(
            "\n".join(text for text, keep in zip(lesson.texts, is_kept, strict=True) if keep)
        )
    pairs = list(zip(lessons, texts, strict=True))
    snippets = [(lesson.page.gold, text) for lesson, text in pairs if lesson.page.has_snippets]
    full = [
        (lesson.page.full_text or "", text)
        for lesson, text in pairs
        if lesson.page.source == "article-extraction-benchmark"
    ]
    return compute_snippet_score(snippets), compute_shingle_score(full)


def choose_fold(site: str, folds: int) -> int:
    return int(hashlib.md5(site.encode(), usedforsecurity=False).hexdigest(), 16) % folds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=0, help="cross-validate by site instead")
    folds = parser.parse_args().folds
    with install_peers() as voters:
        lessons = [lesson for page in read_marked_pages() if (lesson := build_lesson(page, voters))]
    if not folds:
        layers = train(lessons)
        layers.save(WEIGHTS)
        print(f"{len(lessons)} pages, {layers.first.shape[1]} features: {WEIGHTS}")
        return
    by_fold = {
        fold: train([lesson for lesson in lessons if choose_fold(lesson.page.site, folds) != fold])
        for fold in range(folds)
    }
    judged = [by_fold[choose_fold(lesson.page.site, folds)] for lesson in lessons]
    for has_second_opinion in (False, True):
        print("model, with trafilatura in doubt" if has_second_opinion else "model alone")
        score_pair = compute_scores(lessons, judged, has_second_opinion=has_second_opinion)
        for name, score in zip(("snippets", "shingles"), score_pair, strict=True):
            print(f"  {name}: F1 {score.f1:.4f} ({score.precision:.4f}, {score.recall:.4f})")


if __name__ == "__main__":
    main()
