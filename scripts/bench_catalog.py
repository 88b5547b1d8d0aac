"""Measure a catalogue of generated works: seconds and bytes per million, references per second.

python scripts/bench_catalog.py [1000000]

Words of titles have the frequencies of natural text. A tenth of the first authors have one of a hundred
names. References are formatted from works of the catalogue.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import msgspec

from fonds.papers.bibliography.reference_parser import parse_reference
from fonds.papers.catalog.loader import load
from fonds.papers.catalog.lookup import find
from fonds.papers.catalog.match_query import build_citation_query
from fonds.papers.catalog.store import Catalog
from fonds.stores.table.sqlite import SqliteTable

LETTERS = "abcdefghiklmnoprstuvw"
REFERENCES = 2_000


def generate_words(chance: random.Random, count: int) -> list[str]:
    """Return random words of three to eleven letters."""
    return ["".join(chance.choices(LETTERS, k=chance.randint(3, 11))) for _ in range(count)]


def generate_records(count: int) -> Iterator[dict[str, object]]:
    """Generate records in the format of Crossref."""
    chance = random.Random(1)
    vocabulary, names = (
        generate_words(chance, 20_000),
        [name.title() for name in generate_words(chance, 100_000)],
    )
    weights = [*accumulate(1 / (place + 2) for place in range(len(vocabulary)))]
    for number in range(count):
        title = " ".join(chance.choices(vocabulary, cum_weights=weights, k=chance.randint(4, 14)))
        first = chance.choice(names[:100] if number % 10 == 0 else names)
        yield {
            "DOI": f"10.5555/made.{number}",
            "type": "journal-article",
            "title": [title.capitalize()],
            "author": [
                {"family": name, "given": "A. B."}
                for name in (first, *chance.choices(names, k=chance.randint(0, 5)))
            ],
            "issued": {"date-parts": [[1950 + number % 75]]},
            "container-title": [f"Journal of {vocabulary[number % 5_000].title()}"],
            "volume": str(1 + number % 200),
            "issue": str(1 + number % 12),
            "page": f"{number % 3_000}-{number % 3_000 + 9}",
        }


def format_reference(record: dict[str, object]) -> str:
    """Return a reference to a work."""
    names: list[dict[str, str]] = record["author"]  # type: ignore[assignment]
    title, container = record["title"][0], record["container-title"][0]  # type: ignore[index]
    year = record["issued"]["date-parts"][0][0]  # type: ignore[index]
    authors = ", ".join(f"{name['family']}, A. B." for name in names)
    source = f"{container}, {record['volume']}({record['issue']}), {record['page']}."
    return f"{authors} ({year}). {title}. {source}"


def main() -> None:
    """Generate and load works, then match references."""
    parser = argparse.ArgumentParser()
    parser.add_argument("works", type=int, nargs="?", default=1_000_000)
    count = parser.parse_args().works
    with tempfile.TemporaryDirectory(prefix="bench-catalog-") as name:
        folder = Path(name)
        source, chosen = folder / "works.jsonl", {}
        with source.open("wb") as stream:
            for number, record in enumerate(generate_records(count)):
                stream.write(msgspec.json.encode(record) + b"\n")
                if number % max(1, count // REFERENCES) == 0:
                    chosen[f"10.5555/made.{number}"] = format_reference(record)
        table = SqliteTable(folder / "table.sqlite")
        catalog = Catalog(table, "catalog")
        catalog.declare()
        began, cpu = time.monotonic(), time.process_time()
        load(catalog, source, "made", lambda at: None)
        lasted, used = time.monotonic() - began, time.process_time() - cpu
        size = sum(path.stat().st_size for path in folder.glob("table.sqlite*"))
        million = 1_000_000 / count
        print(
            f"{count:,} works: {lasted * million:,.0f} s a million ({used * million:,.0f} of CPU)"
        )
        print(
            f"{size * million / 1e6:,.0f} MB a million, input {source.stat().st_size * million / 1e6:,.0f} MB"
        )
        began, ended = time.monotonic(), Counter[str]()
        for doi, text in chosen.items():
            match = find(catalog, build_citation_query(parse_reference(text)))
            ended["right" if match.doi == doi else "wrong" if match.doi else str(match.reason)] += 1
        print(f"{len(chosen) / (time.monotonic() - began):,.0f} references a second: {dict(ended)}")
        table.close()


if __name__ == "__main__":
    main()
