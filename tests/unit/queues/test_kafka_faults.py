"""What a producer's error means to whoever put the records."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.queues.kafka.errors import explain_error, explain_undelivered, retry_during_election


def test_a_record_that_went_with_its_partition_lost_its_topic() -> None:
    told = explain_undelivered(KafkaError(KafkaError._DESTROY), "pdfs", "there:9092")
    assert isinstance(told, ConfigurationError)
    assert str(told) == "Kafka at there:9092 refuses: the topic pdfs was deleted"


def test_a_reader_whose_handle_went_is_told_to_try_again() -> None:
    assert isinstance(
        explain_error(KafkaError(KafkaError._DESTROY), "there:9092"), StoreUnavailableError
    )


def test_other_errors_of_a_record_are_told_as_any_others() -> None:
    refused = explain_undelivered(
        KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "pdfs", "there:9092"
    )
    silent = explain_undelivered(KafkaError(KafkaError._TRANSPORT), "pdfs", "there:9092")
    assert isinstance(refused, ConfigurationError)
    assert isinstance(silent, StoreUnavailableError)


def _fail_first(errors: list[int]) -> str:
    if errors:
        raise KafkaException(KafkaError(errors.pop(0)))
    return "answer"


def test_a_request_is_repeated_while_another_broker_takes_over() -> None:
    errors = [KafkaError.NOT_COORDINATOR, KafkaError.NOT_LEADER_FOR_PARTITION]
    assert retry_during_election(lambda: _fail_first(errors), 10.0) == "answer"
    errors = [KafkaError.COORDINATOR_LOAD_IN_PROGRESS] * 100
    with pytest.raises(KafkaException):
        retry_during_election(lambda: _fail_first(errors), 0.0)
    assert len(errors) == 99


def test_a_request_is_not_repeated_after_an_error_that_stays() -> None:
    errors = [KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.NOT_COORDINATOR]
    with pytest.raises(KafkaException):
        retry_during_election(lambda: _fail_first(errors), 10.0)
    assert len(errors) == 1
