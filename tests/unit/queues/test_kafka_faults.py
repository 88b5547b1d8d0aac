"""Kafka errors are translated to errors of Fonds."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.queues.kafka.errors import explain_error, explain_undelivered, retry_during_election


def test_a_record_lost_with_its_partition_reports_the_deleted_topic() -> None:
    error = explain_undelivered(KafkaError(KafkaError._DESTROY), "pdfs", "there:9092")
    assert isinstance(error, ConfigurationError)
    assert str(error) == "Kafka at there:9092 refuses: the topic pdfs was deleted"


def test_a_reader_whose_handle_was_destroyed_is_retried() -> None:
    assert isinstance(
        explain_error(KafkaError(KafkaError._DESTROY), "there:9092"), StoreUnavailableError
    )


def test_other_record_errors_are_translated_like_request_errors() -> None:
    refusal = explain_undelivered(
        KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "pdfs", "there:9092"
    )
    transport_error = explain_undelivered(KafkaError(KafkaError._TRANSPORT), "pdfs", "there:9092")
    assert isinstance(refusal, ConfigurationError)
    assert isinstance(transport_error, StoreUnavailableError)


def fail_first(errors: list[int]) -> str:
    if errors:
        raise KafkaException(KafkaError(errors.pop(0)))
    return "answer"


def test_a_request_is_repeated_during_a_broker_change() -> None:
    errors = [KafkaError.NOT_COORDINATOR, KafkaError.NOT_LEADER_FOR_PARTITION]
    assert retry_during_election(lambda: fail_first(errors), 10.0) == "answer"
    errors = [KafkaError.COORDINATOR_LOAD_IN_PROGRESS] * 100
    with pytest.raises(KafkaException):
        retry_during_election(lambda: fail_first(errors), 0.0)
    assert len(errors) == 99


def test_a_request_is_not_repeated_after_a_permanent_error() -> None:
    errors = [KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.NOT_COORDINATOR]
    with pytest.raises(KafkaException):
        retry_during_election(lambda: fail_first(errors), 10.0)
    assert len(errors) == 1
