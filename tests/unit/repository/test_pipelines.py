"""Pipelines as data: stages, topics and steps fit together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import ModuleType

import pytest

from fonds.config import Settings
from fonds.model.errors import ConfigurationError
from fonds.model.step import Output, Pipeline, Stage
from fonds.pipelines.diagram import format_tree
from fonds.pipelines.flavours.registry import PIPELINES as FLAVOURS
from fonds.pipelines.runtime.binding import bind
from fonds.ports import Stores
from fonds.wiring.flavours import get_configured_pipeline
from fonds.wiring.pipelines import build_pipeline_steps
from fonds.wiring.readers import Readers
from fonds.wiring.steps import build_step
from unit.repository.tree import ROOT, list_modules

DEFAULT_PIPELINES = [make(()) for make in FLAVOURS.values()]
PIPELINES = [*DEFAULT_PIPELINES, *(make(("360px-jpg", "180px-webp")) for make in FLAVOURS.values())]
INGEST_STEPS = "fonds.ingest.steps."
PURE = (
    "fonds.stores.journal_table.",
    "fonds.queues.messages.",
    "fonds.pipelines.runtime.task_results.",
)
"""Formats of cells, messages and task results, without a store or a queue."""
EMPTY_STORES = Stores(*[None] * 7, journal="journal")  # type: ignore[arg-type]
EMPTY_READERS = Readers(**dict.fromkeys(Readers.__dataclass_fields__))  # type: ignore[arg-type]
each_pipeline = pytest.mark.parametrize("pipeline", PIPELINES)


def test_the_library_pipeline_exists_once() -> None:
    assert [pipeline.name for pipeline in DEFAULT_PIPELINES].count("library") == 1


@each_pipeline
def test_every_stage_reads_the_entry_or_a_written_topic(pipeline: Pipeline) -> None:
    written_topics = {topic for stage in pipeline.stages for topic in stage.writes} | {
        pipeline.entry
    }
    assert {stage.step for stage in pipeline.stages if stage.reads not in written_topics} == set()


@each_pipeline
def test_every_topic_written_is_read(pipeline: Pipeline) -> None:
    read_topics = {stage.reads for stage in pipeline.stages}
    written_topics = {topic for stage in pipeline.stages for topic in stage.writes}
    assert written_topics - read_topics == set()


@each_pipeline
def test_the_first_stage_reads_the_entry(pipeline: Pipeline) -> None:
    assert pipeline.stages[0].reads == pipeline.entry


@each_pipeline
def test_a_topic_is_written_before_it_is_read(pipeline: Pipeline) -> None:
    """Messages only move forward, so one pass over the stages meets every message."""
    reader = {stage.reads: index for index, stage in enumerate(pipeline.stages)}
    backward = [
        (stage.step, topic.name)
        for index, stage in enumerate(pipeline.stages)
        for topic in stage.writes
        if reader[topic] <= index
    ]
    assert backward == []


@cache
def get_step_module(name: str) -> ModuleType:
    """Return the module that defines the step that the wiring builds for a name."""
    step = build_step(name, EMPTY_STORES, EMPTY_READERS, Settings())
    return import_module(type(step).__module__)


def list_outputs(stage: Stage) -> tuple[Output, ...]:
    """Return what a step can emit. A module of two steps has one constant for each."""
    module = get_step_module(stage.step)
    outputs: tuple[Output, ...] = getattr(module, f"{stage.step.upper()}_EMITS", module.EMITS)
    return outputs


@each_pipeline
def test_every_output_of_a_step_is_written_or_omitted(
    pipeline: Pipeline,
) -> None:
    for stage in pipeline.stages:
        handled = [*(topic.output for topic in stage.writes), *stage.omits]
        for output in list_outputs(stage):
            assert any(
                handled_output.covers(output) or output.covers(handled_output)
                for handled_output in handled
            ), (stage.name, output)
        for handled_output in handled:
            assert any(
                output.covers(handled_output) or handled_output.covers(output)
                for output in list_outputs(stage)
            ), handled_output


@each_pipeline
def test_an_output_is_written_or_omitted_once_per_stage(pipeline: Pipeline) -> None:
    for stage in pipeline.stages:
        counts = Counter([*(topic.output for topic in stage.writes), *stage.omits])
        assert {output for output, count in counts.items() if count > 1} == set(), stage.name


@each_pipeline
def test_every_payload_has_a_subject(pipeline: Pipeline) -> None:
    topics = {topic for stage in pipeline.stages for topic in (stage.reads, *stage.writes)}
    assert [topic.name for topic in topics if not hasattr(topic.payload, "about")] == []


@each_pipeline
def test_names_of_stages_and_topics_are_unique(pipeline: Pipeline) -> None:
    names = Counter(stage.name for stage in pipeline.stages)
    assert {name for name, count in names.items() if count > 1} == set()
    topics = {topic for stage in pipeline.stages for topic in (stage.reads, *stage.writes)}
    assert len({topic.name for topic in topics}) == len(topics)
    assert "." not in pipeline.name + "".join(names), "a dot separates pipeline and stage"


@each_pipeline
def test_every_step_is_in_a_step_module(pipeline: Pipeline) -> None:
    """Steps of ingest are in `ingest/steps/`, those of other subjects in `<name>_step.py`."""
    names = {get_step_module(stage.step).__name__ for stage in pipeline.stages}
    assert [
        name for name in names if not name.startswith(INGEST_STEPS) and not name.endswith("_step")
    ] == []


def test_the_tree_in_the_architecture_is_up_to_date() -> None:
    drawn = format_tree(FLAVOURS["library"](()))
    assert drawn in (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def test_a_public_topic_is_the_same_in_every_pipeline() -> None:
    public = {
        topic
        for pipeline in PIPELINES
        for stage in pipeline.stages
        for topic in (stage.reads, *stage.writes)
        if topic.public
    }
    assert len({topic.name for topic in public}) == len(public)


@each_pipeline
def test_the_warc_prefix_of_a_pipeline_is_a_valid_file_name(pipeline: Pipeline) -> None:
    plain = pipeline.warc_prefix.replace("{YYYY}", "2026")
    assert plain == "" or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", plain)


def test_a_flavour_sets_the_prefix_of_warc_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def build_old_pipeline(more_thumbnails: Sequence[str] = ()) -> Pipeline:
        return replace(FLAVOURS["library"](more_thumbnails), name="old", warc_prefix="mchist{YYYY}")

    monkeypatch.setitem(FLAVOURS, "old", build_old_pipeline)  # type: ignore[arg-type]
    stores = Stores(*[None] * 7, journal="journal")  # type: ignore[arg-type]
    step = build_step("archive_body", stores, None, Settings(pipeline="old"))  # type: ignore[arg-type]
    assert getattr(step, "prefix", None) == "mchist{YYYY}"
    usual = build_step("archive_body", stores, None, Settings())  # type: ignore[arg-type]
    assert getattr(usual, "prefix", None) == ""


def test_each_thumbnail_form_has_its_own_topic() -> None:
    with_more = next(iter(FLAVOURS.values()))(("360px-jpg", "180px-jpg"))
    topics = {topic.name for stage in with_more.stages for topic in stage.writes}
    assert {"pdf-thumbnail-180px-jpg", "pdf-thumbnail-360px-jpg"} <= topics
    with pytest.raises(ConfigurationError, match="360-jpg"):
        FLAVOURS["library"](("360-jpg",))


@pytest.mark.parametrize("name", FLAVOURS)
def test_wiring_has_a_step_for_every_stage(name: str) -> None:
    settings = Settings(pipeline=name).replace_values(pdf_more_thumbnails="360px-jpg")
    steps = build_pipeline_steps(EMPTY_STORES, EMPTY_READERS, settings)
    assert [
        bound_stage.stage.name
        for bound_stage in bind(get_configured_pipeline(settings), steps, "x")
    ] == list(steps)


def test_an_unknown_step_is_refused_by_name() -> None:
    missing_stores: object = None
    with pytest.raises(ConfigurationError, match="No step 'count_links'"):
        build_step("count_links", missing_stores, missing_stores, Settings())  # type: ignore[arg-type]


def test_a_step_imports_no_queue_and_no_configuration() -> None:
    strays = [
        f"{module.place} imports {name}"
        for module in list_modules()
        if "\nEMITS = " in module.text
        for name in module.imports()
        if (
            name.startswith(
                ("fonds.queues", "fonds.stores", "fonds.config", "fonds.pipelines.runtime")
            )
            and not name.startswith(PURE)
        )
        or name in ("fonds.ports.Queue", "fonds.ports.Stores")
    ]
    assert strays == []
