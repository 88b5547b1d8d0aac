"""Groupings of labelled texts beside other recipes, in one run; then time, memory and stability at scale.

python scripts/bench_grouping.py [SET…]             # the labelled sets; peers are installed for the run
python scripts/bench_grouping.py --vectors DIR [SET…]   # dense vectors are kept in a folder for the next run
python scripts/bench_grouping.py scale 100000       # so many short documents beside bare scikit-learn calls
python scripts/bench_grouping.py stability          # a tenth of new documents, and a rebuild
"""

from __future__ import annotations

import gzip
import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from fonds.grouping.algorithms.assignment import assign
from fonds.grouping.algorithms.builder import GroupingInput, PreviousClustering, build
from fonds.grouping.algorithms.clustering import (
    Algorithm,
    Clustering,
    Options,
)
from fonds.grouping.algorithms.encoder import Encoder
from fonds.grouping.algorithms.stop_words import load_stop_words
from grouping_coherence import coherence
from grouping_peers import bare_topics, peers

SETS = Path(__file__).parents[1].parent / "shared" / "corpus" / "gold" / "text"
NAMES = ("bbc", "agnews_test", "SearchSnippets", "Tweet", "Pascal_Flickr")
SHORT_WORDS = 45


def labelled(name: str) -> tuple[list[str], np.ndarray]:
    """Texts of a set and the number of each one's label."""
    with gzip.open(SETS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows], np.unique(
        [row["label"] for row in rows], return_inverse=True
    )[1]


def score(truth: np.ndarray, members: np.ndarray) -> str:
    """NMI / ARI; what is in no cluster counts as one of its own for each document."""
    alone = np.where(members < 0, members.max() + 1 + np.arange(len(members)), members)
    found = len(np.unique(members[members >= 0]))
    nmi = normalized_mutual_info_score(truth, alone)
    return f"{nmi:.3f} / {adjusted_rand_score(truth, alone):.3f} [{found}]"


def row(name: str, recipe: str, shown: str, began: float) -> None:
    print(f"| {name} | {recipe} | {shown} | {time.perf_counter() - began:.1f} |", flush=True)


def ours(name: str, texts: list[str], truth: np.ndarray, dense: np.ndarray | None) -> None:
    clusters = int(truth.max()) + 1
    recipes = {
        "topics, k given": (Options(clusters=clusters), None),
        "topics, k chosen": (Options(), None),
        "stories, default threshold": (Options(algorithm=Algorithm.STORIES, size_min=1), None),
        "factors (NMF), k given": (Options(algorithm=Algorithm.FACTORS, clusters=clusters), None),
        "density (HDBSCAN)": (Options(algorithm=Algorithm.DENSITY), None),
        "topics, dense, k given": (Options(clusters=clusters), dense),
    }
    for recipe, (options, vectors) in recipes.items():
        if recipe.startswith("topics, dense") and vectors is None:
            continue
        began = time.perf_counter()
        made = build(GroupingInput(texts, dense=vectors), options, version=1)
        row(name, f"Fonds {recipe}", score(truth, made.levels[0].members), began)
        if recipe == "topics, k given":
            show_labels(texts, made)


def show_labels(texts: list[str], made: Clustering) -> None:
    """c_v of the clusters' ten terms, and which of them are stop words."""
    terms = [[term.lower() for term, _ in cluster.terms] for cluster in made.levels[0].clusters]
    stopped = [term for listed in terms for term in listed if term in load_stop_words("en")]
    print(f"|  | c_v {coherence(texts, terms):.3f}, stop words {stopped} |  |  |")
    for one in made.levels[0].clusters[:8]:
        print(f"|  | {one.size}: {one.label} |  |  |")


def dense_of(name: str, texts: list[str], kept: Path | None) -> np.ndarray:
    """The dense vectors of a set, read from the folder when they are there and written to it when not."""
    file = None if kept is None else kept / f"{name}.npy"
    if file is not None and file.exists():
        return np.asarray(np.load(file), np.float32)
    made = Encoder(threads=2).encode(texts)
    if file is not None:
        np.save(file, made)
    return made


