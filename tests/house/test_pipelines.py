"""Pipelines are data, and the data fits together."""

from __future__ import annotations

from collections import Counter

import pytest

from fonds.config import Settings
from fonds.model.errors import ConfigurationError
from fonds.model.step import Pipeline
from fonds.pipelines import PIPELINES as FLAVOURS
from fonds.ports import Stores
from fonds.runtime.binding import bind, subscriptions
from fonds.wiring.pipelines import build_step, pipeline_steps
from fonds.wiring.readers import Readers
from house.tree import PACKAGE, modules

USUAL = [make(()) for make in FLAVOURS.values()]
PIPELINES = [*USUAL, *(make(("360px-jpg", "180px-webp")) for make in FLAVOURS.values())]
each_pipeline = pytest.mark.parametrize("pipeline", PIPELINES)


def test_there_is_a_pipeline() -> None:
    assert [one.name for one in USUAL].count("library") == 1


@each_pipeline
def test_every_stage_reads_what_another_writes_or_is_the_entry(pipeline: Pipeline) -> None:
    written = {topic for stage in pipeline.stages for topic in stage.writes} | {pipeline.entry}
    assert {stage.step for stage in pipeline.stages if stage.reads not in written} == set()


@each_pipeline
def test_every_topic_written_is_read(pipeline: Pipeline) -> None:
    read = {stage.reads for stage in pipeline.stages}
    written = {topic for stage in pipeline.stages for topic in stage.writes}
    assert written - read == set()


@each_pipeline
def test_the_first_stage_reads_the_entry(pipeline: Pipeline) -> None:
    """The audit counts what entered at the first subscription."""
    assert pipeline.stages[0].reads == pipeline.entry
    assert pipeline.stages[0].step == subscriptions(pipeline, "x")[0].name


@each_pipeline
def test_a_topic_stands_before_those_who_read_it(pipeline: Pipeline) -> None:
    """Whoever looks at the stages in turn meets every message, which moves only forward."""
    reader = {stage.reads: place for place, stage in enumerate(pipeline.stages)}
    backward = [
        (stage.step, topic.name)
        for place, stage in enumerate(pipeline.stages)
        for topic in stage.writes
        if reader[topic] <= place
    ]
    assert backward == []


@each_pipeline
def test_a_payload_has_one_topic_at_each_stage(pipeline: Pipeline) -> None:
    for stage in pipeline.stages:
        payloads = Counter(topic.payload for topic in stage.writes)
        assert [payload for payload, count in payloads.items() if count > 1] == [], stage.step


@each_pipeline
def test_names_of_steps_and_topics_are_unique(pipeline: Pipeline) -> None:
    steps = Counter(stage.step for stage in pipeline.stages)
    assert {name for name, count in steps.items() if count > 1} == set()
    topics = {topic for stage in pipeline.stages for topic in (stage.reads, *stage.writes)}
    assert len({topic.name for topic in topics}) == len(topics)


@each_pipeline
def test_every_stage_has_a_step_in_a_file_of_its_name(pipeline: Pipeline) -> None:
    steps = {path.stem for path in (PACKAGE / "steps").rglob("*.py")}
    assert {stage.step.partition("-")[0] for stage in pipeline.stages} - steps == set()


def test_each_form_of_thumbnail_has_a_topic_of_its_own() -> None:
    with_more = next(iter(FLAVOURS.values()))(("360px-jpg", "180px-jpg"))
    topics = {topic.name for stage in with_more.stages for topic in stage.writes}
    assert {"pdf-thumbnail-180px-jpg", "pdf-thumbnail-360px-jpg"} <= topics
    with pytest.raises(ConfigurationError, match="360-jpg"):
        FLAVOURS["library"](("360-jpg",))


def test_wiring_has_a_step_for_every_stage_of_the_library() -> None:
    nothing: object = None
    stores = Stores(*[nothing] * 6, journal="journal")  # type: ignore[arg-type]
    readers = Readers(**dict.fromkeys(Readers.__dataclass_fields__))  # type: ignore[arg-type]
    steps = pipeline_steps("library", stores, readers, Settings())
    library = next(one for one in PIPELINES if one.name == "library")
    assert [bound.stage.step for bound in bind(library, steps, "x")] == list(steps)


def test_a_step_that_asks_for_what_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(
        ConfigurationError, match="'persist_thumbnail' asks for \\['blobs', 'records'\\]"
    ):
        build_step("persist_thumbnail", {})
    with pytest.raises(ConfigurationError, match="there is no step 'count_links'"):
        build_step("count_links", {})


def test_a_step_sees_no_queue_and_no_configuration() -> None:
    strays = [
        f"{module.place} imports {name}"
        for module in modules()
        if module.room == "steps"
        for name in module.imports()
        if name.startswith(("fonds.queues", "fonds.stores", "fonds.config", "fonds.runtime"))
        or name in ("fonds.ports.Queue", "fonds.ports.Stores")
    ]
    assert strays == []
