"""Interfaces of the stores, queue, engine, sources and steps.

Every backend of an interface (port) passes the same contract suite (`tests/contract`). Most methods
take several values at once. A port promises nothing that RabbitMQ, Kafka, PostgreSQL, S3,
Elasticsearch or HBase could not keep. All methods may raise StoreUnavailableError (try again) and
StorageFullError (stop). The docstring of a method names its other errors. A port is safe to use
from several threads of one process.
"""

from fonds.ports.engine import Engine, Job
from fonds.ports.lease_cells import LeaseCells
from fonds.ports.queue import Queue, TopicQueue, Topics
from fonds.ports.records import Ledger, Records, RecordsWithLedger, UnfilteredRecords
from fonds.ports.step import ConcurrentStep, Isolate, Sink, Source, Step
from fonds.ports.stores import (
    Archive,
    Blobs,
    Index,
    QueryCompleter,
    Stores,
    Table,
    WarcArchive,
    WarcFiles,
)

__all__ = [
    "Archive",
    "Blobs",
    "ConcurrentStep",
    "Engine",
    "Index",
    "Isolate",
    "Job",
    "LeaseCells",
    "Ledger",
    "QueryCompleter",
    "Queue",
    "Records",
    "RecordsWithLedger",
    "Sink",
    "Source",
    "Step",
    "Stores",
    "Table",
    "TopicQueue",
    "Topics",
    "UnfilteredRecords",
    "WarcArchive",
    "WarcFiles",
]
