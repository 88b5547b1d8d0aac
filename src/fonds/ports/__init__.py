"""The system in one room: what the stores, the queue, the sources and the steps promise each other.

Every backend of a port passes the same contract suite (`tests/contract`). Batches everywhere; nothing
here may be a promise that RabbitMQ, Kafka, PostgreSQL, S3, Elasticsearch or HBase could not keep.
All methods may raise StoreUnavailableError (try again) and StorageFullError (stop); other errors are
named where they belong. A port is safe to use from several threads of one process.
"""

from fonds.ports.bulk import Engine, Job
from fonds.ports.queue import Queue, TopicQueue, Topics
from fonds.ports.records import Ledger, Records, RecordsOfAll, RecordsWithLedger
from fonds.ports.stores import (
    Archive,
    Blobs,
    Completes,
    Index,
    Stores,
    Table,
    WarcArchive,
    WarcFiles,
)
from fonds.ports.work import Errands, Isolate, Sink, Source, Step

__all__ = [
    "Archive",
    "Blobs",
    "Completes",
    "Engine",
    "Errands",
    "Index",
    "Isolate",
    "Job",
    "Ledger",
    "Queue",
    "Records",
    "RecordsOfAll",
    "RecordsWithLedger",
    "Sink",
    "Source",
    "Step",
    "Stores",
    "Table",
    "TopicQueue",
    "Topics",
    "WarcArchive",
    "WarcFiles",
]
