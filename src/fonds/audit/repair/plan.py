"""Repair plan: the faults to repair, grouped by repair action.

The plan is stored in temporary files, because there can be any number of faults.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from fonds.audit.fault import AuditCheck, AuditFault, RepairAct
from fonds.model.encoding import prepare_type
from fonds.ports.scan import CHUNK, iter_chunks

SAMPLES = 3
_PREFIX = "repair-"


class RepairItem(msgspec.Struct, frozen=True):
    """One subject that a repair action must repair.

    `subject`: the faulty object, such as the SHA-1 of a file or the id of an entry.
    `pipeline`, `step`: pipeline and step of the subject; "" if it belongs to none.
    `message`: a sentence that describes the fault.
    """

    subject: str
    pipeline: str
    step: str
    message: str


class RepairPlan:
    """The faults to repair, grouped by repair action. A context manager that deletes its temporary
    files on exit.

    `folder`: folder for temporary files.
    `is_exclusive`: whether no other process uses the library. Plans left by killed processes are
        then deleted.
    `counts`: number of faults by repair action.
    `samples`: messages of the first three faults, by repair action.
    `changed_tables`: names of the sealed tables that another program changed.
    """

    def __init__(self, folder: Path, *, is_exclusive: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for stale_folder in folder.glob(f"{_PREFIX}*") if is_exclusive else ():
            shutil.rmtree(stale_folder, ignore_errors=True)
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=folder)
        self.counts: Counter[RepairAct | None] = Counter()
        self.samples: dict[RepairAct | None, list[str]] = {}
        self.changed_tables: set[str] = set()

    def __enter__(self) -> RepairPlan:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.cleanup()

    def add(self, fault: AuditFault) -> None:
        """Add a fault found by the audit to the plan. A fault that Fonds cannot repair is only
        counted.
        """
        act = fault.check.act
        self.counts[act] += 1
        samples = self.samples.setdefault(act, [])
        if len(samples) < SAMPLES:
            samples.append(fault.message if act else f"{fault.message}; {fault.remedy}")
        if fault.check is AuditCheck.SEAL:
            self.changed_tables.add(fault.subject)
        if act is not None:
            self.add_item(act, fault.subject, fault.pipeline, fault.step, fault.message)

    def add_item(
        self, act: RepairAct, subject: str, pipeline: str = "", step: str = "", message: str = ""
    ) -> None:
        """Add a faulty object, such as a file or entry, to the plan of a repair action that runs
        later.

        A repair action calls this for an object that it cannot repair itself.
        """
        line = msgspec.json.encode(RepairItem(subject, pipeline, step, message))
        with self._build_path(act).open("ab") as stream:
            stream.write(line + b"\n")

    def iter_items(self, act: RepairAct) -> Iterator[list[RepairItem]]:
        """Yield the items of a repair action in batches. In one batch, no two items have the same
        subject, pipeline and step.
        """
        path = self._build_path(act)
        if not path.exists():
            return
        decoder = msgspec.json.Decoder(prepare_type(RepairItem))
        with path.open("rb") as lines:
            for batch in iter_chunks((decoder.decode(line) for line in lines), CHUNK):
                yield list(
                    {(item.subject, item.pipeline, item.step): item for item in batch}.values()
                )

    def _build_path(self, act: RepairAct) -> Path:
        return Path(self._folder.name) / f"{act}.jsonl"


ReportProgress = Callable[[str], None]
"""Function that receives a sentence about a repair that was done, or could not be done."""
