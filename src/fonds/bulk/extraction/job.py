"""The job of an extraction into Parquet, made of WARCs, of how they are read, and of a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from fonds.bulk.captures.job import sha1_ranges
from fonds.bulk.extraction.carrying import Reading
from fonds.bulk.extraction.reading import ReadWarcs
from fonds.bulk.extraction.rows import RESULTS
from fonds.bulk.extraction.writing import WriteParquet
from fonds.model.rows import InputRow
from fonds.ports import Job, Source

WARCS_MAX = 100_000
"""WARCs of one job: their books are held in memory together."""
RANGE_BYTES, RANGES_MAX = 64 * 2**20, 256


def extraction_job(
    parts: Sequence[InputRow],
    source: Source,
    open_reading: Callable[[], Reading],
    folder: Path,
    fingerprint: str,
    urls: Mapping[str, str],
) -> Job:
    """Return the job that extracts these WARCs. `fingerprint` stands for extractors, limits and folder,
    `urls` are those of fetched WARCs by path. Into how many ranges it is cut depends on the WARCs alone, so
    that every engine with any number of workers leaves the same files.

    Raises ValueError for more WARCs than one job takes.
    """
    if len(parts) > WARCS_MAX:
        raise ValueError(f"{len(parts):,} WARCs are more than {WARCS_MAX:,}; name fewer at once")
    sizes = [int(one.fingerprint.partition(":")[0]) for one in parts]
    count = max(1, min(sum(sizes) // RANGE_BYTES + 1, RANGES_MAX))
    told = repr(([one.input_id for one in parts], sorted(RESULTS), fingerprint))
    return Job(
        name=f"extract-{sha256(told.encode('utf-8', 'replace')).hexdigest()[:16]}",
        parts=tuple(parts),
        read=ReadWarcs(source, open_reading),
        ranges=sha1_ranges(count),
        write=WriteParquet(open_reading, folder, urls),
    )
