"""Reads a part of an index into records: what is kept, and counts of what is not."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from fonds.bulk.captures.deciding import Wanted, decide, normalized
from fonds.bulk.captures.parts import IndexPart, lines_in
from fonds.bulk.captures.ranking import to_record
from fonds.bulk.captures.tallies import Tallies
from fonds.formats.cdx import CdxLine, IndexReader, Rejected
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError

LINES = "lines"


@dataclass(frozen=True, slots=True)
class ReadCaptures:
    """The `read` of a backfill."""

    wanted: Wanted

    def __call__(self, part: IndexPart) -> Iterator[bytes]:
        """A record for each line that is kept, and the counts behind them. Raises OSError."""
        tallies = Tallies()
        try:
            yield from self._kept(part, tallies)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            tallies.note(Reason.DAMAGED_RECORD, f"{part.path}: unpacking fails: {error}")
        except LimitError as error:
            tallies.note(error.reason, f"{part.path}: {error.detail}")
        yield from tallies.records()

    def _kept(self, part: IndexPart, tallies: Tallies) -> Iterator[bytes]:
        reader, wanted = IndexReader(), self.wanted
        if part.start and part.legend:
            reader.parse(part.legend)
        counts, parse = tallies.counts, reader.parse
        for number, text in enumerate(lines_in(part), 1):
            counts[LINES] += 1
            line = parse(text.decode("utf-8", "replace"))
            reason = decide(line, wanted)
            if reason is None and isinstance(line, CdxLine):
                yield to_record(line, normalized(line.mime) or line.mime)
            elif isinstance(line, Rejected):
                where = f"line {number}" + (f" behind byte {part.start}" if part.start else "")
                tallies.note(Reason.BAD_INDEX_LINE, f"{part.path}, {where}: {line.detail}")
            elif reason is not None:
                counts[reason] += 1
