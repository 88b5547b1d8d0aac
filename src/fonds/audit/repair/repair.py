"""Runs the acts of repair in the order in which each needs what those before it made."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.audit.bodies import DeepAudit, iter_remembered_faults
from fonds.audit.fault import RepairAct
from fonds.audit.repair.bodies import restore_bodies
from fonds.audit.repair.captures import merge_captures
from fonds.audit.repair.context import RepairContext
from fonds.audit.repair.derivatives import reindex_documents, rewrite_endings
from fonds.audit.repair.entries import count_inputs, reenter_entries
from fonds.audit.repair.files import describe_files, write_cells
from fonds.audit.repair.places import repair_places
from fonds.grouping.names import parse
from fonds.model.errors import PermanentError, TransientError
from fonds.model.rows import CdxRow
from fonds.ports.scan import iter_chunks

ROUNDS_MAX = 4
"""What is mended may show what stood behind it; so often it is looked at again at most."""


@dataclass(frozen=True, slots=True)
class RepairRound:
    """One round: `prepare` the steps have worked off what is sent again, and `finish` it."""

    context: RepairContext

    def prepare(self) -> None:
        """Mend what the steps find when they work again: captures, places, bodies, files, entries, inputs,
        endings."""
        self._repair_counts()
        merge_captures(self.context)
        repair_places(self.context)
        restore_bodies(self.context)
        describe_files(self.context)
        reenter_entries(self.context)
        count_inputs(self.context)
        rewrite_endings(self.context)

    @property
    def has_work(self) -> bool:
        """Whether anything is to go through the steps."""
        return any(
            True
            for act in (RepairAct.SEND, RepairAct.READ)
            for _ in self.context.plan.iter_items(act)
        )

    def finish(self) -> bool:
        """Index, table, CDXJ, counts; whether the whole index is to be made again."""
        whole = reindex_documents(self.context)
        write_cells(self.context)
        self._rebuild_warc_indexes()
        self._repair_counts()
        self._repair_collections()
        self._recheck_faults()
        return whole

    def _rebuild_warc_indexes(self) -> None:
        for some in self.context.plan.iter_items(RepairAct.CDXJ):
            for one in some:
                held = self.context.stores.archive.inspect(one.subject, repair=True)
                if held is None or held.records is None:
                    self.context.give_up(one.subject, f"{one.told}, and it could not be made again")
                    continue
                count = len(held.records)
                rows = self.context.stores.records.find(
                    CdxRow, {"warc_path": one.subject}, count_max=1
                )
                row = next(rows, None)
                told = f"the CDXJ of {one.subject} was made again, with {count} records"
                self.context.record_act(
                    RepairAct.CDXJ,
                    row.capture_id if row else "",
                    row.sha1hex if row else None,
                    told,
                )

    def _repair_counts(self) -> None:
        if any(
            True
            for act in (RepairAct.COUNT, RepairAct.ENTRY)
            for _ in self.context.plan.iter_items(act)
        ):
            differences = self.context.stores.ledger.recount(repair=True)
            self.context.say(f"the books were counted again: {len(differences)} differences")

    def _repair_collections(self) -> None:
        changes = self.context.changes
        if changes is None:
            return
        from fonds.grouping.checks.check import repair_collection

        for some in self.context.plan.iter_items(RepairAct.COLLECTION):
            for subject in sorted({one.subject for one in some}):
                try:
                    for told in repair_collection(changes, parse(subject)):
                        self.context.record_act(RepairAct.COLLECTION, "", None, told)
                except (PermanentError, TransientError, ValueError) as error:
                    self.context.give_up(subject, f"collection {subject}: {error}")

    def _recheck_faults(self) -> None:
        """What the deep audit found is looked at now, so that the audit says how it is."""
        deep = DeepAudit(self.context.stores, self.context.clock, lambda: False)
        faults = (fault.subject for fault in iter_remembered_faults(self.context.stores.records))
        for some in iter_chunks(faults):
            deep.recheck(sorted(set(some)))
