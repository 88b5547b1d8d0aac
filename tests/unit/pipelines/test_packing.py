"""Packing a result: stable ids, headers, promises, and the disposition of unwanted items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from fonds.model.disposition import DONE, Reason, quarantine
from fonds.model.message import Delivery, Message
from fonds.model.step import Output, Pipeline, Result, Stage, Topic
from fonds.pipelines.runtime.binding import BoundStage, bind
from fonds.pipelines.runtime.result_messages import (
    ID_MAX_CHARS,
    pack,
    restart_message,
)

NOW = datetime(2026, 3, 14, tzinfo=UTC)


@dataclass(frozen=True)
class Link:
    domain: str
    about: str = ""

    @property
    def order_key(self) -> str:
        return self.domain


@dataclass(frozen=True)
class Note:
    about: str


PAGES, LINKS = Topic("pages", Note), Topic("links", Link)
NOTES = Topic("notes", Note, public=True)


def bind_stage(*stages: Stage) -> BoundStage:
    own_stages = stages or (Stage("read", PAGES, (LINKS, NOTES)),)
    readers = (Stage("fetch", LINKS), Stage("keep", NOTES))
    pipeline = Pipeline("p", PAGES, (*own_stages, *readers))
    return bind(pipeline, {stage.name: lambda item: Result() for stage in pipeline.stages}, "t")[0]


def build_delivery(name: str = "e1", **headers: str) -> Delivery:
    return Delivery(Message(name, b"{}", "k", headers=headers), "p.read-in", None)


def list_ids(
    result: Result, parent: Delivery | None = None, stage: BoundStage | None = None
) -> list[str]:
    packed = pack(stage or bind_stage(), parent or build_delivery(), result)
    return [message.id for _, message in packed.outgoing]


def test_a_single_child_keeps_the_id_of_its_parent() -> None:
    assert list_ids(Result(items=(Note("a"),))) == ["e1"]


def test_several_children_have_unique_stable_ids() -> None:
    several = Result(items=(Link("x.org"), Note("a"), Link("y.org"), Link("x.org")))
    assert list_ids(several) == ["e1.links", "e1.notes", "e1.links.1", "e1.links.2"]
    assert list_ids(several) == list_ids(several)


def test_stages_that_read_one_topic_never_create_equal_ids() -> None:
    tagged_stages = (
        Stage("read", PAGES, (NOTES,), tag="a"),
        Stage("read", PAGES, (NOTES,), tag="b"),
    )
    pipeline = Pipeline("p", PAGES, (*tagged_stages, Stage("keep", NOTES)))
    steps = {stage.name: lambda item: Result() for stage in pipeline.stages}
    first, second, _ = bind(pipeline, steps, "t")
    message_ids = [
        list_ids(Result(items=(Note("a"),)), stage=bound_stage) for bound_stage in (first, second)
    ]
    assert message_ids == [["e1.read-a.notes"], ["e1.read-b.notes"]]


def test_a_child_has_its_entry_subject_and_key() -> None:
    parent = build_delivery("e1.pages.3", entry="e1")
    packed = pack(bind_stage(), parent, Result(items=(Link("x.org", "page"), Note("n"))))
    (_, link), (_, note) = packed.outgoing
    assert (link.entry, link.key, link.about) == ("e1", "x.org", "page")
    assert (note.entry, note.key, note.about) == ("e1", "n", "n")
    assert note.headers == {"entry": "e1", "pipeline": "p"}


def test_an_item_without_subject_gets_the_subject_of_its_parent() -> None:
    parent = Delivery(Message("e1", b"", "the page"), "p.read-in", None)
    ((_, link),) = pack(bind_stage(), parent, Result(items=(Link("x.org"),))).outgoing
    assert (link.key, link.about) == ("x.org", "the page")


def test_ids_stay_short_and_unique_at_any_depth() -> None:
    stage, message_ids = bind_stage(), set()
    parent = build_delivery("e" * 50)
    for _ in range(100):
        packed = pack(stage, parent, Result(items=(Note("a"), Note("b"))))
        message_ids |= {message.id for _, message in packed.outgoing}
        parent = replace(parent, message=packed.outgoing[1][1])
        assert parent.message.entry == "e" * 50
    assert len(message_ids) == 200
    assert max(map(len, message_ids)) <= ID_MAX_CHARS


@given(st.text(min_size=1, max_size=300), st.integers(1, 20))
def test_ids_of_one_result_are_unique_for_any_parent_id(name: str, count: int) -> None:
    message_ids = list_ids(
        Result(items=tuple(Note(str(n)) for n in range(count))), build_delivery(name)
    )
    assert len(set(message_ids)) == count
    assert count == 1 or max(map(len, message_ids)) <= ID_MAX_CHARS


def test_a_message_with_only_unwanted_items_ends_as_not_wanted() -> None:
    stage = bind_stage(Stage("read", PAGES, (LINKS,), (Output(Note),)))
    packed = pack(stage, build_delivery(), Result(items=(Note("a"),)))
    assert packed.disposition.reason is Reason.NOT_WANTED
    assert packed.outgoing == []
    assert packed.about == "a"
    failed = quarantine(Reason.TIMEOUT, "slow")
    assert pack(stage, build_delivery(), Result(failed, (Note("a"),))).disposition == failed
    assert pack(stage, build_delivery(), Result()).disposition is DONE
    sink = replace(stage, stage=replace(stage.stage, sink=True))
    assert pack(sink, build_delivery(), Result(items=(Note("a"),))).disposition is DONE
    assert pack(stage, build_delivery(), Result(items=(Note("a"), Link("x")))).disposition is DONE


def test_every_reader_of_an_item_gets_a_promise() -> None:
    pipeline = Pipeline(
        "p", PAGES, (Stage("read", PAGES, (NOTES,)), Stage("keep", NOTES), Stage("count", NOTES))
    )
    steps = {stage.name: lambda item: Result() for stage in pipeline.stages}
    bound_stage = bind(pipeline, steps, "t")[0]
    row, *promises = pack(bound_stage, build_delivery(), Result(items=(Note("a"),))).build_rows(
        bound_stage, NOW
    )
    assert (row.verdict, row.is_open, row.about, row.entry_id) == ("done", False, "a", "e1")
    assert [
        (promise.step, promise.verdict, promise.parent_id, promise.parent_step)
        for promise in promises
    ] == [
        ("keep", "pending", "e1", "read"),
        ("count", "pending", "e1", "read"),
    ]


def test_a_restarted_message_keeps_its_entry_and_drops_its_failure() -> None:
    failed = Message("e1.a", b"", "k", 3, {"entry": "e1", "reason": "timeout", "detail": "slow"})
    restarted = restart_message(failed)
    assert (restarted.attempt, dict(restarted.headers)) == (0, {"entry": "e1", "run": "2"})
    assert restart_message(restarted).headers["run"] == "3"
    parent = Delivery(restarted, "p.read-in", None)
    assert list_ids(Result(items=(Note("a"),)), parent) == ["e1.a.notes.run2"]
