"""Click commands and parameter types that check names and suggest the nearest known name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

from fonds.model.suggestions import find_nearest_name, format_unknown_name


class Day(click.DateTime):
    """Click parameter type for a date, as YYYY-MM-DD."""

    def __init__(self) -> None:
        super().__init__(["%Y-%m-%d"])

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the start of the day that the user gave.

        Raises click.BadParameter with an example if the value is not a date.
        """
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a date. Example: 2024-05-31", param, ctx)


DAY = Day()


class SuggestingChoice(click.Choice[str]):
    """Click parameter type for one of `choices`. The error for another value suggests the nearest
    choice.

    `what`: noun for the values in the error message, such as "kind".
    """

    def __init__(self, noun: str, choices: Iterable[str]) -> None:
        super().__init__([str(choice) for choice in choices])
        self.noun = noun

    def normalize_choice(self, choice: Any, ctx: click.Context | None) -> str:
        """Return the text of a choice, with which the user's value is compared. For an enum member
        it is the value, not the name.
        """
        return super().normalize_choice(str(choice), ctx)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the error message for an unknown value, which suggests the nearest choice."""
        return format_unknown_name(self.noun, str(value), self.choices)


class SuggestingCommand(click.Command):
    """Click command whose error for an unknown option explains the separator `--`.

    - `answers`: types of the objects that the command writes with `--json`. Each key says when such
      an object is written, and how many.
    - `output`: description of the command's output if it writes no objects with fixed fields.
    """

    answers: Mapping[str, type] = MappingProxyType({})
    output: str = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of the command, and return those that were not parsed.

        Raises click.UsageError for an unknown option. If the command has arguments and the option
        has only one dash, the error explains how to write an argument that starts with a minus.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            takes_words = any(isinstance(param, click.Argument) for param in self.params)
            if takes_words and not error.option_name.startswith("--"):
                message = (
                    f"{error.format_message()} Write arguments that start with a minus "
                    f"after --: {ctx.command_path} -- …"
                )
                raise click.UsageError(message, ctx) from error
            raise


class CommandGroup(click.Group):
    """Click group of commands that suggests the nearest command for an unknown name.

    - `modules`: name of the module that defines each command, by command name. It is imported on
      use, so that commands start quickly. If None, the group has the commands that were added with
      click.
    - `summaries`: text for each command in the group's list of commands, by command name. Required
      with `modules`, so that the list imports none of them.
    - `default_command`: command that is used if the first argument is no command of the group. The
      argument must contain a slash, as names of collections do, or resemble no command name.
    - `answers`: types of the JSON objects that the group itself writes with `--json`, without one
      of its commands. The key says when it writes them, such as "one for each kind, with --list".
    """

    answers: Mapping[str, type] = MappingProxyType({})

    def __init__(
        self,
        *arguments: Any,
        modules: Mapping[str, str] | None = None,
        summaries: Mapping[str, str] = MappingProxyType({}),
        default_command: str | None = None,
        **keyword_arguments: Any,
    ) -> None:
        super().__init__(*arguments, **keyword_arguments)
        self.modules, self.summaries = modules, summaries
        self.default_command = default_command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of the group, after inserting the default command if no command is
        named.
        """
        names = self.list_commands(ctx)
        word = next((arg for arg in args if not arg.startswith("-")), None)
        is_none = word is not None and ("/" in word or find_nearest_name(word, names) is None)
        if self.default_command is not None and word not in names and is_none:
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the group's commands. With `modules`, they are in the order of that
        mapping.
        """
        return super().list_commands(ctx) if self.modules is None else list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the group's command with this name, importing its module if needed; None if there
        is none.
        """
        if self.modules is None:
            return super().get_command(ctx, cmd_name)
        if cmd_name not in self.modules:
            return None
        command: click.Command = getattr(import_module(self.modules[cmd_name]), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands. With `modules`, no module is imported."""
        if self.modules is None:
            super().format_commands(ctx, formatter)
            return
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summaries[name]) for name in self.modules])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, with its name and the remaining arguments.

        Raises click.UsageError, which suggests the nearest name, for an unknown command.
        """
        name, names = args[0], self.list_commands(ctx)
        if not name.startswith("-") and name not in names:
            near = find_nearest_name(name, names)
            suggestion = f" Did you mean {near!r}?" if near else ""
            raise click.UsageError(f"No such command {name!r}.{suggestion}", ctx)
        return super().resolve_command(ctx, args)
