"""Run bulk jobs on Apache Spark: one task per part, a shuffle by range, one task per range.

A part is an input of the job. A range is a stretch of the sorted records.

Source: Spark 4 documentation, "RDD Programming Guide" (shuffle operations) and "Configuration".
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from fonds.bulk.sort_runs import find_range
from fonds.model.errors import StoreUnavailableError
from fonds.model.optional_libraries import build_missing_extra_error
from fonds.ports import Job

ERROR_MAX_CHARS = 400


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Engine that runs bulk jobs on Apache Spark.

    - `url`: URL of the Spark master, such as `spark://host:7077`, `yarn` or
      `k8s://https://host:6443`. `?NAME=VALUE` after it sets Spark properties, such as
      `?spark.executor.memory=2g`.

    Executors run the Python at the same path as this process, with Fonds installed, unless
    `spark.pyspark.python` is set.
    """

    url: str

    def run(self, job: Job) -> Iterator[bytes]:
        """Run a bulk job on Spark; yield the results of all ranges in order.

        Spark retries a failed task, up to four attempts in all. Raises StoreUnavailableError if a
        task fails for good or Spark does not answer, and ConfigurationError if the extra `spark` is
        missing.
        """
        context = self._create_context(job.name)
        try:
            records = context.parallelize(list(job.parts), max(1, len(job.parts))).flatMap(job.read)
            partitioned_records = records.map(_to_pair).repartitionAndSortWithinPartitions(
                len(job.ranges) + 1, partial(find_range, job.ranges)
            )
            results = partitioned_records.mapPartitionsWithIndex(
                partial(_write_range, job.write)
            ).collect()
        except _failure_types() as error:
            raise StoreUnavailableError(f"Spark at {self.url}: {_format_error(error)}") from error
        finally:
            context.stop()
        yield from results

    def _create_context(self, name: str) -> Any:
        try:
            from pyspark import SparkConf, SparkContext
        except ModuleNotFoundError as error:
            raise build_missing_extra_error(f"engine {self.url!r}", "spark", "pyspark") from error
        master, _, options = self.url.partition("?")
        conf = SparkConf().setMaster(master).setAppName(f"fonds {name}")
        conf.set("spark.ui.showConsoleProgress", "false")
        for key, value in parse_qsl(options):
            conf.set(key, value)
        try:
            context = SparkContext(conf=conf)
            # With `spark-submit`, the Python is set there. Otherwise Spark would use any `python3`.
            context.pythonExec = conf.get("spark.pyspark.python") or sys.executable
            return context
        except _failure_types() as error:
            raise StoreUnavailableError(f"Spark at {self.url}: {_format_error(error)}") from error


def _failure_types() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (Py4JError, PySparkException, ConnectionError)


def _to_pair(record: bytes) -> tuple[bytes, None]:
    return record, None


def _write_range(write: Any, number: int, pairs: Iterator[tuple[bytes, Sequence[Any]]]) -> Any:
    return write(number, (record for record, _ in pairs))


def _format_error(error: Exception) -> str:
    """Return the line of a Spark error that names the cause, cut to 400 characters.

    This is the line of the Python error if the Spark error contains one.
    """
    java_error = getattr(error, "java_exception", None)
    lines = [line.strip() for line in str(java_error or error).splitlines() if line.strip()]
    python_lines = [line for line in lines if line.startswith(("fonds.", "OSError", "ValueError"))]
    return (python_lines or lines or [type(error).__name__])[0][:ERROR_MAX_CHARS]
