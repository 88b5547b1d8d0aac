"""Runs the acts of repair in the order in which each needs what those before it made."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.collections.names import parse
from fonds.library.checks.bodies import DeepAudit, remembered
from fonds.library.checks.fault import Act
from fonds.library.chunks import chunks
from fonds.library.repair.bodies import bring_bodies_back
from fonds.library.repair.describing import describe_files, write_cells
from fonds.library.repair.entering import count_inputs, enter_again
from fonds.library.repair.making import end_again, index_again
from fonds.library.repair.merging import merge_captures
from fonds.library.repair.placing import put_places_right
from fonds.library.repair.workshop import Workshop
from fonds.model.errors import PermanentError, TransientError
from fonds.model.rows import CdxRow

ROUNDS_MAX = 4
"""What is mended may show what stood behind it; so often it is looked at again at most."""


@dataclass(frozen=True, slots=True)
class Repair:
    """One round: `before` the steps have worked off what is sent again, and `after` it."""

    shop: Workshop

    def before(self) -> None:
        """Mend what the steps find when they work again: captures, places, bodies, files, entries, inputs,
        endings."""
        self._mend_counts()
        merge_captures(self.shop)
        put_places_right(self.shop)
        bring_bodies_back(self.shop)
        describe_files(self.shop)
        enter_again(self.shop)
        count_inputs(self.shop)
        end_again(self.shop)

    @property
    def has_work(self) -> bool:
        """Whether anything is to go through the steps."""
        return any(True for act in (Act.SEND, Act.READ) for _ in self.shop.plan.wanted(act))

    def after(self) -> bool:
        """Index, table, CDXJ, counts; whether the whole index is to be made again."""
        whole = index_again(self.shop)
        write_cells(self.shop)
        self._indexes_of_warcs()
        self._mend_counts()
        self._mend_collections()
        self._look_again()
        return whole

    def _indexes_of_warcs(self) -> None:
        for some in self.shop.plan.wanted(Act.CDXJ):
            for one in some:
                held = self.shop.stores.archive.held(one.subject, mend=True)
                if held is None or held.records is None:
                    self.shop.give_up(one.subject, f"{one.told}, and it could not be made again")
                    continue
                count = len(held.records)
                rows = self.shop.stores.records.find(
                    CdxRow, {"warc_path": one.subject}, count_max=1
                )
                row = next(rows, None)
                told = f"the CDXJ of {one.subject} was made again, with {count} records"
                self.shop.note(
                    Act.CDXJ, row.capture_id if row else "", row.sha1hex if row else None, told
                )

    def _mend_counts(self) -> None:
        if any(True for act in (Act.COUNT, Act.ENTRY) for _ in self.shop.plan.wanted(act)):
            differences = self.shop.stores.ledger.recount(mend=True)
            self.shop.say(f"the books were counted again: {len(differences)} differences")

    def _mend_collections(self) -> None:
        changes = self.shop.changes
        if changes is None:
            return
        from fonds.collections.checking.checking import mend

        for some in self.shop.plan.wanted(Act.COLLECTION):
            for subject in sorted({one.subject for one in some}):
                try:
                    for told in mend(changes, parse(subject)):
                        self.shop.note(Act.COLLECTION, "", None, told)
                except (PermanentError, TransientError, ValueError) as error:
                    self.shop.give_up(subject, f"collection {subject}: {error}")

    def _look_again(self) -> None:
        """What the deep audit found is looked at now, so that the audit says how it is."""
        deep = DeepAudit(self.shop.stores, self.shop.clock, lambda: False)
        faults = (fault.subject for fault in remembered(self.shop.stores.records))
        for some in chunks(faults):
            deep.look_again(sorted(set(some)))
