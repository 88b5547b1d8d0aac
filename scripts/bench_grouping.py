"""Compare groupings of labelled texts with other recipes; measure time, memory and stability at scale.

python scripts/bench_grouping.py [SET…]             # labelled sets; installs the peers for the run
python scripts/bench_grouping.py --vectors DIR [SET…]   # keep dense vectors in a folder for the next run
python scripts/bench_grouping.py scale 100000       # short documents, compared with plain scikit-learn
python scripts/bench_grouping.py stability          # a rebuild after a tenth of new documents
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
from grouping_coherence import compute_coherence
from grouping_peers import cluster_plainly, install_peers

SETS = Path(__file__).parents[1].parent / "shared" / "corpus" / "gold" / "text"
NAMES = ("bbc", "agnews_test", "SearchSnippets", "Tweet", "Pascal_Flickr")
SHORT_WORDS = 45


def load_labelled(name: str) -> tuple[list[str], np.ndarray]:
    """Return the texts of a set and the numbers of their labels."""
    with gzip.open(SETS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows], np.unique(
        [row["label"] for row in rows], return_inverse=True
    )[1]


def score(truth: np.ndarray, members: np.ndarray) -> str:
    """Return NMI and ARI as text. A document without a cluster counts as its own cluster."""
    labels = np.where(members < 0, members.max() + 1 + np.arange(len(members)), members)
    clusters = len(np.unique(members[members >= 0]))
    nmi = normalized_mutual_info_score(truth, labels)
    return f"{nmi:.3f} / {adjusted_rand_score(truth, labels):.3f} [{clusters}]"


def print_row(name: str, recipe: str, cell: str, began: float) -> None:
    print(f"| {name} | {recipe} | {cell} | {time.perf_counter() - began:.1f} |", flush=True)


def print_own_scores(
    name: str, texts: list[str], truth: np.ndarray, dense: np.ndarray | None
) -> None:
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
        clustering = build(GroupingInput(texts, dense=vectors), options, version=1)
        print_row(name, f"Fonds {recipe}", score(truth, clustering.levels[0].members), began)
        if recipe == "topics, k given":
            show_labels(texts, clustering)


def show_labels(texts: list[str], clustering: Clustering) -> None:
    """Print c_v of the ten terms of each cluster, their stop words, and the labels."""
    terms = [
        [term.lower() for term, _ in cluster.terms] for cluster in clustering.levels[0].clusters
    ]
    stopped = [term for listed in terms for term in listed if term in load_stop_words("en")]
    print(f"|  | c_v {compute_coherence(texts, terms):.3f}, stop words {stopped} |  |  |")
    for cluster in clustering.levels[0].clusters[:8]:
        print(f"|  | {cluster.size}: {cluster.label} |  |  |")


def load_vectors(name: str, texts: list[str], folder: Path | None) -> np.ndarray:
    """Return the dense vectors of a set. Reads them from the folder, or writes them there."""
    file = None if folder is None else folder / f"{name}.npy"
    if file is not None and file.exists():
        return np.asarray(np.load(file), np.float32)
    vectors = Encoder(threads=2).encode(texts)
    if file is not None:
        np.save(file, vectors)
    return vectors


def print_quality(names: Sequence[str], folder: Path | None) -> None:
    print("| set | recipe | NMI / ARI [found] | s |\n|---|---|---|---|")
    with install_peers() as recipes:
        for name in names:
            texts, truth = load_labelled(name)
            began = time.perf_counter()
            dense = load_vectors(name, texts, folder)
            print_row(name, "dense vectors", "", began)
            print_own_scores(name, texts, truth, dense)
            for recipe, group in recipes.items():
                began = time.perf_counter()
                print_row(
                    name, recipe, score(truth, group(texts, dense, int(truth.max()) + 1)), began
                )


def recombine(count: int) -> list[str]:
    """Return distinct short documents: each joins two random pieces of BBC and AG with the same label."""
    pieces: dict[tuple[str, int], list[str]] = {}
    for name in ("bbc", "agnews_test"):
        texts, truth = load_labelled(name)
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


def measure_peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def print_scale(count: int) -> None:
    texts = recombine(count)
    before = measure_peak_mb()
    marks: list[tuple[str, float]] = []
    began, cpu_began = time.perf_counter(), time.process_time()
    clustering = build(
        GroupingInput(texts),
        Options(clusters=20),
        version=1,
        progress=lambda stage: marks.append((stage, time.perf_counter() - began)),
    )
    spent, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    print(
        f"{count} documents: {spent:.1f} s, CPU {cpu:.1f} s, peak {measure_peak_mb():.0f} MB, "
        f"{before:.0f} with texts alone"
    )
    print("  begins:", ", ".join(f"{stage} {at:.1f}" for stage, at in marks))
    sample = texts[:: max(1, count // 20_000)]
    cpu_began = time.process_time()
    assign(clustering.model, sample)
    print(
        f"  assigned: {len(sample) / (time.process_time() - cpu_began):.0f} documents a second of CPU"
    )
    if count <= 100_000:
        began, cpu_began = time.perf_counter(), time.process_time()
        cluster_plainly(texts, 20)
        bare, bare_cpu = time.perf_counter() - began, time.process_time() - cpu_began
        print(f"  bare scikit-learn: {bare:.1f} s, CPU {bare_cpu:.1f} s")
        print(f"  ratio {spent / bare:.2f}, of CPU {cpu / bare_cpu:.2f}")


def print_stability(names: Sequence[str]) -> None:
    print("| set | keep their id | NMI before, warm, cold |\n|---|---|---|")
    for name in names:
        texts, truth = load_labelled(name)
        order = np.random.default_rng(3).permutation(len(texts))
        texts, truth = [texts[place] for place in order], truth[order]
        known_count = int(len(texts) / 1.1)
        options = Options(clusters=int(truth.max()) + 1)
        first = build(GroupingInput(texts[:known_count]), options, version=1)
        ids = tuple(cluster.id for cluster in first.levels[0].clusters)
        members = np.full(len(texts), -1)
        members[:known_count] = first.levels[0].members
        warm = build(
            GroupingInput(texts), options, version=2, previous=PreviousClustering(members, ids)
        )
        cold = build(GroupingInput(texts), options, version=2)
        new_ids = [cluster.id for cluster in warm.levels[0].clusters]
        kept_share = np.mean(
            [
                ids[old] == new_ids[new]
                for old, new in zip(
                    members[:known_count], warm.levels[0].members[:known_count], strict=True
                )
                if old >= 0 and new >= 0
            ]
        )
        scores = [
            normalized_mutual_info_score(truth[: len(labels)], labels)
            for labels in (members[:known_count], warm.levels[0].members, cold.levels[0].members)
        ]
        print(
            f"| {name} | {kept_share:.3f} | {', '.join(f'{labels:.3f}' for labels in scores)} |",
            flush=True,
        )


def main(words: list[str]) -> None:
    if words[:1] == ["scale"]:
        print_scale(int(words[1]))
    elif words[:1] == ["stability"]:
        print_stability(words[1:] or NAMES)
    elif words[:1] == ["--vectors"]:
        print_quality(words[2:] or NAMES, Path(words[1]))
    else:
        print_quality(words or NAMES, None)


if __name__ == "__main__":
    main(sys.argv[1:])
