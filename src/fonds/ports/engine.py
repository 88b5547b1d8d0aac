"""Jobs over a whole corpus, and the engine that runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Job:
    """Job that reads parts into records, sorts the records and writes them.

    All of it can be pickled. A record is bytes without a line end. Records are sorted byte by byte,
    so records that belong together start with the same bytes.

    `name` identifies the job and its input. A second job with the same name may continue where the
    first ended. `parts` are the inputs of `read`. `read` yields the records of one part. `ranges`
    are sorted keys that divide the records among writers: there is one more range than there are
    keys. Records with a common prefix stay in one range if that prefix is longer than the key.
    `write` takes the number of a range and its records in order, and yields a few results, bytes
    without line ends.

    `read` and `write` may be called again for the same part or range, on another machine too. They
    open what they need by URL, and their writes are idempotent. Neither holds a whole part in
    memory.
    """

    name: str
    parts: tuple[Any, ...]
    read: Callable[[Any], Iterator[bytes]]
    ranges: tuple[bytes, ...]
    write: Callable[[int, Iterator[bytes]], Iterator[bytes]]


class Engine(Protocol):
    """Engine that runs jobs. A job gives the same results and the same writes on every engine."""

    def run(self, job: Job) -> Iterator[bytes]:
        """Yield the results of all ranges in order, once everything is written.

        Raises what `read` and `write` raise, StoreUnavailableError if the engine does not answer,
        and ConfigurationError if the engine is not available. After an error no part of the job
        continues.
        """
