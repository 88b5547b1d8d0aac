"""Pipelines are data, and the data fits together."""

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
from fonds.wiring.pipelines import build_pipeline_steps
from fonds.wiring.readers import Readers
from fonds.wiring.steps import build_step
from fonds.wiring.stores import get_configured_pipeline
from unit.repository.tree import ROOT, modules

USUAL = [make(()) for make in FLAVOURS.values()]
PIPELINES = [*USUAL, *(make(("360px-jpg", "180px-webp")) for make in FLAVOURS.values())]
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
    assert pipeline.stages[0].reads == pipeline.entry


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


@cache
def step_module(name: str) -> ModuleType:
    """Return the module that defines the step that the wiring builds for a name."""
    step = build_step(name, EMPTY_STORES, EMPTY_READERS, Settings())
    return import_module(type(step).__module__)


def emits(stage: Stage) -> tuple[Output, ...]:
    """Return what a step can emit. A module of two steps has one constant for each."""
    module = step_module(stage.step)
    found: tuple[Output, ...] = getattr(module, f"{stage.step.upper()}_EMITS", module.EMITS)
    return found


@each_pipeline
def test_whatever_a_step_may_emit_is_written_or_omitted_and_nothing_else(
    pipeline: Pipeline,
) -> None:
    for stage in pipeline.stages:
        sent = [*(topic.output for topic in stage.writes), *stage.omits]
        for sort in emits(stage):
            assert any(one.covers(sort) or sort.covers(one) for one in sent), (stage.name, sort)
        for one in sent:
            assert any(sort.covers(one) or one.covers(sort) for sort in emits(stage)), one


@each_pipeline
def test_a_sort_of_item_has_one_way_at_each_stage(pipeline: Pipeline) -> None:
    for stage in pipeline.stages:
        ways = Counter([*(topic.output for topic in stage.writes), *stage.omits])
        assert {way for way, count in ways.items() if count > 1} == set(), stage.name


@each_pipeline
def test_a_topic_carries_what_says_what_it_is_about(pipeline: Pipeline) -> None:
    topics = {topic for stage in pipeline.stages for topic in (stage.reads, *stage.writes)}
    assert [topic.name for topic in topics if not hasattr(topic.payload, "about")] == []


@each_pipeline
def test_names_of_stages_and_topics_are_unique(pipeline: Pipeline) -> None:
    names = Counter(stage.name for stage in pipeline.stages)
    assert {name for name, count in names.items() if count > 1} == set()
    topics = {topic for stage in pipeline.stages for topic in (stage.reads, *stage.writes)}
    assert len({topic.name for topic in topics}) == len(topics)
    assert "." not in pipeline.name + "".join(names), "a dot parts pipeline and stage"


@each_pipeline
def test_every_step_is_in_a_module_of_steps(pipeline: Pipeline) -> None:
    """`ingest/steps/` has the steps of ingest; other subjects have theirs in `<name>_step.py`."""
    names = {step_module(stage.step).__name__ for stage in pipeline.stages}
    assert [
        name for name in names if not name.startswith(INGEST_STEPS) and not name.endswith("_step")
    ] == []


def test_the_picture_in_the_architecture_is_the_programs_own() -> None:
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
def test_the_names_of_its_warcs_begin_as_names_of_files_may(pipeline: Pipeline) -> None:
    plain = pipeline.warc_prefix.replace("{YYYY}", "2026")
    assert plain == "" or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", plain)


def test_a_flavour_says_how_the_names_of_its_warcs_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    def old_news(more_thumbnails: Sequence[str] = ()) -> Pipeline:
        return replace(FLAVOURS["library"](more_thumbnails), name="old", warc_prefix="mchist{YYYY}")

    monkeypatch.setitem(FLAVOURS, "old", old_news)  # type: ignore[arg-type]
    stores = Stores(*[None] * 7, journal="journal")  # type: ignore[arg-type]
    step = build_step("archive_body", stores, None, Settings(pipeline="old"))  # type: ignore[arg-type]
    assert getattr(step, "prefix", None) == "mchist{YYYY}"
    usual = build_step("archive_body", stores, None, Settings())  # type: ignore[arg-type]
    assert getattr(usual, "prefix", None) == ""


def test_each_form_of_thumbnail_has_a_topic_of_its_own() -> None:
    with_more = next(iter(FLAVOURS.values()))(("360px-jpg", "180px-jpg"))
    topics = {topic.name for stage in with_more.stages for topic in stage.writes}
    assert {"pdf-thumbnail-180px-jpg", "pdf-thumbnail-360px-jpg"} <= topics
    with pytest.raises(ConfigurationError, match="360-jpg"):
        FLAVOURS["library"](("360-jpg",))


@pytest.mark.parametrize("name", FLAVOURS)
def test_wiring_has_a_step_for_every_stage(name: str) -> None:
    settings = Settings(pipeline=name).replace_values(pdf_more_thumbnails="360px-jpg")
    steps = build_pipeline_steps(EMPTY_STORES, EMPTY_READERS, settings)
    assert [one.stage.name for one in bind(get_configured_pipeline(settings), steps, "x")] == list(
        steps
    )


def test_a_step_there_is_not_is_refused_by_name() -> None:
    nothing: object = None
    with pytest.raises(ConfigurationError, match="No step 'count_links'"):
        build_step("count_links", nothing, nothing, Settings())  # type: ignore[arg-type]


def test_a_step_sees_no_queue_and_no_configuration() -> None:
    strays = [
        f"{module.place} imports {name}"
        for module in modules()
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