def quality(names: Sequence[str], kept: Path | None) -> None:
    print("| set | recipe | NMI / ARI [found] | s |\n|---|---|---|---|")
    with peers() as others:
        for name in names:
            texts, truth = labelled(name)
            began = time.perf_counter()
            dense = dense_of(name, texts, kept)
            row(name, "dense vectors", "", began)
            ours(name, texts, truth, dense)
            for recipe, group in others.items():
                began = time.perf_counter()
                row(name, recipe, score(truth, group(texts, dense, int(truth.max()) + 1)), began)


def recombined(count: int) -> list[str]:
    """Short documents of 45 words cut from BBC and AG, each joined of two pieces of one label, so that each
    is new."""
    pieces: dict[tuple[str, int], list[str]] = {}
    for name in ("bbc", "agnews_test"):
        texts, truth = labelled(name)
        for text, label in zip(texts, truth, strict=True):
            words = text.split()
            halves = range(0, max(len(words) - 22, 1), 22)
            pieces.setdefault((name, int(label)), []).extend(
                " ".join(words[at : at + 23]) for at in halves
            )
    draw = np.random.default_rng(7)
    kinds = list(pieces.values())
    chosen = draw.integers(0, len(kinds), count)
    places = draw.random((count, 2))
    return [
        " ".join(kinds[kind][int(place * len(kinds[kind]))] for place in two)
        for kind, two in zip(chosen, places, strict=True)
    ]


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def scale(count: int) -> None:
    texts = recombined(count)
    before = peak_mb()
    marks: list[tuple[str, float]] = []
    began, cpu_began = time.perf_counter(), time.process_time()
    made = build(
        GroupingInput(texts),
        Options(clusters=20),
        version=1,
        progress=lambda stage: marks.append((stage, time.perf_counter() - began)),
    )
    spent, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    print(
        f"{count} documents: {spent:.1f} s, CPU {cpu:.1f} s, peak {peak_mb():.0f} MB, "
        f"{before:.0f} with texts alone"
    )
    print("  begins:", ", ".join(f"{stage} {at:.1f}" for stage, at in marks))
    some = texts[:: max(1, count // 20_000)]
    cpu_began = time.process_time()
    assign(made.model, some)
    print(
        f"  assigned: {len(some) / (time.process_time() - cpu_began):.0f} documents a second of CPU"
    )
    if count <= 100_000:
        began, cpu_began = time.perf_counter(), time.process_time()
        bare_topics(texts, 20)
        bare, bare_cpu = time.perf_counter() - began, time.process_time() - cpu_began
        print(f"  bare scikit-learn: {bare:.1f} s, CPU {bare_cpu:.1f} s")
        print(f"  ratio {spent / bare:.2f}, of CPU {cpu / bare_cpu:.2f}")


def stability(names: Sequence[str]) -> None:
    print("| set | keep their id | NMI before, warm, cold |\n|---|---|---|")
    for name in names:
        texts, truth = labelled(name)
        order = np.random.default_rng(3).permutation(len(texts))
        texts, truth = [texts[place] for place in order], truth[order]
        known = int(len(texts) / 1.1)
        options = Options(clusters=int(truth.max()) + 1)
        first = build(GroupingInput(texts[:known]), options, version=1)
        ids = tuple(cluster.id for cluster in first.levels[0].clusters)
        members = np.full(len(texts), -1)
        members[:known] = first.levels[0].members
        warm = build(
            GroupingInput(texts), options, version=2, previous=PreviousClustering(members, ids)
        )
        cold = build(GroupingInput(texts), options, version=2)
        new_ids = [cluster.id for cluster in warm.levels[0].clusters]
        kept = np.mean(
            [
                ids[old] == new_ids[new]
                for old, new in zip(members[:known], warm.levels[0].members[:known], strict=True)
                if old >= 0 and new >= 0
            ]
        )
        scores = [
            normalized_mutual_info_score(truth[: len(one)], one)
            for one in (members[:known], warm.levels[0].members, cold.levels[0].members)
        ]
        print(f"| {name} | {kept:.3f} | {', '.join(f'{one:.3f}' for one in scores)} |", flush=True)


def main(words: list[str]) -> None:
    if words[:1] == ["scale"]:
        scale(int(words[1]))
    elif words[:1] == ["stability"]:
        stability(words[1:] or NAMES)
    elif words[:1] == ["--vectors"]:
        quality(words[2:] or NAMES, Path(words[1]))
    else:
        quality(words or NAMES, None)


if __name__ == "__main__":
    main(sys.argv[1:])
