"""One round of repair: runs the repair actions in the order of their dependencies."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.audit.bodies import DeepAudit, iter_remembered_faults
from fonds.audit.fault import RepairAct
from fonds.audit.repair.bodies import restore_bodies
from fonds.audit.repair.captures import merge_captures, restore_capture_ids
from fonds.audit.repair.context import RepairContext
from fonds.audit.repair.derivatives import reindex_documents, rewrite_endings
from fonds.audit.repair.entries import reenter_entries
from fonds.audit.repair.files import describe_files, write_cells
from fonds.audit.repair.inputs import count_inputs
from fonds.audit.repair.places import correct_captures, correct_descriptions, repair_places
from fonds.grouping.names import parse
from fonds.model.errors import PermanentError, TransientError
from fonds.model.rows import CdxRow
from fonds.ports.scan import iter_chunks

ROUNDS_MAX = 4
"""Maximum number of repair rounds. Repairing one fault may reveal another."""


@dataclass(frozen=True, slots=True)
class RepairRound:
    """One round of repair. Call `prepare`, let the pipeline process what was sent again, then call
    `finish`.
    """

    context: RepairContext

    def prepare(self) -> None:
        """Repair what the pipeline steps rely on: captures, locations, bodies, files, entries,
        inputs and dispositions.
        """
        self._repair_counts()
        restore_capture_ids(self.context)
        merge_captures(self.context)
        correct_captures(self.context)
        repair_places(self.context)
        restore_bodies(self.context)
        describe_files(self.context)
        correct_descriptions(self.context)
        reenter_entries(self.context)
        count_inputs(self.context)
        rewrite_endings(self.context)

    @property
    def has_work(self) -> bool:
        """Whether the repair plan has entries or files for the pipeline to process again."""
        return any(
            True
            for act in (RepairAct.SEND, RepairAct.READ)
            for _ in self.context.plan.iter_items(act)
        )

    def finish(self) -> bool:
        """Repair the full-text index, the wide-column table, CDXJ indexes, counts and collections.

        Returns whether the whole full-text index must be rebuilt.
        """
        needs_reindex = reindex_documents(self.context)
        write_cells(self.context)
        self._rebuild_warc_indexes()
        self._repair_counts()
        self._repair_collections()
        self._recheck_faults()
        return needs_reindex

    def _rebuild_warc_indexes(self) -> None:
        for items in self.context.plan.iter_items(RepairAct.CDXJ):
            for item in items:
                state = self.context.stores.archive.inspect(item.subject, repair=True)
                if state is None or state.records is None:
                    self.context.give_up(item.subject, f"{item.message}. It could not be repaired")
                    continue
                count = len(state.records)
                rows = self.context.stores.records.find(
                    CdxRow, {"warc_path": item.subject}, count_max=1
                )
                row = next(rows, None)
                message = f"rebuilt the CDXJ of {item.subject}, with {count} records"
                self.context.record_act(
                    RepairAct.CDXJ,
                    row.capture_id if row else "",
                    row.sha1hex if row else None,
                    message,
                )

    def _repair_counts(self) -> None:
        if any(
            True
            for act in (RepairAct.COUNT, RepairAct.ENTRY)
            for _ in self.context.plan.iter_items(act)
        ):
            differences = self.context.stores.ledger.recount(repair=True)
            self.context.report(f"recounted the ledger: {len(differences)} differences")

    def _repair_collections(self) -> None:
        collection_writer = self.context.collection_writer
        if collection_writer is None:
            return
        from fonds.grouping.checks.check import repair_collection

        for items in self.context.plan.iter_items(RepairAct.COLLECTION):
            for subject in sorted({item.subject for item in items}):
                try:
                    for message in repair_collection(collection_writer, parse(subject)):
                        self.context.record_act(RepairAct.COLLECTION, "", None, message)
                except (PermanentError, TransientError, ValueError) as error:
                    self.context.give_up(subject, f"collection {subject}: {error}")

    def _recheck_faults(self) -> None:
        """Check the files with stored faults of the deep audit again, so that the next audit is up
        to date.
        """
        deep = DeepAudit(self.context.stores, self.context.clock, lambda: False)
        faults = (fault.subject for fault in iter_remembered_faults(self.context.stores.records))
        for batch in iter_chunks(faults):
            deep.recheck(sorted(set(batch)))
