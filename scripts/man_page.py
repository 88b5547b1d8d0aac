"""Write docs/fonds.1, the manual page, from the `--help` of each command and docs/commands.md.

Source: man(7), groff_man(7).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence

import click

from fonds.cli.context import build_global_options
from fonds.cli.main import cli
from written_pages import ROOT, write

TOP = r"""
.\" Written by scripts/man_page.py.
.TH FONDS 1 "" "Fonds" "User Commands"
.SH NAME
fonds \- turn crawls into a library
.SH SYNOPSIS
.B fonds
.RI [ OPTIONS ] " COMMAND " [ ARGUMENTS ]
""".lstrip()
EXITS = (
    ("0", "Success, even if a search found nothing."),
    ("1", "Something failed, was quarantined or is not correct."),
    ("2", "Usage error: an argument or setting is invalid."),
    ("130", "Interrupted. Run the same command again to resume."),
)
_ESCAPED = {
    "\\": r"\e",
    "-": r"\-",
    "'": r"\(aq",
    '"': r"\(dq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
}
_EXAMPLE = re.compile(r"(fonds [a-z].*?)\s+# (.+)")


def build_pages() -> dict[str, str]:
    """Return the page by its path from the root of the repository."""
    return {"docs/fonds.1": "".join(f"{line}\n" for line in _iter_lines())}


def read_examples() -> list[tuple[str, str]]:
    """Return each command of docs/commands.md with its purpose."""
    matches = map(
        _EXAMPLE.fullmatch, (ROOT / "docs" / "commands.md").read_text("utf-8").splitlines()
    )
    return [(match[1].strip(), match[2]) for match in matches if match]


def _iter_lines() -> Iterator[str]:
    yield from TOP.splitlines()
    yield ".SH DESCRIPTION"
    yield from _iter_prose(cli.help or "")
    yield ".SH OPTIONS"
    yield "These can be given before or after the command:"
    for option in build_global_options():
        yield from _iter_option(option)
    yield ".SH COMMANDS"
    for path, command in _iter_commands(cli, ()):
        yield from _iter_command(path, command)
    yield ".SH EXIT STATUS"
    for code, meaning in EXITS:
        yield from (".TP", f".B {code}", _escape(meaning))
    yield ".SH FILES"
    yield from (
        ".TP",
        r".B ./fonds\-data",
        "The default home, if neither --home nor FONDS_HOME is set.",
    )
    yield from (".TP", ".B HOME/fonds.toml", "The settings.")
    yield ".SH EXAMPLES"
    for example, meaning in read_examples():
        yield from (
            ".TP",
            f".B {_escape(example)}",
            _escape(f"{meaning[:1].upper()}{meaning[1:]}."),
        )


def _iter_commands(
    group: click.Group, parents: Sequence[str]
) -> Iterator[tuple[Sequence[str], click.Command]]:
    """Yield each command with its path; groups before their commands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        path = (*parents, name)
        yield path, command
        if isinstance(command, click.Group):
            yield from _iter_commands(command, path)


def _iter_command(path: Sequence[str], command: click.Command) -> Iterator[str]:
    shared = {option.name for option in build_global_options()}
    context = click.Context(command, info_name=path[-1])
    usage = " ".join(
        usage_piece
        for usage_piece in command.collect_usage_pieces(context)
        if usage_piece != "[OPTIONS]"
    )
    yield f".SS {_escape(' '.join(['fonds', *path, usage]).strip())}"
    yield from _iter_prose(command.help or "")
    for parameter in command.params:
        if (
            isinstance(parameter, click.Option)
            and not parameter.hidden
            and parameter.name not in shared
        ):
            yield from _iter_option(parameter)


def _iter_option(option: click.Option) -> Iterator[str]:
    record = option.get_help_record(click.Context(cli))
    assert record is not None
    yield from (".TP", f".B {_escape(record[0])}", _escape(record[1] or "As its name says."))


def _iter_prose(text: str) -> Iterator[str]:
    """Yield paragraphs. A paragraph after a backspace keeps its line breaks."""
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        is_kept = part.lstrip().startswith("\b")
        lines = [line for line in part.replace("\b", "").splitlines() if line.strip()]
        yield ".PP"
        if is_kept:
            yield from (".nf", *map(_escape, lines), ".fi")
        else:
            yield _escape(" ".join(line.strip() for line in lines))


def _escape(text: str) -> str:
    """Escape text for roff, so that it can be copied from the formatted page."""
    plain = "".join(
        _ESCAPED.get(char) or (char if char.isascii() else rf"\[u{ord(char):04X}]") for char in text
    )
    return rf"\&{plain}" if plain[:1] == "." else plain


if __name__ == "__main__":
    write(build_pages())
