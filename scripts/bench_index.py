"""Compare the full-text index with bare tantivy, which gets the same fields with words already stemmed.

    python scripts/bench_index.py [--documents N] [--rounds N]

Both write batches of 100 documents with a commit each, in turn. CPU is user and system time of all
threads, the least of the rounds. The parts are the work of Fonds before tantivy.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import tantivy

from bench_input import CORPUS
from bench_peers import BATCH, build_documents
from fonds.model.document import IndexDocument
from fonds.search.index.tantivy_index import WRITER_MEMORY_BYTES, TantivyIndex
from fonds.search.index.tantivy_schema import build_schema, build_values, register_analyzer
from fonds.search.index.words import build_words
from fonds.text.minhash import compute_signature

DOCUMENTS, ROUNDS = 1_000, 5
TEXT_CHARS = 3_000
NEWS = CORPUS / "gold" / "text" / "bbc.jsonl.gz"
Item = TypeVar("Item")
PUNCTUATION = str.maketrans({'"': "\u201d", "'": "\u2019", "-": "\u2013"})
ACCENTS = str.maketrans({"j": "\u00e9", "k": "\u00e0", "v": "\u00ea", "w": "\u00e7"})


def list_inputs(count: int) -> Iterator[tuple[str, Sequence[IndexDocument]]]:
    """Yield a name and documents of about 3 kB: random words, then English news if the corpus is
    there.

    The news come in ASCII, with typographic punctuation, and with accents.
    """
    documents = build_documents(count)
    yield "random words", documents
    if not NEWS.is_file():
        return
    with gzip.open(NEWS, "rt", encoding="utf-8") as lines:
        news = " ".join(json.loads(line)["text"] for line in lines)
    ascii_news = news.encode("ascii", "ignore").decode()
    starts = random.Random(7).choices(range(len(ascii_news) - TEXT_CHARS), k=count)
    texts = [ascii_news[start : start + TEXT_CHARS] for start in starts]
    for name, table in (
        ("news", {}),
        ("news, typographic", PUNCTUATION),
        ("news, with accents", PUNCTUATION | ACCENTS),
    ):
        pairs = zip(documents, texts, strict=True)
        yield name, [replace(document, text_content=t.translate(table)) for document, t in pairs]


def write_bare(batches: Sequence[Sequence[dict[str, object]]], folder: Path) -> None:
    """Write the fields of documents with tantivy alone, one commit per batch."""
    schema = build_schema()
    index = tantivy.Index(schema, path=str(folder))
    register_analyzer(index)
    writer = index.writer(WRITER_MEMORY_BYTES, num_threads=1)
    for batch in batches:
        for values in batch:
            writer.delete_documents_by_term("id", values["id"])
            writer.add_document(tantivy.Document.from_dict(values, schema))
        writer.commit()
    writer.wait_merging_threads()


def write_index(batches: Sequence[Sequence[IndexDocument]], folder: Path) -> None:
    """Write documents with the index of Fonds, one commit per batch."""
    index = TantivyIndex(folder)
    for batch in batches:
        index.put(batch)
    index.close()


def apply_to_each(function: Callable[[Item], object], items: Sequence[Item], _: Path) -> None:
    for item in items:
        function(item)


def cut_batches(items: Sequence[Item]) -> list[Sequence[Item]]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]


def measure_least_s(calls: Mapping[str, Callable[[Path], object]], rounds: int) -> dict[str, float]:
    """Return the least CPU seconds of each call. The calls take turns; each gets an empty folder."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            with tempfile.TemporaryDirectory(prefix="fonds-bench-") as folder:
                begun = time.process_time()
                call(Path(folder))
                times[name].append(time.process_time() - begun)
    return {name: min(each) for name, each in times.items()}


def main() -> None:
    """Print documents per CPU second of each input, and microseconds of each part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    for name, documents in list_inputs(arguments.documents):
        texts = [document.text_content for document in documents]
        calls: dict[str, Callable[[Path], object]] = {
            "bare": partial(write_bare, cut_batches(list(map(build_values, documents)))),
            "fonds": partial(write_index, cut_batches(documents)),
            "words and stems": partial(apply_to_each, build_words, documents),
            "all fields": partial(apply_to_each, build_values, documents),
            "sketch": partial(apply_to_each, compute_signature, texts),
        }
        least_s = measure_least_s(calls, arguments.rounds)
        rates = {part: len(documents) / cpu_s for part, cpu_s in least_s.items()}
        print(f"{name} ({sum(map(len, texts)) / len(texts):,.0f} characters)")
        print(f"  bare tantivy {rates['bare']:,.0f} documents a CPU second")
        print(f"  fonds        {rates['fonds']:,.0f}, {rates['fonds'] / rates['bare']:.2f} of bare")
        for part in ("words and stems", "all fields", "sketch"):
            print(f"  {part:17} {1e6 / rates[part]:,.0f} µs a document")


if __name__ == "__main__":
    main()
