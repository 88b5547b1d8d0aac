"""What a manifest names of each document of a result, so that it can be told later what became of it.

A line has the id, the SHA-1 of the file, the first 16 digits of the SHA-256 of its text and the number of
the extractor that read it, with a blank between: `-` stands for a text that is not known, and for an
extractor. At most 100,000 documents are named: of a larger result none is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fonds.kinds import indexed_kinds
from fonds.kinds.similarity.sketch import text_hashes
from fonds.library.chunks import chunks
from fonds.model.document import IndexDocument
from fonds.ports import Records

MEMBERS_MAX = 100_000
EXTRACTORS_MAX = 10_000
HASH_DIGITS = 16
_LINE = re.compile(
    r"(?P<id>[^\s]{1,200}) (?P<sha1hex>[0-9a-f]{40}) (?P<text>[0-9a-f]{16}|-) (?P<by>\d{1,5}|-)"
)


@dataclass(frozen=True, slots=True)
class Member:
    """A document as a manifest has it: `text` are 16 digits of the hash of its text, "" where it is unknown,
    `extractor` is "" likewise."""

    id: str
    sha1hex: str
    text: str
    extractor: str


def members_of(
    records: Records, documents: Sequence[IndexDocument] | Sequence[Member]
) -> dict[str, Member]:
    """By id, how the rows say now that the files of these documents were read; a chunk of them at a time."""
    keys = sorted({one.sha1hex for one in documents})
    texts = text_hashes(records, keys)
    read_by: dict[str, str] = {}
    for kind, _ in indexed_kinds():
        for row in records.get(kind.row, keys):
            read_by[getattr(row, "sha1hex")] = getattr(row, "extractor")  # noqa: B009
    return {
        one.id: Member(
            one.id,
            one.sha1hex,
            texts.get(one.sha1hex, "")[:HASH_DIGITS],
            read_by.get(one.sha1hex, ""),
        )
        for one in documents
    }


@dataclass(slots=True)
class Members:
    """The lines of a manifest, gathered while documents go by; None when there were too many of them."""

    records: Records
    lines: list[str] | None = field(default_factory=list)
    extractors: dict[str, int] = field(default_factory=dict)

    def noted(self, documents: Iterator[IndexDocument]) -> Iterator[IndexDocument]:
        """The same documents."""
        for some in chunks(documents):
            if self.lines is not None and len(self.lines) + len(some) > MEMBERS_MAX:
                self.lines = None
            if self.lines is not None:
                self.lines += map(self._line, members_of(self.records, some).values())
            yield from some

    def _line(self, one: Member) -> str:
        number = "-"
        if one.extractor and len(self.extractors) < EXTRACTORS_MAX:
            number = str(self.extractors.setdefault(one.extractor, len(self.extractors)))
        return f"{one.id} {one.sha1hex} {one.text or '-'} {number}"


def members(lines: Sequence[str], extractors: Sequence[str]) -> Iterator[Member]:
    """The documents a manifest names. Raises ValueError with a sentence for a line that is none."""
    for number, line in enumerate(lines, 1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"line {number:,} of its documents names none")
        by: Mapping[str, str] = found.groupdict()
        if by["by"] != "-" and int(by["by"]) >= len(extractors):
            raise ValueError(
                f"line {number:,} of its documents names an extractor it does not have"
            )
        yield Member(
            by["id"],
            by["sha1hex"],
            "" if by["text"] == "-" else by["text"],
            "" if by["by"] == "-" else extractors[int(by["by"])],
        )
