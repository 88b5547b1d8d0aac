"""Runs bulk jobs on Apache Spark: one task a part, a shuffle by range, one task a range.

Source: Spark 4 documentation, "RDD Programming Guide" (shuffle operations) and "Configuration".
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from fonds.engines.ranges import range_of
from fonds.model.errors import StoreUnavailableError
from fonds.model.extras import missing_extra
from fonds.ports import Job

TOLD_CHARS = 400


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Implements Engine over a master's URL: `spark://host:7077`, `yarn`, `k8s://https://host:6443`.

    `?NAME=VALUE` behind it sets Spark's own properties, as `?spark.executor.memory=2g`. Executors run the
    Python at the same path as this process, with Fonds installed, unless `spark.pyspark.python` says
    otherwise.
    """

    url: str

    def run(self, job: Job) -> Iterator[bytes]:
        """As the port says. A task that fails is tried again by Spark, four times in all."""
        context = self._context(job.name)
        try:
            records = context.parallelize(list(job.parts), max(1, len(job.parts))).flatMap(job.read)
            placed = records.map(_as_key).repartitionAndSortWithinPartitions(
                len(job.ranges) + 1, partial(range_of, job.ranges)
            )
            results = placed.mapPartitionsWithIndex(partial(_written, job.write)).collect()
        except _failures() as error:
            raise StoreUnavailableError(f"Spark at {self.url}: {_told(error)}") from error
        finally:
            context.stop()
        yield from results

    def _context(self, name: str) -> Any:
        try:
            from pyspark import SparkConf, SparkContext
        except ModuleNotFoundError as error:
            raise missing_extra(f"engine {self.url!r}", "spark", "pyspark") from error
        master, _, options = self.url.partition("?")
        conf = SparkConf().setMaster(master).setAppName(f"fonds {name}")
        conf.set("spark.ui.showConsoleProgress", "false")
        for key, value in parse_qsl(options):
            conf.set(key, value)
        try:
            context = SparkContext(conf=conf)
            # Whoever starts Spark by `spark-submit` says it there; else it would be any `python3`.
            context.pythonExec = conf.get("spark.pyspark.python") or sys.executable
            return context
        except _failures() as error:
            raise StoreUnavailableError(f"Spark at {self.url}: {_told(error)}") from error


def _failures() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (Py4JError, PySparkException, ConnectionError)


def _as_key(record: bytes) -> tuple[bytes, None]:
    return record, None


def _written(write: Any, number: int, pairs: Iterator[tuple[bytes, Sequence[Any]]]) -> Any:
    return write(number, (record for record, _ in pairs))


def _told(error: Exception) -> str:
    """What Spark says of the cause: the line of the Python error, where there is one."""
    java = getattr(error, "java_exception", None)
    lines = [line.strip() for line in str(java or error).splitlines() if line.strip()]
    named = [line for line in lines if line.startswith(("fonds.", "OSError", "ValueError"))]
    return (named or lines or [type(error).__name__])[0][:TOLD_CHARS]
