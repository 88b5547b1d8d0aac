"""Every command's `--json` has the fields docs/json.md says, and the names of the API and the export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated

import click
import msgspec
import pytest
from msgspec import Meta

from answer_checks import check_answers
from calls import Call
from filled_home import Filled
from fonds.cli.answers.answer import build_answer
from fonds.cli.answers.by_command import ANSWERS, OTHERWISE
from fonds.cli.json_answers import FieldDescription, describe_answer
from fonds.cli.main import cli
from fonds.search.export_rows import FIELDS
from fonds.web.pages.search import SearchHit

SPECIAL = {"snippet_marks", "themes", "near_duplicate_of", "alike"}


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from _commands(found, (*path, name))


def test_every_command_says_what_it_answers() -> None:
    assert set(ANSWERS) | set(OTHERWISE) == {*_commands(cli), "catchup"}
    assert not set(ANSWERS) & set(OTHERWISE)


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
def test_a_command_answers_as_it_says(call: Call, words: tuple[str, ...]) -> None:
    told = call(*words, "--json")
    assert told.code == 0, told.err
    if words[0] not in ("archive", "sources", "table"):
        assert check_answers(words, told.out)


def test_a_file_is_shown_as_it_is_said(call: Call, filled: Filled) -> None:
    (hit, *_) = check_answers(("search",), call("search", "flood", "--json").out)
    assert check_answers(("show",), call("show", hit["sha1hex"], "--json").out)


def test_an_extraction_answers_as_it_says(call: Call, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<html><body><article><p>{'The river rose. ' * 200}</article></body></html>")
    (told,) = check_answers(("extract",), call("extract", str(page), "--json").out)
    assert told["sha1hex"]


def test_search_page_and_export_call_one_thing_by_one_name() -> None:
    result = {field.name: field for field in ANSWERS["search"][1].fields}
    page = set(SearchHit.__annotations__) - SPECIAL
    assert page <= set(result)
    assert {"title", "canonical_domain", "publication_date", "page_count"} <= page & set(FIELDS)


@pytest.mark.parametrize(
    "out",
    ['{"messages": "1"}', '{"messages": true}', '{"messages": null}', '{"count": 1}', "{}"],
)
def test_an_answer_with_other_fields_is_found_out(out: str) -> None:
    with pytest.raises(AssertionError, match="messages"):
        check_answers(("queue", "load"), out)


def test_a_type_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="'texts'"):
        build_answer("one", ("name", "texts", "its name"))


class Told(msgspec.Struct, rename={"first": "from"}):
    first: Annotated[datetime | None, Meta(description="when it began")]
    counts: Annotated[Mapping[str, int], Meta(description="how many")]
    body: Annotated[str | msgspec.UnsetType, Meta(description="its body")] = msgspec.UNSET


class Untold(msgspec.Struct):
    first: str


def test_a_struct_is_described_by_its_types() -> None:
    answer = describe_answer("one", Told)
    assert answer.condition == "one"
    assert list(answer.fields) == [
        FieldDescription("from", "time", "when it began", is_nullable=True),
        FieldDescription("counts", "object", "how many"),
        FieldDescription("body", "text", "its body", is_always=False),
    ]


def test_a_field_without_a_description_is_refused() -> None:
    with pytest.raises(ValueError, match="first has no description"):
        describe_answer("one", Untold)
