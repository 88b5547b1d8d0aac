"""A collection read by an engine, gathered for the arithmetic: what `building.reading_in.read_in` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import nlargest

from fonds.bulk.grouping.parts import PART_DOCUMENTS, stretches
from fonds.bulk.grouping.placing import placing_job
from fonds.bulk.grouping.reading import (
    SLICE,
    OpenTables,
    ReadDocuments,
    frequencies_of,
    reading_job,
)
from fonds.bulk.grouping.slices import from_value
from fonds.collections.building.models import get_chunks
from fonds.collections.building.new_rows import Placed
from fonds.collections.building.reading_in import Keep, ReadIn, empty, usual_language
from fonds.collections.clusterings import Known
from fonds.collections.configurations import Configuration
from fonds.collections.tables import READINGS, Tables
from fonds.formats.grouping.chunks import joined
from fonds.grouping.text.tokens import TERMS_MAX, Vocabulary
from fonds.ports import Engine

_ROWS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class ByEngine:
    """The passes of a rebuild by an engine. `fingerprint` gives a new name for each job; `open_tables` opens
    the tables wherever the engine works; a part of the reading has `part_documents`."""

    engine: Engine
    open_tables: OpenTables
    fingerprint: Callable[[], str]
    part_documents: int = PART_DOCUMENTS

    def read(
        self,
        tables: Tables,
        one: Known,
        until: int,
        configuration: Configuration,
        progress: Callable[[int], None],
        keep: Keep,
    ) -> ReadIn:
        """As `read_in`: every text is read by the engine, and comes back as counts."""
        usual = usual_language(tables, one.name)
        read = ReadDocuments(self.open_tables, one, until, configuration, usual, keeps_pages=True)
        parts = stretches(tables, one.name, self.part_documents)
        job = reading_job(read, parts, self.fingerprint())
        try:
            _, counts = frequencies_of(self.engine.run(job))
            vocabulary = Vocabulary(_known(list(counts)))
            found = empty(tables, one.name, vocabulary)
            for value in _values(tables, one):
                page = from_value(value, vocabulary)
                keep(page.encoded)
                found.add(page)
                progress(len(found.ids) + len(found.apart))
        finally:
            tables.clear(READINGS, one.row)
        return found

    def put(
        self,
        tables: Tables,
        one: Known,
        placed: Iterator[Placed],
        progress: Callable[[int], None],
    ) -> None:
        """As `put_places`: the rows are written by the engine."""
        job = placing_job(self.open_tables, one, placed, self.fingerprint())
        progress(sum(int(count) for count in self.engine.run(job)))


def _known(counts: list[tuple[str, int]]) -> list[str]:
    """The terms in order; of too many, those in most documents."""
    if len(counts) > TERMS_MAX:
        most = nlargest(TERMS_MAX, range(len(counts)), key=lambda at: (counts[at][1], -at))
        return [counts[at][0] for at in sorted(most)]
    return [term for term, _ in counts]


def _values(tables: Tables, one: Known) -> Iterator[bytes]:
    """The pages that were read, in the order of their documents."""
    for row, _ in tables.scan(READINGS, one.row, [SLICE], page_rows=_ROWS_AT_ONCE):
        yield joined(get_chunks(tables, READINGS, row, SLICE))
