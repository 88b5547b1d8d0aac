"""Writes docs/json.md, what each command answers with `--json`, from the answers the package declares."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_type_hints

from fonds.cli.answers.by_command import ANSWERS, OTHERWISE
from fonds.cli.json_answers import AnswerDescription, FieldDescription, name_json_type
from fonds.model.rows import ROWS, Row
from written_pages import write

TOP = """\
# What commands answer with `--json`

Each answer is one JSON object a line on standard output; notes and progress go to standard error. `or null`
says that a field may be null, `at times` that it is left out where it would say nothing. A time is RFC 3339
text, a time of a capture the 14 digits of CDX. Where the pages' JSON or an export tell the same thing, it has
the same name there. Exit codes are those without `--json`.

This page is written by `scripts/json_page.py`; the tests of the command line hold every answer against it.
"""


def pages() -> dict[str, str]:
    """The page by its path from the repository's root."""
    return {"docs/json.md": "".join(_parts())}


def _parts() -> Iterator[str]:
    yield TOP
    for command, answers in sorted(ANSWERS.items()):
        yield f"\n## fonds {command}\n"
        for one in answers:
            yield from _answer(one)
    yield "\n## Others\n\n| command | what it writes |\n|---|---|\n"
    for command, said in sorted(OTHERWISE.items()):
        yield f"| `{command}` | {said} |\n"
    yield from _rows()


def _rows() -> Iterator[str]:
    """The rows that fields are said to be, each with its columns."""
    said = [field.meaning for some in ANSWERS.values() for one in some for field in one.fields]
    named = set(re.findall(r"rows? of `(\w+)`", " ".join(said)))
    yield "\n## Rows\n\nWhat is called a row of a table above is an object of these fields.\n"
    for row in sorted(ROWS, key=lambda one: one.TABLE):
        if row.TABLE in named:
            yield from _row(row)


def _row(row: type[Row]) -> Iterator[str]:
    told = " ".join((inspect.getdoc(row) or "").split())
    yield f"\n### A row of `{row.TABLE}`\n\n{told}\n\n| field | type |\n|---|---|\n"
    hints = get_type_hints(row)
    for name in (one.name for one in fields(row)):  # type: ignore[arg-type]
        yield f"| `{name}` | {_words(hints[name])} |\n"


def _words(hint: Any) -> str:
    """The type of JSON a value of this type becomes."""
    if hint is Any:
        return "any"
    parts = [one for one in get_args(hint) if one is not NoneType]
    if NoneType in get_args(hint):
        return f"{name_json_type(parts[0])} or null"
    return name_json_type(hint)


def _answer(one: AnswerDescription) -> Iterator[str]:
    yield f"\n{one.condition[:1].upper()}{one.condition[1:]}:\n\n| field | type | meaning |\n|---|---|---|\n"
    for field in one.fields:
        yield f"| `{field.name}` | {_type(field)} | {field.meaning} |\n"


def _type(field: FieldDescription) -> str:
    return (
        field.type
        + (" or null" if field.is_nullable else "")
        + ("" if field.is_always else ", at times")
    )


if __name__ == "__main__":
    write(pages())
