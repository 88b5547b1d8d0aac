"""JSON answers of all commands, by command name, and commands that have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fonds.cli.answers import grouping, looking, taking_in
from fonds.cli.json_answers import AnswerDescription, list_answers
from fonds.cli.main import cli

ANSWERS: Mapping[str, Sequence[AnswerDescription]] = MappingProxyType(
    {
        **taking_in.ANSWERS,
        **looking.ANSWERS,
        **grouping.ANSWERS,
        **list_answers(cli),
    }
)
OTHERWISE: Mapping[str, str] = MappingProxyType(
    {
        "completion": "a shell script",
        "export": "rows in the format given by --format; the manifest lists their columns",
        "run": "log lines as JSON on standard error",
        "serve": "log lines; the JSON of the web pages is described at `/docs`",
        "sources export": "OPML",
        "table stats": "counts by subject and value",
        "work": "log lines as JSON on standard error",
    }
)
"""Output of commands that write no JSON object with fixed fields."""
