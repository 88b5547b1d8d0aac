"""Other recipes for grouping texts. Their packages are installed into a temporary folder."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import log

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import NMF, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from fonds.grouping.algorithms.terms import split_terms

PACKAGES = ("umap-learn", "evoc")

Recipe = Callable[[list[str], np.ndarray, int], np.ndarray]
"""Map texts, their dense vectors and the number of labels to cluster numbers; -1 means no cluster."""


@contextmanager
def install_peers() -> Iterator[dict[str, Recipe]]:
    """Yield recipes by name. Prints which packages cannot be installed, and leaves their recipes out."""
    warnings.simplefilter("ignore")
    recipes: dict[str, Recipe] = {
        "textcluster's behaviour": lambda texts, dense, k: cluster_like_grouperfish(texts),
        "TF-IDF, SVD 100, k-means": lambda texts, dense, k: cluster_plainly(texts, k),
        "TF-IDF, NMF": lambda texts, dense, k: cluster_by_nmf(texts, k),
        "dense, k-means": lambda texts, dense, k: KMeans(k, n_init=3, random_state=0).fit_predict(
            dense
        ),
    }
    with tempfile.TemporaryDirectory(prefix="grouping-peers-") as folder:
        for package in PACKAGES:
            install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder]
            done = subprocess.run([*install, package], check=False, capture_output=True)
            if done.returncode:
                last_line = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
                print(f"{package} cannot be installed here: {' '.join(last_line)}", file=sys.stderr)
        # At the end, so that shared dependencies come from our own environment.
        sys.path.append(folder)
        yield recipes | _load_installed()


def _load_installed() -> dict[str, Recipe]:
    recipes: dict[str, Recipe] = {}
    try:
        import umap  # type: ignore[import-not-found]

        recipes["BERTopic's recipe: UMAP 5, HDBSCAN"] = lambda texts, dense, k: HDBSCAN(
            10, copy=True
        ).fit_predict(
            umap.UMAP(15, 5, min_dist=0.0, metric="cosine", random_state=0).fit_transform(dense)
        )
    except Exception as error:  # noqa: BLE001 A peer that does not load here is left out.
        print(f"umap does not load: {error}", file=sys.stderr)
    try:
        import evoc  # type: ignore[import-not-found]

        recipes["EVoC"] = lambda texts, dense, k: np.asarray(
            evoc.EVoC(random_state=0).fit_predict(dense)
        )
    except Exception as error:  # noqa: BLE001 A peer that does not load here is left out.
        print(f"evoc does not load: {error}", file=sys.stderr)
    return recipes


def cluster_plainly(texts: list[str], clusters: int) -> np.ndarray:
    """Cluster with plain scikit-learn calls, without near-duplicates or labels."""
    weighted = TfidfVectorizer(
        stop_words="english", sublinear_tf=True, min_df=2, dtype=np.float32
    ).fit_transform(texts)
    vectors = normalize(TruncatedSVD(100, random_state=0).fit_transform(weighted))
    return np.asarray(KMeans(clusters, n_init=3, random_state=0).fit_predict(vectors))


def cluster_by_nmf(texts: list[str], clusters: int) -> np.ndarray:
    weighted = TfidfVectorizer(
        stop_words="english", sublinear_tf=True, min_df=2, dtype=np.float32
    ).fit_transform(texts)
    factors = NMF(clusters, init="nndsvda", random_state=0).fit_transform(weighted)
    return np.asarray(np.asarray(factors).argmax(axis=1))


def cluster_like_grouperfish(texts: list[str]) -> np.ndarray:
    """Cluster like Grouperfish: its idf is constant, and the first document of a cluster leads."""
    read = [Counter(term for term in split_terms(text, "en") if term) for text in texts]
    weight = log(max(len(texts), 2))
    postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, counted in enumerate(read):
        total = sum(counted.values())
        for term, count in counted.items() if len(counted) >= 3 else ():
            postings[term].append((place, weight * count / total))
    members = np.full(len(texts), -1)
    clusters = 0
    for place, counted in enumerate(read):
        if members[place] >= 0 or len(counted) < 3:
            continue
        total = sum(counted.values())
        near: dict[int, float] = defaultdict(float)
        for term, count in counted.items():
            for other, other_weight in postings[term]:
                near[other] += weight * count / total * other_weight
        joined = [other for other, score in near.items() if score >= 0.1 and members[other] < 0]
        if len(set(joined) - {place}):
            members[[*joined, place]] = clusters
            clusters += 1
    return members
