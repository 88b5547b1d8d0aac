"""Compare the methods that find near-duplicates: quality on known pairs, and cost.

python scripts/bench_near_duplicates.py [FOLDER OF LABELLED TEXTS]

The folder contains `Tweet.jsonl.gz`, `agnews_test.jsonl.gz` and `bbc.jsonl.gz`, as in
`../shared/corpus/gold/text`. Without one, texts are generated. Known near-duplicates are edited
copies of unrelated texts. Methods:

- `runs`: sketches of stories and files, MinHash of runs of four words, from 0.6 (`text/minhash.py`).
- `terms`: shared terms, from 0.8, as for a document that joins a collection.
- `rebuild`: shared terms, from 0.8, as in a rebuild of a collection.
- `words`: MinHash of terms, from 0.8. One sketch for every text; not built.
- `terms.6`: `terms` from 0.6, the threshold of sketches; not built.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from fonds.grouping.algorithms.corpus import TermReader
from fonds.grouping.algorithms.duplicates import (
    InvertedTerms,
    TermSets,
    compare_terms,
    find_originals,
    invert_term_sets,
    rank_documents,
)
from fonds.text.minhash import compute_minima, compute_signature, hash_shingles
from fonds.text.similarity import (
    RUNS_RESEMBLANCE_MIN,
    TERMS_RESEMBLANCE_MIN,
    compute_bands,
    estimate_resemblance,
)

ORIGINALS = 400
REAL_TEXTS = 2_000
UNRELATED_MAX = 0.3
INDEXED = 5_000
ADDED = 200
WORD_LIST = [f"{onset}{rime}" for onset in "bcdfghklmnprst" for rime in ("ald", "emo", "irk", "un")]
DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "gold" / "text"
NOTICE = (
    "all rights reserved subscribe to our newsletter for daily news and follow us contact the "
    "editors terms of use privacy policy cookies advertise with us about careers help"
)

Pairs = set[tuple[int, int]]
Edit = Callable[[list[str], random.Random, Sequence[str]], list[str]]


def change_words(share: float) -> Edit:
    """Return an edit that replaces this share of the words, at least one, at random positions."""

    def edit(words: list[str], chance: random.Random, pool: Sequence[str]) -> list[str]:
        edited = list(words)
        count = max(1, round(share * len(words)))
        for place in chance.sample(range(len(words)), count):
            edited[place] = chance.choice(pool)
        return edited

    return edit


def add_paragraph(words: list[str], chance: random.Random, pool: Sequence[str]) -> list[str]:
    """Append a tenth of the text's length, at least two words, of other words."""
    return words + chance.choices(pool, k=max(2, len(words) // 10))


def move_paragraph(words: list[str], chance: random.Random, pool: Sequence[str]) -> list[str]:
    """Move the second half of the text before the first."""
    middle = len(words) // 2
    return words[middle:] + words[:middle]


EDITS: dict[str, Edit] = {
    "one word changed": change_words(0.0),
    "5 % of words changed": change_words(0.05),
    "10 % of words changed": change_words(0.10),
    "20 % of words changed": change_words(0.20),
    "paragraph added": add_paragraph,
    "halves swapped": move_paragraph,
}


def read_texts(path: Path) -> list[str]:
    """Return the texts of a labelled set."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def generate_texts(count: int, length: tuple[int, int]) -> list[str]:
    """Return texts of random words."""
    chance = random.Random(5)
    return [
        " ".join(chance.choices(WORD_LIST, k=chance.randint(*length)))
        + f" {' '.join(f'n{number}x{place}' for place in range(length[0] // 2))}"
        for number in range(count)
    ]


def load_sets(folder: Path) -> dict[str, list[str]]:
    """Return texts by length: 5 to 30 words, news items, and at least 1,000 words."""
    if not folder.is_dir():
        print("No labelled texts; they are generated.")
        return {
            "short, 5-30 words": generate_texts(1500, (5, 20)),
            "news items, 30-80 words": generate_texts(1500, (30, 50)),
            "long, 1,000 words and more": generate_texts(600, (1000, 1200)),
        }
    articles = read_texts(folder / "bbc.jsonl.gz")
    random.Random(1).shuffle(articles)
    long_texts = ["\n".join(articles[start : start + 4]) for start in range(0, len(articles), 4)]
    return {
        "short, 5-30 words": _choose(read_texts(folder / "Tweet.jsonl.gz"), 5, 30),
        "news items, 30-80 words": _choose(read_texts(folder / "agnews_test.jsonl.gz"), 30, 80),
        "long, 1,000 words and more": _choose(long_texts, 1000, 10**6),
    }


def _choose(texts: Sequence[str], shortest: int, longest: int) -> list[str]:
    return [text for text in texts if shortest <= len(text.split()) <= longest]


def choose_unrelated(texts: Sequence[str]) -> list[str]:
    """Return texts of which no two share 30 % of their terms, at most `ORIGINALS`."""
    sets = TermReader().build_sets(texts, ["en"] * len(texts))
    _, columns = np.unique(sets.hashes, return_inverse=True)
    present = sp.csr_matrix((np.ones(len(columns), np.int32), columns, sets.starts))
    shared = (present @ present.T).toarray()
    lengths = np.diff(sets.starts)
    resemblance = shared / np.maximum(lengths[:, None] + lengths[None, :] - shared, 1)
    chosen: list[int] = []
    for place in range(len(texts)):
        if lengths[place] and (resemblance[place, chosen] < UNRELATED_MAX).all():
            chosen.append(place)
        if len(chosen) == ORIGINALS:
            break
    return [texts[place] for place in chosen]


def find_by_bands(signatures: Sequence[bytes | None], minimum: float) -> Pairs:
    """Return the pairs that share a band and whose estimate is at least `minimum`."""
    sharing = defaultdict(set)
    for place, signature in enumerate(signatures):
        for band in compute_bands(signature) if signature else ():
            sharing[band].add(place)
    candidates = {pair for places in sharing.values() for pair in combinations(sorted(places), 2)}
    return {
        (first, other)
        for first, other in candidates
        if estimate_resemblance(signatures[first] or b"", signatures[other] or b"") >= minimum
    }


def find_by_runs(texts: Sequence[str]) -> Pairs:
    """Return the near-duplicates by sketches, or the equal texts if they are too short for one."""
    equal = defaultdict(list)
    for place, text in enumerate(texts):
        equal[text].append(place)
    equal_pairs = {pair for places in equal.values() for pair in combinations(places, 2)}
    return equal_pairs | find_by_bands(
        [compute_signature(text) for text in texts], RUNS_RESEMBLANCE_MIN
    )


def find_by_words(texts: Sequence[str]) -> Pairs:
    """Return the near-duplicates by MinHash of terms."""
    return find_by_bands(list(sign_words(texts)), TERMS_RESEMBLANCE_MIN)


def sign_words(texts: Sequence[str]) -> Iterator[bytes | None]:
    """Return a signature of the terms of each text."""
    sets = TermReader().build_sets(texts, ["en"] * len(texts))
    for place in range(len(sets)):
        hashes = sets.get_terms(place) >> np.uint64(32)
        yield compute_minima(np.unique(hashes)) if len(hashes) else None


def find_by_terms(texts: Sequence[str], minimum: float = TERMS_RESEMBLANCE_MIN) -> Pairs:
    """Return the near-duplicates by shared terms, as for new documents."""
    sets = TermReader().build_sets(texts, ["en"] * len(texts))
    return match_sets(invert_term_sets(sets), sets, sets, minimum)


def match_sets(index: InvertedTerms, indexed: TermSets, sets: TermSets, minimum: float) -> Pairs:
    """Return pairs of documents in `sets` and in the index, each pair in ascending order."""
    places, matches = index.find_candidates(sets)
    return {
        (min(place, match), max(place, match))
        for place, match in zip(places.tolist(), matches.tolist(), strict=True)
        if place != match
        and compare_terms(sets.get_terms(place), indexed.get_terms(match)) >= minimum
    }


def find_by_rebuild(texts: Sequence[str]) -> Pairs:
    """Return the pairs with one original, as in a rebuild."""
    read = TermReader().read(texts, ["en"] * len(texts))
    order = rank_documents(read.contents)
    originals = find_originals(read.frequencies, order, read.contents, read.bands).tolist()
    groups = defaultdict(list)
    for place, original in enumerate(originals):
        groups[original].append(place)
    return {pair for places in groups.values() for pair in combinations(places, 2)}


METHODS: dict[str, Callable[[Sequence[str]], Pairs]] = {
    "runs": find_by_runs,
    "terms": find_by_terms,
    "rebuild": find_by_rebuild,
    "words": find_by_words,
    "terms.6": lambda texts: find_by_terms(texts, RUNS_RESEMBLANCE_MIN),
}


def measure_quality(name: str, originals: Sequence[str]) -> None:
    """Print recall and precision of each method for each edit, then false links by a notice."""
    pool = [word for text in originals for word in text.split()]
    print(f"\n{name}: {len(originals)} texts and their copies; recall / precision in %")
    print(f"{'':<28}" + "".join(f"{method:>14}" for method in METHODS))
    for edit_name, edit in EDITS.items():
        chance = random.Random(edit_name)
        copies = [" ".join(edit(text.split(), chance, pool)) for text in originals]
        known_pairs = {(place, place + len(originals)) for place in range(len(originals))}
        print(f"{edit_name:<28}" + _format_row([*originals, *copies], known_pairs))
    _print_links("notice shared", [f"{text} {NOTICE}" for text in originals])
    length = sum(len(text.split()) for text in originals) // len(originals)
    long_notice = " ".join(f"notice{place}" for place in range(4 * length))
    _print_links("notice, four times as long", [f"{text} {long_notice}" for text in originals])
    chance = random.Random(3)
    shuffled = [chance.sample(WORD_LIST, k=len(WORD_LIST)) for _ in range(400)]
    repeats = max(1, length // len(WORD_LIST))
    texts = [" ".join(chance.choices(words, k=repeats * len(words))) for words in shuffled]
    _print_links("same words, other wording", texts)


def measure_real(name: str, texts: Sequence[str]) -> None:
    """Print the links among the texts of a set as they are.

    A link between texts with fewer than a tenth of their runs in common is doubtful.
    """
    print(f"\n{name}: {len(texts)} texts as they are; links, and doubtful ones among them")
    cells = []
    for find in METHODS.values():
        links = find(texts)
        runs = {
            place: set(hash_shingles(texts[place]).tolist()) for pair in links for place in pair
        }
        doubtful = sum(
            len(runs[first] & runs[other]) < 0.1 * len(runs[first] | runs[other])
            for first, other in links
        )
        cells.append(f"{len(links)} / {doubtful}")
    print(f"{'':<28}" + "".join(f"{cell:>14}" for cell in cells))


def _print_links(name: str, texts: Sequence[str]) -> None:
    """Print the number of links among different texts; each of them is false."""
    counts = [len(find(texts)) for find in METHODS.values()]
    print(f"{name + ': false links':<28}" + "".join(f"{count:>14}" for count in counts))


def _format_row(texts: Sequence[str], known_pairs: Pairs) -> str:
    cells = []
    for find in METHODS.values():
        pairs = find(texts)
        true = len(pairs & known_pairs)
        precision = f"{100 * true / len(pairs):.0f}" if pairs else "-"
        cells.append(f"{100 * true / len(known_pairs):.0f} / {precision}")
    return "".join(f"{cell:>14}" for cell in cells)


def measure_costs(name: str, texts: Sequence[str]) -> None:
    """Print CPU and size of each method, and the CPU of adding a document to 5,000."""
    count = len(texts)
    copies = [texts[place % count] + f" n{place}" for place in range(INDEXED)]
    added = [f"{text} x{place}" for place, text in enumerate(copies[:ADDED])]
    begun = time.process_time()
    signatures = [compute_signature(text) for text in copies]
    runs_ms = (time.process_time() - begun) / INDEXED * 1e6
    by_band = defaultdict(list)
    for place, signature in enumerate(signatures):
        for band in compute_bands(signature) if signature else ():
            by_band[band].append(place)
    begun = time.process_time()
    for text in added:
        signature = compute_signature(text)
        keys = compute_bands(signature) if signature else []
        for place in {place for key in keys for place in by_band[key]}:
            estimate_resemblance(signature or b"", signatures[place] or b"")
    runs_added_ms = (time.process_time() - begun) / ADDED * 1e3

    reader = TermReader()
    begun = time.process_time()
    sets = reader.build_sets(copies, ["en"] * INDEXED)
    index = invert_term_sets(sets)
    terms_ms = (time.process_time() - begun) / INDEXED * 1e6
    begun = time.process_time()
    for text in added:
        match_sets(index, sets, reader.build_sets([text], ["en"]), TERMS_RESEMBLANCE_MIN)
    terms_added_ms = (time.process_time() - begun) / ADDED * 1e3
    begun = time.process_time()
    list(sign_words(copies))
    words_ms = (time.process_time() - begun) / INDEXED * 1e6

    signed = sum(signature is not None for signature in signatures) / INDEXED
    terms = len(sets.hashes) / INDEXED
    print(f"\n{name}: {sum(len(text.split()) for text in copies) / INDEXED:.0f} words on average")
    print(f"{'':<40}{'runs':>10}{'terms':>10}{'words':>10}")
    row = "{:<40}{:>10.1f}{:>10.1f}{:>10.1f}"
    print(row.format("CPU per 1,000 documents, ms", runs_ms, terms_ms, words_ms))
    # A signature is 256 bytes, and each of 16 band rows holds a key of 8 and a SHA-1 of 20 bytes.
    # A posting is 4 bytes.
    sketch_bytes = 256 + 16 * 28
    print(row.format("bytes per document, raw", signed * sketch_bytes, 4 * terms, sketch_bytes))
    print(f"{'CPU to add one to 5,000, ms':<40}{runs_added_ms:>10.2f}{terms_added_ms:>10.2f}")


def main() -> None:
    """Print quality, then costs, for short, middle and long texts."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    for name, texts in load_sets(folder).items():
        originals = choose_unrelated(texts)
        measure_quality(name, originals)
        measure_real(name, texts[:REAL_TEXTS])
        measure_costs(name, originals)


if __name__ == "__main__":
    main()
