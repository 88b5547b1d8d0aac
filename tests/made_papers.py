"""Made works, and papers that are some of them and cite others: for tests of matching."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fonds.model.bibliography import Author
from fonds.papers.bibliography.paper import Citation, Paper, encode_paper
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
    """Works, each of its own title; each fifth has no DOI."""
    chance = random.Random(7)
    made = []
    for number in range(count):
        title = (
            f"On the {chance.choice(VERBS)} of {chance.choice(NOUNS)} and {chance.choice(NOUNS)}"
            f" in the valley of number {number}"
        )
        id_ = f"doi:10.5555/work.{number}" if number % 5 else f"fatcat:made{number}"
        names = chance.sample(NAMES, 1 + number % 3)
        made.append(
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
    return made


def printed(work: Work, style: int) -> str:
    """A reference to a work in one of four styles."""
    names = [author.surname for author in work.authors]
    first = (work.pages or "").partition("-")[0]
    if style == 0:
        told = " and ".join(f"A. {name}" for name in names)
        return f"{told}, “{work.title},” J. River Res., vol. {work.volume}, pp. {work.pages}, {work.year}."
    if style == 1:
        told = ", ".join(f"{name}, A." for name in names)
        return f"{told} ({work.year}). {work.title}. {work.container}, {work.volume}, {work.pages}."
    if style == 2:
        told = ", ".join(f"{name} A" for name in names)
        return f"{told}. {work.title}. J River Res. {work.year};{work.volume}:{first}."
    told = ", ".join(f"A. {name}" for name in names)
    return f"{told}, J. River Res. {work.volume}, {first} ({work.year})."


def paper(work: Work, cited: Sequence[Citation]) -> Paper:
    """A paper that is a work and cites others."""
    authors = tuple(
        Author(name=f"Ada {author.surname}", surname=author.surname) for author in work.authors
    )
    return Paper(
        grobid_version="made",
        title=work.title,
        authors=authors,
        date=str(work.year),
        citations=tuple(cited),
        doi=work.doi if (work.year or 0) % 2 else None,
    )


def keep_papers(
    table: Table, journal: str, known: Sequence[Work], count: int
) -> dict[str, list[str | None]]:
    """Papers in a journal: by SHA-1 the ids of what they cite, None for each eighth, which nobody knows."""
    chance = random.Random(3)
    unknown = works(len(known) + 50)[len(known) :]
    made_of: dict[str, list[str | None]] = {}
    for number in range(count):
        chosen = [chance.choice(unknown if one % 8 == 7 else known) for one in range(12)]
        cited = [parse_reference(printed(work, one % 4), one) for one, work in enumerate(chosen)]
        sha1hex = random.Random(number).randbytes(20).hex()
        made = paper(chance.choice(known), cited)
        table.put(journal, [(build_row_key(sha1hex), {"grobid0:metadata": encode_paper(made)})])
        made_of[sha1hex] = [None if one % 8 == 7 else work.id for one, work in enumerate(chosen)]
    return made_of
