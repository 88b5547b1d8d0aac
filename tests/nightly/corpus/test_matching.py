"""Precision and recall of matching the GROBID sample and references with the Crossref sample.

Which records can be matched is decided without the matcher: they have the same DOI, or one title
contains the other, or the titles share three quarters of their trigrams.
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


def read_sample() -> list[tuple[str, Work]]:
    """Return the Crossref sample: the SHA-1 of the file of each work, and the work."""
    sample = []
    for line in (SAMPLES / "crossref_sample.bibjson").read_bytes().splitlines():
        record = decode_json(line)
        work = parse_work(record)
        assert isinstance(work, Work)
        sample.append((record["sha"], work))
    return sample


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    table = SqliteTable(tmp_path / "table.sqlite")
    catalog = Catalog(table, "catalog")
    catalog.declare()
    yield catalog
    table.close()


def list_trigrams(text: str) -> set[str]:
    return {text[start : start + 3] for start in range(len(text) - 2)}


def is_matchable_with(record: dict[str, str | None], works: list[Work]) -> bool:
    title = build_slug(record["title"])
    for work in works:
        slug = build_slug(work.title)
        if record["doi"] and record["doi"] == work.doi:
            return True
        if len(title) >= 20 and len(slug) >= 20:
            shared = (
                2
                * len(list_trigrams(title) & list_trigrams(slug))
                / (len(list_trigrams(title)) + len(list_trigrams(slug)))
            )
            if shared >= 0.75 or title in slug or slug in title:
                return True
    return False


@pytest.mark.parametrize("with_doi", [True, False])
def test_grobid_records_match_their_crossref_records(catalog: Catalog, with_doi: bool) -> None:
    by_sha1: dict[str, list[Work]] = {}
    for sha1, work in read_sample():
        by_sha1.setdefault(sha1, []).append(work)
    catalog.put([work for works in by_sha1.values() for work in works])
    outcomes: Counter[str] = Counter()
    for line in (SAMPLES / "grobid_sample.bibjson").read_bytes().splitlines():
        record = json.loads(line)
        if record["sha"] not in by_sha1:
            continue
        works, names = by_sha1[record["sha"]], record["authors"] or []
        first_author = parse_name(names[0]) if names else None
        query = MatchQuery(
            title=record["title"],
            authors=tuple(names),
            surname=first_author.surname if first_author else None,
            container=record["journal"],
            doi=record["doi"] if with_doi else None,
        )
        match = find(catalog, query)
        is_matchable = is_matchable_with(record if with_doi else {**record, "doi": None}, works)
        outcomes["shared"] += 1
        outcomes["matchable"] += is_matchable
        if match.work is not None:
            is_right = match.work in {work.id for work in works}
            outcomes["right" if is_right else "wrong"] += 1
            outcomes["matchable and right"] += is_right and is_matchable
        elif is_matchable:
            outcomes[f"missed: {match.reason}"] += 1
    precision = outcomes["right"] / (outcomes["right"] + outcomes["wrong"])
    recall = outcomes["matchable and right"] / outcomes["matchable"]
    print(
        f"\nDOI {'used' if with_doi else 'omitted'}: {precision:.4f} {recall:.4f} {dict(outcomes)}"
    )
    assert outcomes["shared"] == 944
    assert precision >= 0.99
    assert recall >= 0.95


def test_generated_references_match_their_works(catalog: Catalog) -> None:
    """References in six styles, each with a typical error. A third of the works is not in the catalogue."""
    works = list(
        {work.id: work for _, work in read_sample() if work.title and work.authors}.values()
    )
    cataloged = {work.id: work for number, work in enumerate(works) if number % 3}
    catalog.put(list(cataloged.values()))
    chance, outcomes = random.Random(5), Counter[str]()
    for work in works:
        for style in range(STYLES):
            work_id = find(
                catalog,
                build_citation_query(parse_reference(format_reference(work, style, chance))),
            ).work
            if work_id is None:
                outcomes["missed" if work.id in cataloged else "correctly unmatched"] += 1
            else:
                outcomes["right" if work_id == work.id else "wrong"] += 1
    precision = outcomes["right"] / (outcomes["right"] + outcomes["wrong"])
    recall = outcomes["right"] / (outcomes["right"] + outcomes["missed"])
    f1 = 2 * precision * recall / (precision + recall)
    print(f"\n{precision:.4f} {recall:.4f} {f1:.4f} {dict(outcomes)}")
    assert precision >= 0.99
    assert f1 >= 0.96


def test_printed_references_match_their_grobid_fields(catalog: Catalog) -> None:
    """The catalogue has GROBID's fields of references. The query is the parsed string without identifiers.

    Only TEI that also has the printed strings is used.
    """
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
    outcomes: Counter[str] = Counter()
    for id_, text in cases:
        match = find(catalog, build_citation_query(parse_reference(text)))
        is_same_title = match.work is not None and titles[match.work] == titles[id_]
        outcomes[
            "right" if is_same_title else "wrong" if match.work else f"missed: {match.reason}"
        ] += 1
    print(f"\n{dict(outcomes)}")
    assert outcomes["wrong"] <= 0.01 * len(cases)
    assert outcomes["right"] >= 0.9 * len(cases)
