"""Before work goes on in a home: what a killed process left is mended, emptied records are told."""

from __future__ import annotations

from fonds.library.audit import emptied
from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.model.rows import CdxRow
from fonds.ports import Stores


def refuse_emptied(stores: Stores) -> None:
    """Raises ConfigurationError where the records are empty beside other stores that are full.

    Whoever worked on would cut from our WARCs what the records do not know, and take in anew what is there.
    An index that does not answer is not asked: work can be entered, and waits for it.
    """

    def count_indexed() -> int:
        try:
            return stores.index.count()
        except StoreUnavailableError:
            return 0

    if told := emptied(stores, count_indexed):
        raise ConfigurationError(
            f"{told}. Put the records back from a copy, or take the inputs in with another --home;"
            " nothing was changed"
        )


def recover(stores: Stores) -> None:
    """Mend what a killed process left behind: bodies in our WARCs that nobody refers to are cut off.

    Raises ConfigurationError as `refuse_emptied` does.
    """
    refuse_emptied(stores)

    def settled_end(name: str) -> int | None:
        rows = stores.records.find(
            CdxRow, {"warc_path": name}, order=("-warc_offset",), count_max=1
        )
        last = next(rows, None)
        return None if last is None else last.warc_offset + (last.warc_csize or 0)

    stores.archive.recover(settled_end)
