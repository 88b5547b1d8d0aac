"""Faults that the audit can find. Each has a failed check, a subject (the faulty object) and a
remedy.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

REPAIR = "repair"
"""Step name of the messages that record repair actions in the ledger."""


class RepairAct(StrEnum):
    """Action of `fonds repair`. An action may need the results of actions that run before it.

    The values are in the order in which the actions run, with two exceptions: `END` runs before
    `SEND`, and `COUNT` also runs first.

    - `MERGE`: merges several `cdx` rows (SQL) of one capture into one.
    - `PLACE`: restores the WARC locations of captures.
    - `BODY`: writes missing bodies to a WARC again.
    - `FILE`: restores the descriptions of files (size, type and hashes).
    - `ENTRY`: restores missing entries in the ledger.
    - `INPUT`: restores the rows of missing inputs, and corrects the entry counts of inputs.
    - `SEND`: sends entries through the pipeline again.
    - `READ`: reads files again to rebuild their derivatives.
    - `END`: corrects dispositions in the ledger that contradict the stores.
    - `INDEX`: writes documents to the full-text index again.
    - `TABLE`: rewrites cells of the wide-column table.
    - `CDXJ`: rebuilds the CDXJ indexes of WARCs.
    - `COUNT`: corrects outcomes and counts in the ledger.
    - `COLLECTION`: corrects collections.
    """

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
    """Return the prefix of the ids of all messages that record one type of repair action for one
    entry.
    """
    return f"{entry_id}.{REPAIR}.{act}."


_REMEDIES = {
    RepairAct.MERGE: "`fonds repair` merges the rows into one",
    RepairAct.PLACE: (
        "`fonds repair` restores the location from the table and the index next to the WARC"
    ),
    RepairAct.BODY: (
        "restore the file from a backup. Otherwise `fonds repair` copies the "
        "bytes from another location, and reports if there is none"
    ),
    RepairAct.FILE: "`fonds repair` reads the body again and stores its details",
    RepairAct.ENTRY: (
        "`fonds repair` restores the entry from its input, or from the rows that refer to it"
    ),
    RepairAct.INPUT: (
        "`fonds repair` reads the input again. If its file is gone, check its row: `fonds repair "
        "--accept inputs --yes` accepts it"
    ),
    RepairAct.SEND: "`fonds repair` sends the entry through the pipeline again",
    RepairAct.READ: "`fonds repair` reads the file again, or restores the text from the index",
    RepairAct.END: "`fonds repair` records the state that the stores show",
    RepairAct.INDEX: (
        "`fonds repair` indexes the document again; `fonds reindex` indexes all documents"
    ),
    RepairAct.TABLE: "`fonds repair` rewrites the cells",
    RepairAct.CDXJ: "`fonds repair` rebuilds the index from the WARC",
    RepairAct.COUNT: "`fonds repair` corrects the counts",
    RepairAct.COLLECTION: "`fonds repair` corrects the collection; `fonds group` rebuilds it",
}
NO_REMEDY = (
    "Fonds cannot restore it. Restore the store from a backup, or ingest the inputs "
    "again into an empty home"
)
PURGE = "`fonds takedown SHA1 --reason CLASS --everywhere` purges WARCs that no row refers to"

ACCEPT = (
    "check the rows of the table. If they are right, `fonds repair --accept TABLE --yes` accepts "
    "them; otherwise restore the table from a backup, or correct it with the command that "
    "changes it"
)

DESCRIBE = (
    "`fonds repair` takes the values from the WARC record, or from the index next to the WARC"
)


ACCEPT_COLLECTIONS = (
    "check the named rows. If they are right, `fonds repair --accept collections --yes` accepts "
    "them; otherwise restore the table from a backup, or put the documents again"
)


LOAD_CATALOG = "`fonds catalog load --again PATH` loads the files of the catalogue again"


class AuditCheck(StrEnum):
    """One check of the audit.

    `act` is the repair action that repairs faults of the check; None if Fonds cannot repair them.

    - `RECORDS_EMPTIED`: the records (SQL rows) contain files if the table or the index does.
    - `INPUT_COUNT`: each input has as many entries in the ledger as were read from it.
    - `INPUT_ROW`: the input of each entry is recorded.
    - `UNSETTLED`: messages without an outcome are in a queue.
    - `QUARANTINE`: quarantined messages are in the quarantine.
    - `COUNT`: the stored outcomes and counts agree with the dispositions in the ledger.
    - `SEAL`: tables that nothing else confirms, such as keys, were only changed by Fonds.
    - `ENTRY`: each entry that is referred to exists, with the right location.
    - `WAY`: the messages of each entry led to a result, without contradictions.
    - `ENDING`: the dispositions agree with the derivatives and WARCs in the stores.
    - `ROW`: the rows of derivatives exist and are unchanged.
    - `BLOB`: the texts and thumbnails exist and are unchanged.
    - `DOCUMENT`: the full-text index contains the expected documents.
    - `FILE`: the description of each file (size, type, hashes, rights) exists and is right.
    - `CAPTURE_TWICE`: each capture has only one `cdx` row (SQL).
    - `CELLS`: the cells of the wide-column table agree with the records.
    - `PLACE`: the WARC location of each capture is recorded.
    - `CAPTURE`: status, media type and SURT of each capture agree with its record and URL.
    - `BODY`: the WARC of each capture exists, and its bytes can be read.
    - `CDXJ`: the CDXJ index of each WARC written by Fonds is complete.
    - `COLLECTION`: each collection is consistent.
    - `COLLECTION_ROW`: documents, rules, configurations and the decisions of curators were only
      changed by Fonds.
    - `CATALOG`: the records and lookup keys of the catalogue were only changed by Fonds.
    - `TAKEN_DOWN`: no CDXJ index lists a file that was taken down.
    """

    act: RepairAct | None

    def __new__(cls, value: str, act: RepairAct | None = None) -> AuditCheck:
        """Create a check from its name and its repair action. None means that Fonds cannot repair
        its faults.
        """
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
    SEAL = "seal"
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
    CAPTURE = "capture", RepairAct.PLACE
    BODY = "body", RepairAct.BODY
    CDXJ = "cdxj", RepairAct.CDXJ
    COLLECTION = "collection", RepairAct.COLLECTION
    COLLECTION_ROW = "collection-row"
    CATALOG = "catalog"
    TAKEN_DOWN = "taken-down"

    @property
    def remedy(self) -> str:
        """Sentence that tells a person what to do about faults of the check."""
        if self is AuditCheck.TAKEN_DOWN:
            return PURGE
        if self is AuditCheck.SEAL:
            return ACCEPT
        if self is AuditCheck.CATALOG:
            return LOAD_CATALOG
        if self is AuditCheck.COLLECTION_ROW:
            return ACCEPT_COLLECTIONS
        if self is AuditCheck.CAPTURE:
            return DESCRIBE
        return NO_REMEDY if self.act is None else _REMEDIES[self.act]


@dataclass(frozen=True, slots=True)
class AuditFault:
    """One fault found by the audit.

    `check`: the check that failed.
    `subject`: the faulty object: SHA-1 of a file in hex, id of an entry, message, input or
        document, or name of a WARC, step or collection.
    `message`: a sentence that describes the fault.
    `pipeline`: pipeline of the subject; "" if the fault belongs to no pipeline.
    `step`: step of that pipeline; "" if the fault belongs to no step.
    """

    check: AuditCheck
    subject: str
    message: str
    pipeline: str = ""
    step: str = ""

    @property
    def remedy(self) -> str:
        """Sentence that tells a person what to do about the fault."""
        return self.check.remedy
