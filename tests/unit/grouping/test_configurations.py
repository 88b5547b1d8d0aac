"""Configurations are stored by name; unknown names and fields raise with the nearest one."""

from __future__ import annotations

import pytest

from fonds.grouping.algorithms.clustering import Algorithm
from fonds.grouping.configuration import (
    Configuration,
    build_configuration,
    get,
    list_configurations,
    read_value,
    remove,
    save_configuration,
)
from kept_collections import CollectionStore


def test_configurations_are_stored_by_namespace(store: CollectionStore) -> None:
    configuration = build_configuration(
        {"algorithm": "stories", "threshold": 0.3, "languages": ["EN-gb"]}
    )
    save_configuration(store.tables, "news", "tight", configuration)
    assert get(store.tables, "news", "tight") == configuration
    assert configuration.languages == ("en",)
    assert list_configurations(store.tables, "news") == {
        "DEFAULT": Configuration(),
        "tight": configuration,
    }
    assert list_configurations(store.tables, "new") == {"DEFAULT": Configuration()}
    with pytest.raises(ValueError, match="Did you mean 'tight'"):
        get(store.tables, "news", "tigt")
    assert remove(store.tables, "news", "tight")
    assert not remove(store.tables, "news", "tight")


def test_new_values_replace_only_themselves() -> None:
    first = build_configuration({"clusters": 7, "seed": 3})
    assert build_configuration({"seed": 4}, first) == build_configuration(
        {"clusters": 7, "seed": 4}
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"algoritm": "topics"}, "Did you mean 'algorithm'"),
        ({"algorithm": "topic"}, "Did you mean 'topics'"),
        ({"clusters": "many"}, "Expected `int | null`"),
        ({"clusters": 0}, "between 1 and 2000"),
        ({"granularities": [1] * 11}, "10 granularities"),
        ({"threshold": 1}, "between 0 and 1"),
        ({"every_s": 5}, "every_s must be more than 59"),
        ({"every_s": 2**53}, "every_s can be at most 9,007,199,254,740,991"),
        ({"size_min": 2**53}, "size_min can be at most 9,007,199,254,740,991"),
        ({"characters_min": 2**53}, "characters_min can be at most 9,007,199,254,740,991"),
        ({"growth_max": 0}, "growth_max must be more than 0"),
        ({"kept": 0}, "kept 1 to 100"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_invalid_values_are_refused_with_a_message(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("|", r"\|")):
        build_configuration(values)


def test_values_are_parsed_from_text() -> None:
    assert read_value("granularities", "4, 50") == [4, 50]
    assert read_value("languages", "none") == []
    assert read_value("clusters", "none") is None
    assert read_value("threshold", "0.3") == 0.3
    with pytest.raises(ValueError, match="must be a number"):
        read_value("seed", "x")


def test_every_algorithm_can_be_configured() -> None:
    for algorithm in Algorithm:
        assert build_configuration({"algorithm": str(algorithm)}).algorithm == algorithm


@pytest.mark.parametrize("name", ["", "a/b", "@1", "a" * 101, "ä"])
def test_an_invalid_name_is_refused(store: CollectionStore, name: str) -> None:
    with pytest.raises(ValueError, match="a configuration's name"):
        save_configuration(store.tables, "news", name, Configuration())
