"""The GROBID sample and references held against the Crossref sample: how many are found, how many wrong.

What can be matched is told by the two records alone, without the matcher: the same DOI, or titles of which
one holds the other or that share three quarters of their runs of three letters.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.papers.bibliography.reference_parser import parse_reference
from fonds.papers.bibliography.tei import read_tei
from fonds.papers.catalog.lookup import find
from fonds.papers.catalog.match_query import MatchQuery, build_citation_query
from fonds.papers.catalog.records import decode_json, parse_work
from fonds.papers.catalog.slugs import build_slug
from fonds.papers.catalog.store import Catalog
from fonds.papers.catalog.work import Work, parse_name, parse_year
from fonds.stores.table.sqlite import SqliteTable
from printed_references import STYLES, format_reference

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
SAMPLES = CORPUS / "papers" / "internetarchive+sandcrawler"

pytestmark = [
    pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"no papers in {CORPUS}"),
]


def sample() -> list[tuple[str, Work]]:
    """The Crossref sample: works with the SHA-1 of the file each was found to be."""
    found = []
    for line in (SAMPLES / "crossref_sample.bibjson").read_bytes().splitlines():
        record = decode_json(line)
        work = parse_work(record)
        assert isinstance(work, Work)
        found.append((record["sha"], work))
    return found


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    table = SqliteTable(tmp_path / "table.sqlite")
    made = Catalog(table, "catalog")
    made.declare()
    yield made
    table.close()


def runs(text: str) -> set[str]:
    return {text[place : place + 3] for place in range(len(text) - 2)}


def can_be_matched(record: dict[str, str | None], works: list[Work]) -> bool:
    title = build_slug(record["title"])
    for work in works:
        slug = build_slug(work.title)
        if record["doi"] and record["doi"] == work.doi:
            return True
        if len(title) >= 20 and len(slug) >= 20:
            shared = 2 * len(runs(title) & runs(slug)) / (len(runs(title)) + len(runs(slug)))
            if shared >= 0.75 or title in slug or slug in title:
                return True
    return False


@pytest.mark.parametrize("with_doi", [True, False])
def test_the_grobid_sample_is_matched_with_the_crossref_sample(
    catalog: Catalog, with_doi: bool
) -> None:
    by_sha1: dict[str, list[Work]] = {}
    for sha1, work in sample():
        by_sha1.setdefault(sha1, []).append(work)
    catalog.put([work for works in by_sha1.values() for work in works])
    ended: Counter[str] = Counter()
    for line in (SAMPLES / "grobid_sample.bibjson").read_bytes().splitlines():
        record = json.loads(line)
        if record["sha"] not in by_sha1:
            continue
        works, names = by_sha1[record["sha"]], record["authors"] or []
        first = parse_name(names[0]) if names else None
        sought = MatchQuery(
            title=record["title"],
            authors=tuple(names),
            surname=first.surname if first else None,
            container=record["journal"],
            doi=record["doi"] if with_doi else None,
        )
        match = find(catalog, sought)
        can = can_be_matched(record if with_doi else {**record, "doi": None}, works)
        ended["shared"] += 1
        ended["can be matched"] += can
        if match.work is not None:
            right = match.work in {one.id for one in works}
            ended["right" if right else "wrong"] += 1
            ended["right of those"] += right and can
        elif can:
            ended[f"missed: {match.reason}"] += 1
    precision = ended["right"] / (ended["right"] + ended["wrong"])
    recall = ended["right of those"] / ended["can be matched"]
    print(f"\nDOI {'used' if with_doi else 'left out'}: {precision:.4f} {recall:.4f} {dict(ended)}")
    assert ended["shared"] == 944
    assert precision >= 0.99
    assert recall >= 0.95


def test_made_references_to_real_works(catalog: Catalog) -> None:
    """Six styles, each with a fault people make; a third of the works is not in the catalogue."""
    works = list({work.id: work for _, work in sample() if work.title and work.authors}.values())
    known = {work.id: work for number, work in enumerate(works) if number % 3}
    catalog.put(list(known.values()))
    chance, ended = random.Random(5), Counter[str]()
    for work in works:
        for style in range(STYLES):
            found = find(
                catalog,
                build_citation_query(parse_reference(format_reference(work, style, chance))),
            ).work
            if found is None:
                ended["missed" if work.id in known else "rightly none"] += 1
            else:
                ended["right" if found == work.id else "wrong"] += 1
    precision = ended["right"] / (ended["right"] + ended["wrong"])
    recall = ended["right"] / (ended["right"] + ended["missed"])
    f1 = 2 * precision * recall / (precision + recall)
    print(f"\n{precision:.4f} {recall:.4f} {f1:.4f} {dict(ended)}")
    assert precision >= 0.99
    assert f1 >= 0.96


def test_real_references_as_printed_find_what_grobid_read_of_them(catalog: Catalog) -> None:
    """Of the TEI that has references as printed as well: GROBID's fields are the catalogue, our reading of
    the string, without its identifiers, is sought."""
    cases, works = [], []
    for path in sorted((CORPUS / "papers").glob("*/*.xml")):
        if "jats" in path.name:
            continue
        for citation in read_tei(path.read_bytes()).citations:
            if (
                not citation.title
                or not citation.unstructured
                or len(build_slug(citation.title)) < 12
            ):
                continue
            names = [parse_name(f"{author.surname or author.name},") for author in citation.authors]
            works.append(
                Work(
                    id=f"bibjson:{path.name}.{citation.index}",
                    source="bibjson",
                    title=citation.title,
                    authors=tuple(name for name in names if name),
                    year=parse_year(citation.date),
                    container=citation.journal or citation.book_title,
                    volume=citation.volume,
                    pages=citation.pages,
                )
            )
            cases.append((works[-1].id, citation.unstructured))
    catalog.put(works)
    titles = {work.id: build_slug(work.title) for work in works}
    ended: Counter[str] = Counter()
    for id_, text in cases:
        match = find(catalog, build_citation_query(parse_reference(text)))
        same = match.work is not None and titles[match.work] == titles[id_]
        ended["right" if same else "wrong" if match.work else f"missed: {match.reason}"] += 1
    print(f"\n{dict(ended)}")
    assert ended["wrong"] <= 0.01 * len(cases)
    assert ended["right"] >= 0.9 * len(cases)
