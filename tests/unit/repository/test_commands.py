"""Every command has a help text with an example, and can return JSON."""

from __future__ import annotations

import re

import click
import pytest

from fonds.cli.main import COMMANDS, SUMMARIES, cli
from unit.repository.tree import ROOT

each_command = pytest.mark.parametrize("name", list(COMMANDS))


def get_command(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command


@each_command
def test_a_command_has_help_and_an_example(name: str) -> None:
    text = get_command(name).help or ""
    prose, _, example = text.partition("\b")
    assert len(prose.split()) > 4
    assert re.search(rf"^\s*(.*\| )?fonds {name}\b", example, re.MULTILINE)


@each_command
def test_a_command_has_the_options_json_and_home(name: str) -> None:
    flags = {flag for param in get_command(name).params for flag in param.opts}
    assert {"--json", "--home"} <= flags


@each_command
def test_the_examples_of_a_command_use_its_options(name: str) -> None:
    """A copied example must work."""
    command = get_command(name)
    subcommands = command.commands.values() if isinstance(command, click.Group) else ()
    params = [param for part in (command, *subcommands) for param in part.params]
    flags = {flag for param in params for flag in (*param.opts, *param.secondary_opts)}
    flags |= {flag for param in cli.params for flag in param.opts}
    example = (command.help or "").partition("\b")[2]
    lines = [line.partition("|")[0] for line in example.splitlines() if f"fonds {name}" in line]
    used = {flag for line in lines for flag in re.findall(r"(?<!\S)--[a-z-]+", line)}
    assert used - flags == set()


@each_command
def test_a_command_is_in_the_list_of_commands(name: str) -> None:
    assert f"fonds {name}" in (ROOT / "docs" / "commands.md").read_text("utf-8")


def test_commands_are_imported_on_first_use() -> None:
    assert cli.list_commands(click.Context(cli)) == list(COMMANDS)
    assert all(module.startswith("fonds.cli.") for module in COMMANDS.values())


@each_command
def test_the_summary_of_a_command_is_the_beginning_of_its_help(name: str) -> None:
    prose = " ".join((get_command(name).help or "").split())
    assert prose.startswith(SUMMARIES[name].removesuffix("."))


def test_the_list_of_commands_has_one_line_for_each() -> None:
    lines = cli.get_help(click.Context(cli, info_name="fonds", terminal_width=80)).splitlines()
    listed = lines[lines.index("Commands:") + 1 :]
    assert [line.split()[0] for line in listed] == list(COMMANDS)
