"""The `--json` output of every command has the fields of docs/json.md and the names of the API
and the export."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated

import click
import msgspec
import pytest
from msgspec import Meta

from answer_checks import ANSWERS, check_answers
from calls import Call
from filled_home import FilledHome
from fonds.cli.failures import SettledNoteAnswer
from fonds.cli.json_answers import (
    FieldDescription,
    build_answer,
    define_answer,
    describe_answer,
    list_other_outputs,
)
from fonds.cli.main import cli
from fonds.search.export_rows import FIELDS
from fonds.search.hits import SearchHit


def _list_commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        subcommand = command.get_command(context, name)
        assert subcommand is not None
        yield from _list_commands(subcommand, (*path, name))


def test_every_command_describes_its_json() -> None:
    other_outputs = list_other_outputs(cli)
    assert set(ANSWERS) | set(other_outputs) == {*_list_commands(cli), "catchup"}
    assert not set(ANSWERS) & set(other_outputs)


@pytest.mark.parametrize(
    "words",
    [
        ("search", "flood"),
        ("status",),
        ("status", "--pipeline", "library"),
        ("failures",),
        ("failures", "--list"),
        ("timetable",),
        ("doctor",),
        ("pipelines",),
        ("topics",),
        ("queue", "list"),
        ("table", "list"),
        ("table", "scan"),
        ("catchup", "--list"),
        ("catchup", "pdf", "--dry-run"),
        ("archive", "list"),
        ("configuration", "list", "told"),
        ("sources", "list"),
    ],
    ids=" ".join,
)
def test_the_json_of_a_command_has_the_described_fields(call: Call, words: tuple[str, ...]) -> None:
    result = call(*words, "--json")
    assert result.code == 0, result.err
    if words[0] not in ("archive", "sources", "table"):
        assert check_answers(words, result.out)


def test_the_json_of_a_file_has_the_described_fields(call: Call, filled_home: FilledHome) -> None:
    (hit, *_) = check_answers(("search",), call("search", "flood", "--json").out)
    assert check_answers(("show",), call("show", hit["sha1hex"], "--json").out)


def test_the_json_of_an_extraction_has_the_described_fields(call: Call, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<html><body><article><p>{'The river rose. ' * 200}</article></body></html>")
    (extraction,) = check_answers(("extract",), call("extract", str(page), "--json").out)
    assert extraction["sha1hex"]


def test_search_page_and_export_use_the_same_field_names() -> None:
    (result,) = [
        answer for answer in ANSWERS["search"] if answer.condition == "one for each result"
    ]
    names = {field.name for field in result.fields} & set(SearchHit.__annotations__)
    assert {"title", "canonical_domain", "publication_date", "page_count"} <= names & set(FIELDS)


@pytest.mark.parametrize(
    "out",
    ['{"messages": "1"}', '{"messages": true}', '{"messages": null}', '{"count": 1}', "{}"],
)
def test_json_with_other_fields_fails_the_check(out: str) -> None:
    with pytest.raises(AssertionError, match="messages"):
        check_answers(("queue", "load"), out)


class Described(msgspec.Struct, rename={"first": "from"}):
    first: Annotated[datetime | None, Meta(description="when it began")]
    counts: Annotated[Mapping[str, int], Meta(description="how many")]
    body: Annotated[str | msgspec.UnsetType, Meta(description="its body")] = msgspec.UNSET


class Undescribed(msgspec.Struct):
    first: str


def test_a_struct_is_described_by_its_types() -> None:
    answer = describe_answer("one", Described)
    assert answer.condition == "one"
    assert list(answer.fields) == [
        FieldDescription("from", "time", "when it began", is_nullable=True),
        FieldDescription("counts", "object", "how many"),
        FieldDescription("body", "text", "its body", is_always=False),
    ]


def test_a_field_without_a_description_raises() -> None:
    with pytest.raises(ValueError, match="first has no description"):
        describe_answer("one", Undescribed)


@dataclass(frozen=True)
class Place:
    street: str


@dataclass(frozen=True)
class Person:
    name: Annotated[str, Meta(description="name")]
    born: Annotated[date | None, Meta(description="day of birth")]
    homes: Annotated[Sequence[Place], Meta(description="homes")]
    secret: str = ""


def test_an_answer_takes_fields_of_another_type() -> None:
    extra = Annotated[int | msgspec.UnsetType, Meta(description="age")]
    kind = define_answer("Guest", Person, Described, omit=("secret", "counts"), age=extra)
    assert list(describe_answer("one", kind).fields) == [
        FieldDescription("name", "text", "name"),
        FieldDescription("born", "date", "day of birth", is_nullable=True),
        FieldDescription("homes", "list", "homes", members=("street",)),
        FieldDescription("from", "time", "when it began", is_nullable=True),
        FieldDescription("body", "text", "its body", is_always=False),
        FieldDescription("age", "integer", "age", is_always=False),
    ]
    guest = build_answer(kind, Person("Ann", date(1990, 1, 2), [Place("Main")], "x"), first=None)
    assert json.loads(msgspec.json.encode(guest)) == {
        "name": "Ann",
        "born": "1990-01-02",
        "homes": [{"street": "Main"}],
        "from": None,
    }


def test_rows_of_a_field_are_named_by_their_table() -> None:
    (field,) = describe_answer("one", SettledNoteAnswer).fields
    assert field.table == "failure_notes"
    assert {"note", "owner"} <= set(field.members)
