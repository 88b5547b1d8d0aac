"""A fault the audit found: what is wrong, with what, and what is to be done about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

REPAIR = "repair"
"""The step acts of repair have on the books of the entries they were done for."""


class Act(StrEnum):
    """What `fonds repair` does, in the order it does it; of each the next needs what the one before made."""

    MERGE = "merge"
    PLACE = "place"
    BODY = "body"
    FILE = "file"
    ENTRY = "entry"
    INPUT = "input"
    SEND = "send"
    READ = "read"
    END = "end"
    INDEX = "index"
    TABLE = "table"
    CDXJ = "cdxj"
    COUNT = "count"
    COLLECTION = "collection"


def act_prefix(entry_id: str, act: Act) -> str:
    """How the ids of messages begin that say in the ledger what repair did for an entry."""
    return f"{entry_id}.{REPAIR}.{act}."


_REMEDIES = {
    Act.MERGE: "`fonds repair` merges the rows into one",
    Act.PLACE: "`fonds repair` writes the place down again from the table and the index beside the WARC",
    Act.BODY: "put the file back from a copy; else `fonds repair` takes the bytes from wherever else they"
    " lie, and says if they lie nowhere",
    Act.FILE: "`fonds repair` reads the body again and writes down what it is",
    Act.ENTRY: "`fonds repair` writes the entry down again from its input, or from what refers to it",
    Act.INPUT: "`fonds repair` counts the input again; `fonds ingest` of the same path does it too",
    Act.SEND: "`fonds repair` sends what entered through the pipeline again",
    Act.READ: "`fonds repair` reads the file again, or takes the text from the index",
    Act.END: "`fonds repair` writes down what the stores show",
    Act.INDEX: "`fonds repair` puts the document into the index again; `fonds reindex` all of them",
    Act.TABLE: "`fonds repair` writes the cells again",
    Act.CDXJ: "`fonds repair` makes the index again from the WARC",
    Act.COUNT: "`fonds repair` counts again",
    Act.COLLECTION: "`fonds repair` counts, sweeps, builds or writes again what of the collection is wrong;"
    " `fonds group` builds it anew",
}
NOTHING_HELPS = (
    "nothing here can make it again: put the store back from a copy, or take the inputs in anew, into an"
    " empty home"
)
PURGE = "`fonds takedown SHA1 --reason CLASS --everywhere` purges WARCs that no row leads to"


class Check(StrEnum):
    """What was looked at and found wrong; `act` is what mends it, None: nothing does."""

    act: Act | None

    def __new__(cls, value: str, act: Act | None = None) -> Check:
        """Attach to the check's name the act that mends it."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.act = act
        return member

    RECORDS_EMPTIED = "records-emptied"
    INPUT_COUNT = "input-count", Act.INPUT
    INPUT_ROW = "input-row", Act.INPUT
    UNSETTLED = "unsettled", Act.SEND
    QUARANTINE = "quarantine", Act.SEND
    COUNT = "count", Act.COUNT
    ENTRY = "entry", Act.ENTRY
    WAY = "way", Act.SEND
    ENDING = "ending", Act.END
    ROW = "row", Act.READ
    BLOB = "blob", Act.READ
    DOCUMENT = "document", Act.INDEX
    FILE = "file", Act.FILE
    CAPTURE_TWICE = "capture-twice", Act.MERGE
    CELLS = "cells", Act.TABLE
    PLACE = "place", Act.PLACE
    BODY = "body", Act.BODY
    CDXJ = "cdxj", Act.CDXJ
    COLLECTION = "collection", Act.COLLECTION
    TAKEN_DOWN = "taken-down"

    @property
    def remedy(self) -> str:
        """What a person does about it."""
        if self is Check.TAKEN_DOWN:
            return PURGE
        return NOTHING_HELPS if self.act is None else _REMEDIES[self.act]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong. `told` is the sentence; `subject` what it is about: a file's SHA-1 in hex, an
    entry's or message's id, an input's id, a WARC, a step, a collection. `pipeline` is '' where it is of
    none."""

    check: Check
    subject: str
    told: str
    pipeline: str = ""
    step: str = ""

    @property
    def remedy(self) -> str:
        """What a person does about it."""
        return self.check.remedy
