"""The system in one file: what the stores, the queue, the sources and the steps promise each other.

Every backend of a port passes the same contract suite (`tests/contract`). Batches everywhere; nothing
here may be a promise that RabbitMQ, Kafka, PostgreSQL, S3, Elasticsearch or HBase could not keep.
All methods may raise StoreUnavailableError (try again) and StorageFullError (stop); other errors are
named where they belong. A port is safe to use from several threads of one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, TypeVar

from fonds.model.archive import Archived, ArchiveEntry, Held, Payload
from fonds.model.blob import Blob
from fonds.model.capture import Place
from fonds.model.document import IndexDocument, SearchQuery, SearchResults
from fonds.model.entry import Entry
from fonds.model.message import NO_TOPICS, Delivery, Depth, Message, Subscription, Traits
from fonds.model.rows import DispositionRow, EntryRow, InputRow, Row
from fonds.model.rows.prefix import Prefix as Prefix
from fonds.model.step import Result

R = TypeVar("R", bound=Row)
ItemT = TypeVar("ItemT", contravariant=True)
ValueT = TypeVar("ValueT")


class Queue(Protocol):
    """Streams of messages. At least once: a message is handed out until it is settled.

    Order: roughly first in, first out within a key; no priorities. An address is a topic (every
    subscription that selects a message receives a copy), or one of a subscription's own (`incoming`,
    `delay`, `quarantine`). Putting a message whose id already waits at an address may replace it or add
    a second copy: readers are idempotent by id. Headers a broker adds for itself are never shown.
    """

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """Durable when it returns: all of `messages` or, on an error, possibly some of them.

        `delay_s` > 0, of any length, is allowed for a subscription's `incoming` only: the messages wait
        in its `delay`. They never come early, and while readers are about at most some two seconds late.
        What is put to a topic is kept where a subscription selects it or the backend keeps logs, and
        gone elsewhere. Raises ConfigurationError for an address that was never declared.
        """

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Up to `count_max` messages, waiting at most `wait_s` seconds for the first; [] when none came.

        What is never settled comes back: at once when the process ends, else after the backend's lease.
        """

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """The messages are finished here and do not come again; any of those in hand, in any order.

        A process killed afterwards brings back all it had not settled. Where more is known of a message
        than fits the backend's books, a few settled ones may come with them.
        """

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Give messages back unfinished; they are ready again, `redelivered` one higher."""

    def keep(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """The messages are still being worked on: their lease begins anew.

        Returns those in hand as yet; the others were settled or released, or come again elsewhere, and
        what is done for them will be done twice.
        """

    def depth(self, subscription: Subscription) -> Depth:
        """How many messages wait; exact on one machine, an estimate on brokers."""


class Topics(Protocol):
    """What a queue's messages travel on; whoever composes a home makes it, nobody else."""

    def declare(
        self, subscriptions: Iterable[Subscription], topics: Mapping[str, Traits] = NO_TOPICS
    ) -> None:
        """Make topics and addresses exist; again is harmless. Each handle declares what it uses.

        `topics` are those put to whoever reads them: other people's programs, or nobody. A topic that
        exists with other traits is used as it is. A subscription keeps its topic and pipeline for good:
        whatever reads another has another name. Raises ConfigurationError for names the backend has no
        room for.
        """


class TopicQueue(Queue, Topics, Protocol):
    """A queue as its backends are: messages, and the making of what they travel on."""


