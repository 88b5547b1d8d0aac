"""What is to be mended, by act: faults written aside as the audit finds them, however many there are."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from fonds.audit.fault import AuditFault, RepairAct
from fonds.model.encoding import prepare_type
from fonds.ports.scan import CHUNK, iter_chunks

SAMPLES = 3
_PREFIX = "repair-"


class RepairItem(msgspec.Struct, frozen=True):
    """One thing an act is wanted for."""

    subject: str
    pipeline: str
    step: str
    told: str


class RepairPlan:
    """A context manager; what is written aside goes with it. `folder` is the home's for passing files.

    Whoever is `alone` with the home removes what killed ones left there.
    """

    def __init__(self, folder: Path, *, alone: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{_PREFIX}*") if alone else ():
            shutil.rmtree(left, ignore_errors=True)
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=folder)
        self.counts: Counter[RepairAct | None] = Counter()
        self.samples: dict[RepairAct | None, list[str]] = {}

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
        """Note a fault."""
        act = fault.check.act
        self.counts[act] += 1
        some = self.samples.setdefault(act, [])
        if len(some) < SAMPLES:
            some.append(fault.message)
        if act is not None:
            self.add_item(act, fault.subject, fault.pipeline, fault.step, fault.message)

    def add_item(
        self, act: RepairAct, subject: str, pipeline: str = "", step: str = "", message: str = ""
    ) -> None:
        """An act wants another one, which comes later, for what it cannot mend itself."""
        line = msgspec.json.encode(RepairItem(subject, pipeline, step, message))
        with self._build_path(act).open("ab") as stream:
            stream.write(line + b"\n")

    def iter_items(self, act: RepairAct) -> Iterator[list[RepairItem]]:
        """What an act is wanted for, some hundred at a time, each subject once a time."""
        path = self._build_path(act)
        if not path.exists():
            return
        decoder = msgspec.json.Decoder(prepare_type(RepairItem))
        with path.open("rb") as lines:
            for some in iter_chunks((decoder.decode(line) for line in lines), CHUNK):
                yield list({(one.subject, one.pipeline, one.step): one for one in some}.values())

    def _build_path(self, act: RepairAct) -> Path:
        return Path(self._folder.name) / f"{act}.jsonl"


Say = Callable[[str], None]
"""Takes a sentence about what was done, or what could not be."""
