"""Faults found by the audit: what is wrong, its subject and its remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

REPAIR = "repair"
"""Step under which repair actions are recorded in the ledger."""


class RepairAct(StrEnum):
    """Actions of `fonds repair` in execution order. Each may need results of earlier ones."""

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


def build_act_prefix(entry_id: str, act: RepairAct) -> str:
    """Return the prefix of the message ids that record a repair action for an entry."""
    return f"{entry_id}.{REPAIR}.{act}."


_REMEDIES = {
    RepairAct.MERGE: "`fonds repair` merges the rows into one",
    RepairAct.PLACE: "`fonds repair` writes the place down again from the table and the index beside the"
    " WARC",
    RepairAct.BODY: "put the file back from a copy; else `fonds repair` takes the bytes from wherever"
    " else they"
    " lie, and says if they lie nowhere",
    RepairAct.FILE: "`fonds repair` reads the body again and writes down what it is",
    RepairAct.ENTRY: "`fonds repair` writes the entry down again from its input, or from what refers to it",
    RepairAct.INPUT: "`fonds repair` counts the input again; `fonds ingest` of the same path does it too",
    RepairAct.SEND: "`fonds repair` sends what entered through the pipeline again",
    RepairAct.READ: "`fonds repair` reads the file again, or takes the text from the index",
    RepairAct.END: "`fonds repair` writes down what the stores show",
    RepairAct.INDEX: "`fonds repair` puts the document into the index again; `fonds reindex` all of them",
    RepairAct.TABLE: "`fonds repair` writes the cells again",
    RepairAct.CDXJ: "`fonds repair` makes the index again from the WARC",
    RepairAct.COUNT: "`fonds repair` counts again",
    RepairAct.COLLECTION: "`fonds repair` counts, sweeps, builds or writes again what of the collection is"
    " wrong;"
    " `fonds group` builds it anew",
}
NO_REMEDY = (
    "nothing here can make it again: put the store back from a copy, or take the inputs in anew, into an"
    " empty home"
)
PURGE = "`fonds takedown SHA1 --reason CLASS --everywhere` purges WARCs that no row leads to"


class AuditCheck(StrEnum):
    """Checks of the audit. `act` is the repair action for a failed check, or None if there is none."""

    act: RepairAct | None

    def __new__(cls, value: str, act: RepairAct | None = None) -> AuditCheck:
        """Attach the repair action to the check's name."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.act = act
        return member

    RECORDS_EMPTIED = "records-emptied"
    INPUT_COUNT = "input-count", RepairAct.INPUT
    INPUT_ROW = "input-row", RepairAct.INPUT
    UNSETTLED = "unsettled", RepairAct.SEND
    QUARANTINE = "quarantine", RepairAct.SEND
    COUNT = "count", RepairAct.COUNT
    ENTRY = "entry", RepairAct.ENTRY
    WAY = "way", RepairAct.SEND
    ENDING = "ending", RepairAct.END
    ROW = "row", RepairAct.READ
    BLOB = "blob", RepairAct.READ
    DOCUMENT = "document", RepairAct.INDEX
    FILE = "file", RepairAct.FILE
    CAPTURE_TWICE = "capture-twice", RepairAct.MERGE
    CELLS = "cells", RepairAct.TABLE
    PLACE = "place", RepairAct.PLACE
    BODY = "body", RepairAct.BODY
    CDXJ = "cdxj", RepairAct.CDXJ
    COLLECTION = "collection", RepairAct.COLLECTION
    TAKEN_DOWN = "taken-down"

    @property
    def remedy(self) -> str:
        """What a person can do about it."""
        if self is AuditCheck.TAKEN_DOWN:
            return PURGE
        return NO_REMEDY if self.act is None else _REMEDIES[self.act]


@dataclass(frozen=True, slots=True)
class AuditFault:
    """One fault. `message` is a sentence for people.

    `subject` is a file's SHA-1 in hex, an entry's, message's or input's id, a WARC, a step or a
    collection. `pipeline` is "" if the fault belongs to none.
    """

    check: AuditCheck
    subject: str
    message: str
    pipeline: str = ""
    step: str = ""

    @property
    def remedy(self) -> str:
        """What a person can do about it."""
        return self.check.remedy
