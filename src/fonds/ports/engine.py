"""Interfaces of bulk jobs over a whole corpus and of the engine that runs the jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Job:
    """Bulk job that reads inputs into records, sorts the records and writes them range by range.

    - `name`: identifies the job and its input. A second job with the same name may continue where
      the first ended.
    - `parts`: inputs that can be read in parallel; each is an argument of `read`.
    - `read`: yields the records of one part.
    - `ranges`: sorted keys that divide the records into ranges, one range more than there are keys.
      Records with a common prefix stay in one range if that prefix is longer than the key.
    - `write`: takes the number of a range and the records of the range in order. It yields a few
      results, which are bytes without line ends.

    All attributes can be pickled. A record is bytes without a line end. Records are sorted byte by
    byte, so records that belong together start with the same bytes. `read` and `write` may be
    called again for the same part or range, on another machine too. They open what they need by
    URL, and their writes are idempotent. Neither holds a whole part in memory.
    """

    name: str
    parts: tuple[Any, ...]
    read: Callable[[Any], Iterator[bytes]]
    ranges: tuple[bytes, ...]
    write: Callable[[int, Iterator[bytes]], Iterator[bytes]]


class Engine(Protocol):
    """Interface of engines that run bulk jobs, on this machine or on Spark.

    A job gives the same results and the same writes on every engine.
    """

    def run(self, job: Job) -> Iterator[bytes]:
        """Run a bulk job; yield the results of all ranges in order, once everything is written.

        Raises what the job's `read` and `write` raise, StoreUnavailableError if the engine does not
        answer, and ConfigurationError if the engine is not available. After an error no part of the
        job continues.
        """
