"""What a result becomes: ids that stay, headers, promises, and the end of what nobody wants."""

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


def bound(*stages: Stage) -> BoundStage:
    whole = stages or (Stage("read", PAGES, (LINKS, NOTES)),)
    readers = (Stage("fetch", LINKS), Stage("keep", NOTES))
    pipeline = Pipeline("p", PAGES, (*whole, *readers))
    return bind(pipeline, {stage.name: lambda item: Result() for stage in pipeline.stages}, "t")[0]


def delivery(name: str = "e1", **headers: str) -> Delivery:
    return Delivery(Message(name, b"{}", "k", headers=headers), "p.read-in", None)


def ids(
    result: Result, parent: Delivery | None = None, where: BoundStage | None = None
) -> list[str]:
    packed = pack(where or bound(), parent or delivery(), result)
    return [message.id for _, message in packed.outgoing]


def test_a_single_child_keeps_its_parents_id() -> None:
    assert ids(Result(items=(Note("a"),))) == ["e1"]


def test_of_several_each_has_an_id_of_its_own_that_stays() -> None:
    several = Result(items=(Link("x.org"), Note("a"), Link("y.org"), Link("x.org")))
    assert ids(several) == ["e1.links", "e1.notes", "e1.links.1", "e1.links.2"]
    assert ids(several) == ids(several)


def test_stages_that_read_one_topic_never_give_the_same_id() -> None:
    two = (Stage("read", PAGES, (NOTES,), tag="a"), Stage("read", PAGES, (NOTES,), tag="b"))
    pipeline = Pipeline("p", PAGES, (*two, Stage("keep", NOTES)))
    steps = {stage.name: lambda item: Result() for stage in pipeline.stages}
    first, second, _ = bind(pipeline, steps, "t")
    made = [ids(Result(items=(Note("a"),)), where=one) for one in (first, second)]
    assert made == [["e1.read-a.notes"], ["e1.read-b.notes"]]


def test_a_child_knows_its_entry_what_it_is_about_and_what_orders_it() -> None:
    parent = delivery("e1.pages.3", entry="e1")
    packed = pack(bound(), parent, Result(items=(Link("x.org", "page"), Note("n"))))
    (_, link), (_, note) = packed.outgoing
    assert (link.entry, link.key, link.about) == ("e1", "x.org", "page")
    assert (note.entry, note.key, note.about) == ("e1", "n", "n")
    assert note.headers == {"entry": "e1", "pipeline": "p"}


def test_what_says_nothing_of_itself_is_about_what_its_parent_is_about() -> None:
    parent = Delivery(Message("e1", b"", "the page"), "p.read-in", None)
    ((_, link),) = pack(bound(), parent, Result(items=(Link("x.org"),))).outgoing
    assert (link.key, link.about) == ("x.org", "the page")


def test_however_deep_ids_stay_short_and_apart() -> None:
    where, names = bound(), set()
    parent = delivery("e" * 50)
    for _ in range(100):
        packed = pack(where, parent, Result(items=(Note("a"), Note("b"))))
        names |= {message.id for _, message in packed.outgoing}
        parent = replace(parent, message=packed.outgoing[1][1])
        assert parent.message.entry == "e" * 50
    assert len(names) == 200
    assert max(map(len, names)) <= ID_MAX_CHARS


@given(st.text(min_size=1, max_size=300), st.integers(1, 20))
def test_ids_of_one_result_are_apart_whatever_the_parent_is_called(name: str, count: int) -> None:
    made = ids(Result(items=tuple(Note(str(n)) for n in range(count))), delivery(name))
    assert len(set(made)) == count
    assert count == 1 or max(map(len, made)) <= ID_MAX_CHARS


def test_of_which_nothing_is_wanted_ends_so_unless_it_ended_otherwise() -> None:
    where = bound(Stage("read", PAGES, (LINKS,), (Output(Note),)))
    packed = pack(where, delivery(), Result(items=(Note("a"),)))
    assert packed.disposition.reason is Reason.NOT_WANTED
    assert packed.outgoing == []
    assert packed.about == "a"
    failed = quarantine(Reason.TIMEOUT, "slow")
    assert pack(where, delivery(), Result(failed, (Note("a"),))).disposition == failed
    assert pack(where, delivery(), Result()).disposition is DONE
    sink = replace(where, stage=replace(where.stage, sink=True))
    assert pack(sink, delivery(), Result(items=(Note("a"),))).disposition is DONE
    assert pack(where, delivery(), Result(items=(Note("a"), Link("x")))).disposition is DONE


def test_every_reader_is_promised_what_it_will_get() -> None:
    pipeline = Pipeline(
        "p", PAGES, (Stage("read", PAGES, (NOTES,)), Stage("keep", NOTES), Stage("count", NOTES))
    )
    steps = {stage.name: lambda item: Result() for stage in pipeline.stages}
    where = bind(pipeline, steps, "t")[0]
    row, *promised = pack(where, delivery(), Result(items=(Note("a"),))).build_rows(where, NOW)
    assert (row.verdict, row.is_open, row.about, row.entry_id) == ("done", False, "a", "e1")
    assert [(one.step, one.verdict, one.parent_id, one.parent_step) for one in promised] == [
        ("keep", "pending", "e1", "read"),
        ("count", "pending", "e1", "read"),
    ]


def test_begun_again_a_message_keeps_what_it_is_and_loses_what_became_of_it() -> None:
    failed = Message("e1.a", b"", "k", 3, {"entry": "e1", "reason": "timeout", "detail": "slow"})
    again = restart_message(failed)
    assert (again.attempt, dict(again.headers)) == (0, {"entry": "e1", "run": "2"})
    assert restart_message(again).headers["run"] == "3"
    parent = Delivery(again, "p.read-in", None)
    assert ids(Result(items=(Note("a"),)), parent) == ["e1.a.notes.run2"]