class Table(Protocol):
    """Wide rows by binary key, in key order (the HBase layout). One version of each cell.

    Columns are `family:qualifier`; families are declared with the table. Writes are upserts by cell.
    Who reads may name the columns, or whole families as `family:`; no other cell is fetched then, and a
    row that has none of them is absent. At most 1,000 may be named; None means all there are.
    """

    def declare(self, table: str, families: Sequence[str]) -> None:
        """Make the table exist; again is harmless. Raises ConfigurationError if its families differ."""

    def put(self, table: str, rows: Sequence[tuple[bytes, Mapping[str, bytes]]]) -> None:
        """Write cells, replacing those of the same row and column; other cells stay. Durable.

        Raises ConfigurationError for an undeclared table or family.
        """

    def get(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """The rows that exist, by key; absent rows are absent."""

    def scan(
        self,
        table: str,
        prefix: bytes = b"",
        *,
        after: bytes | None = None,
        count_max: int = 1000,
        columns: Sequence[str] | None = None,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Up to `count_max` rows in byte order of keys, with `prefix` and greater than `after`."""

    def delete(self, table: str, keys: Sequence[bytes]) -> None:
        """Remove whole rows; absent ones are no error."""


class Records(Protocol):
    """SQL rows that people query and join; one frozen value per row (`model/rows.py`)."""

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        """Upsert by primary key, all rows in one transaction; rows of several tables may be mixed.

        The last of several rows with one key wins. Without `replace`, rows whose key exists stay as they
        were, and the first of several wins. NUL and lone surrogates in texts are removed here.
        """

    def change(
        self,
        kind: type[Row],
        keys: Sequence[object],
        values: Mapping[str, object],
        where: Mapping[str, object] | None = None,
    ) -> int:
        """Set these columns of the rows with these keys that still are as `where` says (as in `find`).

        How many rows were changed; absent ones are no error. One transaction: of several who would
        change the same row away from the same `where`, one does.
        """

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """The rows with these keys (a value, or a tuple for a composed key), in no order."""

    def find(
        self,
        kind: type[R],
        where: Mapping[str, object] | None = None,
        *,
        order: Sequence[str] = (),
        after: Mapping[str, object] | None = None,
        count_max: int | None = None,
    ) -> Iterator[R]:
        """Rows whose columns equal `where`, streamed, any size.

        A list means any of its values, `None` an absent one, `Prefix` all texts that begin so. `order`
        names columns, `-name` for descending; the default is the primary key, which decides among equal
        rows in any case. `after` has the values of these columns in the row behind which to begin.
        """

    def count(
        self, kind: type[Row], by: Sequence[str] = (), where: Mapping[str, object] | None = None
    ) -> dict[tuple[Any, ...], int]:
        """How many rows there are for each combination of the columns `by`; {(): n} for `by` empty."""

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """Remove rows by key; absent ones are no error."""


class Ledger(Protocol):
    """What entered, and how each message made of it ended; one transaction a call, shared by all pipelines.

    An entry's outcome (`EntryRow`) and the counts (`TallyRow`) follow in the same transaction; both, and
    the dispositions, are read through Records.
    """

    def enter(
        self, inputs: Sequence[InputRow], entries: Sequence[EntryRow], steps: Sequence[str]
    ) -> set[str]:
        """Write down how far inputs were read and what was found in them, promising each entry's message to
        each of `steps`. Entries that are known stay as they are. Returns the ids of those whose message
        has not ended everywhere, so that it is to be sent (again)."""

    def write(self, rows: Sequence[DispositionRow]) -> None:
        """Write how messages ended, and what was promised (verdict `pending`) of them.

        A promise never replaces an ending, whichever of the two comes first; of two endings the last
        one written stands. Idempotent.
        """

    def recount(self, *, mend: bool = False) -> list[str]:
        """What the outcomes and counts say that the dispositions do not, a sentence each, a thousand at most;
        with `mend` they are made to agree."""


class Blobs(Protocol):
    """Bytes by key. No rename, no listing on hot paths; a put replaces the whole blob, atomically."""

    def put(self, blobs: Sequence[Blob]) -> None:
        """All durable when it returns; some may be there when it raises.

        Raises ConfigurationError for a key with `..`, an empty part or a NUL.
        """

    def get(self, key: str) -> bytes | None:
        """The blob, or None when there is none."""

    def exists(self, keys: Sequence[str]) -> set[str]:
        """Those of `keys` that exist."""

    def sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """How many bytes those of `keys` have that exist; nothing is read."""

    def delete(self, keys: Sequence[str]) -> None:
        """Remove blobs; absent ones are no error."""


class Index(Protocol):
    """Full text. A document replaces the one with its `id`."""

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Durable when it returns; searchable at once or after the backend's refresh."""

    def delete(self, ids: Sequence[str]) -> None:
        """Remove documents; absent ones are no error."""

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """The documents that exist, whole, by `id`; without waiting for a refresh."""

    def search(self, query: SearchQuery) -> SearchResults:
        """Raises ValueError with a sentence for people when `query.text` cannot be understood."""

    def count(self) -> int:
        """How many documents there are."""


class Archive(Protocol):
    """Bodies in WARC files: read from any place, written to files of our own."""

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """The body at `place`, codings undone; with `sha1hex` only if it is those bytes.

        Raises DamagedInputError (`damaged-record` when other bytes lie there now), LimitError, PermanentError
        (`missing-source`, `unreadable-source`: with the path); TransientError when it does not answer."""

    def write(self, entries: Sequence[ArchiveEntry]) -> list[Archived]:
        """Append records and make them durable (one fsync a batch); places in the order of `entries`.

        A place in a file of ours has its bare name for a path, wherever the file lies or will lie. A full
        file is finished by the next `write`, when the caller has noted these places. The same `capture_id`
        written again before a crash was noticed may lie there twice; the caller asks `recover` first.
        """

    def recover(self, known: Callable[[str], int | None]) -> None:
        """Cut from files left open by a killed process what nobody refers to.

        `known(name)` gives the end in bytes of the last record of that file that was settled, or None.
        """

    def finish(self) -> None:
        """Close the open file: complete, with its CDXJ index beside it. Again is harmless."""


class WarcFiles(Protocol):
    """The files the archive writes, as files: what there is of them, and their bytes."""

    def names(self) -> Iterator[str]:
        """The bare name of every WARC of ours, each once wherever it lies, open ones too; streamed."""

    def open(self, path: str) -> BinaryIO:
        """A WARC to be read and sought in: one of ours by name, another of this machine by its absolute path.
        Raises PermanentError (`missing-source`, `unreadable-source`), a bucket's also while it is read."""

    def held(self, path: str, *, mend: bool = False) -> Held | None:
        """What there is of a WARC, by the `path` of a place in it; None when it is gone. No record is read.

        Of files on other machines that are not ours nothing is known. With `mend`, the CDXJ of a finished
        file of ours is first made again from its records, whatever it says.
        """

    def unsent(self) -> Mapping[str, int]:
        """Finished WARCs of ours that are here alone and are to be moved on: bytes by name, with indexes.
        Empty where they stay where they are written."""


class WarcArchive(Archive, WarcFiles, Protocol):
    """An archive as its backends are: bodies by their places, and the files these lie in."""


class Source(Protocol):
    """Where work comes from: finds inputs, and reads entries out of each."""

    def inputs(self) -> Iterator[InputRow]:
        """Every input, `position` 0; streamed, in a stable order."""

    def entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """What lies in one input from `row.position` on: entries; tallies of what is counted and not
        emitted; and positions (int) from which reading can go on later."""


class Isolate(Protocol):
    """Runs a pure function in a disposable child process with limits."""

    def __call__(self, function: Callable[..., ValueT], *args: object) -> ValueT:
        """The function's value. Raises ChildError with `timeout`, `out-of-memory` or `crashed-reader`.

        The function is importable by name; arguments and value are plain data, but that up to four of
        the arguments may each be an OpenBody. What the function raises is raised here.
        """


class Step(Protocol[ItemT]):
    """One item in, any number of items and a disposition out."""

    def __call__(self, item: ItemT, /) -> Result:
        """Raises TransientError to be retried, PermanentError to be quarantined, StoreUnavailableError
        to be kept in hand until the store is back."""


class Sink(Protocol[ItemT]):
    """A batch in, a result for each out, in order; idempotent by the items' keys."""

    def __call__(self, items: Sequence[ItemT], /) -> Sequence[Result]:
        """Raises as a Step does; the runtime then tries the items one by one to find the culprit."""


class Errands(Protocol):
    """Many items in hand at once, each as long as it takes; for one thread."""

    @property
    def room(self) -> int:
        """How many more items may be begun."""

    def begin(self, items: Sequence[tuple[int, Any]]) -> None:
        """Begin items, each under a number of its own. Neither waits nor raises."""

    def ended(self, wait_s: float) -> Sequence[tuple[int, Result | Exception]]:
        """What has ended, waiting at most `wait_s` seconds for the first; an exception stands for what a Step
        would raise. Raises StoreUnavailableError: what has ended is told the next time."""

    def forget(self, numbers: Sequence[int]) -> None:
        """These are not wanted any more; whatever was begun for them may be given up."""

    def close(self) -> None:
        """Give up everything, and let go of what belongs to this process alone."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of one home, opened. `journal` is the name of the journal-extract table."""

    queue: TopicQueue
    table: Table
    records: Records
    ledger: Ledger
    blobs: Blobs
    index: Index
    archive: WarcArchive
    journal: str
