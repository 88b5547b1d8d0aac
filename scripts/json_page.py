"""Writes docs/json.md, what each command answers with `--json`, from the answers the package declares."""

from __future__ import annotations

from collections.abc import Iterator

from fonds.cli.commands.answers.answer import Answer, Field
from fonds.cli.commands.answers.by_command import ANSWERS, OTHERWISE
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


def _answer(one: Answer) -> Iterator[str]:
    yield f"\n{one.when[:1].upper()}{one.when[1:]}:\n\n| field | type | meaning |\n|---|---|---|\n"
    for field in one.fields:
        yield f"| `{field.name}` | {_type(field)} | {field.meaning} |\n"


def _type(field: Field) -> str:
    return (
        field.type
        + (" or null" if field.is_nullable else "")
        + ("" if field.is_always else ", at times")
    )


if __name__ == "__main__":
    write(pages())
