"""What runs over a whole corpus: a job as data, and what an engine promises to do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Job:
    """Reads parts into records, brings these into order, and writes them; all of it can be pickled.

    A record is bytes without a line end; records are sorted byte by byte, what is to come together begins
    alike. `ranges` are the keys, sorted, at which the records are divided among writers: one more than there
    are keys; what begins alike stays together as long as it begins with more than the key has.

    `read` gives the records of one part; `write` takes the number of a range and its records in order, and
    gives a few results, bytes without line ends. Both may be called again for the same part or range, and
    elsewhere: they open what they need by URL, read what is given, and are idempotent in what they write.
    Neither holds all of its part in memory.

    `name` stands for the job and what it reads: two of one name are the same, and the second may go on
    where the first was ended.
    """

    name: str
    parts: tuple[Any, ...]
    read: Callable[[Any], Iterator[bytes]]
    ranges: tuple[bytes, ...]
    write: Callable[[int, Iterator[bytes]], Iterator[bytes]]


class Engine(Protocol):
    """Runs jobs; the same job gives the same results, and writes the same, on every engine."""

    def run(self, job: Job) -> Iterator[bytes]:
        """The results of all ranges, in their order, once all is written.

        Raises what `read` and `write` raise, StoreUnavailableError when the engine does not answer, and
        ConfigurationError when it cannot be had. Nothing of it goes on when it has raised.
        """
