"""Generate works, and papers that cite them, for tests of matching."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fonds.model.bibliography import Author, Citation, Paper
from fonds.papers.bibliography.paper import encode_paper
from fonds.papers.bibliography.reference_parser import parse_reference
from fonds.papers.catalog.work import Work, WorkAuthor
from fonds.ports import Table
from fonds.stores.journal_table.keys import build_row_key

NAMES = [
    "Stroom",
    "Brook",
    "Beck",
    "van den Berg",
    "García",
    "Østergård",
    "Hill",
    "Li",
    "Moore",
    "Weiß",
]
NOUNS = ["rivers", "tides", "banks", "dunes", "glass", "snow", "bridges", "mills", "wells"]
VERBS = [
    "meandering",
    "settling",
    "rising",
    "freezing",
    "drifting",
    "measuring",
    "mapping",
    "counting",
]


def works(count: int) -> list[Work]:
    """Generate works with unique titles; one in five has no DOI."""
    chance = random.Random(7)
    generated = []
    for number in range(count):
        title = (
            f"On the {chance.choice(VERBS)} of {chance.choice(NOUNS)} and {chance.choice(NOUNS)}"
            f" in the valley of number {number}"
        )
        id_ = f"doi:10.5555/work.{number}" if number % 5 else f"fatcat:made{number}"
        names = chance.sample(NAMES, 1 + number % 3)
        generated.append(
            Work(
                id=id_,
                source="crossref" if number % 5 else "fatcat",
                title=title,
                authors=tuple(WorkAuthor(name, "Ada") for name in names),
                year=1990 + number % 30,
                container="Journal of River Research",
                volume=str(1 + number % 40),
                pages=f"{100 + number}-{110 + number}",
                doi=id_.removeprefix("doi:") if number % 5 else None,
            )
        )
    return generated


def format_reference(work: Work, style: int) -> str:
    """Format a reference to a work in one of four styles."""
    names = [author.surname for author in work.authors]
    first = (work.pages or "").partition("-")[0]
    if style == 0:
        authors = " and ".join(f"A. {name}" for name in names)
        return f"{authors}, “{work.title},” J. River Res., vol. {work.volume}, pp. {work.pages}, {work.year}."
    if style == 1:
        authors = ", ".join(f"{name}, A." for name in names)
        return (
            f"{authors} ({work.year}). {work.title}. {work.container}, {work.volume}, {work.pages}."
        )
    if style == 2:
        authors = ", ".join(f"{name} A" for name in names)
        return f"{authors}. {work.title}. J River Res. {work.year};{work.volume}:{first}."
    authors = ", ".join(f"A. {name}" for name in names)
    return f"{authors}, J. River Res. {work.volume}, {first} ({work.year})."


def paper(work: Work, citations: Sequence[Citation]) -> Paper:
    """Build the paper of a work that cites others."""
    authors = tuple(
        Author(name=f"Ada {author.surname}", surname=author.surname) for author in work.authors
    )
    return Paper(
        grobid_version="made",
        title=work.title,
        authors=authors,
        date=str(work.year),
        citations=tuple(citations),
        doi=work.doi if (work.year or 0) % 2 else None,
    )


def keep_papers(
    table: Table, journal: str, known_works: Sequence[Work], count: int
) -> dict[str, list[str | None]]:
    """Store papers in a journal; return the ids of cited works by SHA-1.

    One citation in eight is to an unknown work, with the id None.
    """
    chance = random.Random(3)
    unknown_works = works(len(known_works) + 50)[len(known_works) :]
    cited_ids: dict[str, list[str | None]] = {}
    for number in range(count):
        cited_works = [
            chance.choice(unknown_works if position % 8 == 7 else known_works)
            for position in range(12)
        ]
        citations = [
            parse_reference(format_reference(cited_work, position % 4), position)
            for position, cited_work in enumerate(cited_works)
        ]
        sha1hex = random.Random(number).randbytes(20).hex()
        stored_paper = paper(chance.choice(known_works), citations)
        table.put(
            journal, [(build_row_key(sha1hex), {"grobid0:metadata": encode_paper(stored_paper)})]
        )
        cited_ids[sha1hex] = [
            None if position % 8 == 7 else cited_work.id
            for position, cited_work in enumerate(cited_works)
        ]
    return cited_ids
