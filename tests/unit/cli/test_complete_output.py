"""Commands report what they leave out, and unknown names with the nearest known name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from calls import Call
from filled_home import FilledHome, open_home
from fonds.cli.main import cli
from fonds.derivatives.kinds import KINDS
from fonds.grouping import configuration
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import Tables
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.papers.catalog.store import Catalog, name_catalog_table
from kept_collections import Clock, themed_documents

AT = "http://daily.example/feed"
FREQUENCIES = ("collection", "frequencies", "told/kept")
SOURCE_ACTIONS = ("pause", "resume", "remove", "poll", "mute", "unmute")
# Closed lists, by command and parameter: an unknown value exits with 2 and names the nearest.
REFUSED_CALLS: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("search", "themes_of"): (
        ("search", "--themes-of", "told/kep"),
        "Did you mean 'told/kept'",
    ),
    ("search", "query"): (("search", 'autor:"A B"'), "there is no field “autor”"),
    ("status", "pipeline"): (("status", "--pipeline", "libary"), "Did you mean 'library'"),
    ("audit", "pipeline"): (("audit", "--pipeline", "libary"), "Did you mean 'library'"),
    ("repair", "pipeline"): (("repair", "--pipeline", "libary"), "Did you mean 'library'"),
    ("repair", "accepted_table"): (
        ("repair", "--accept", "acess_keys"),
        "Did you mean 'access_keys'",
    ),
    ("ingest", "pipeline"): (("ingest", "/", "--pipeline", "libary"), "Did you mean 'library'"),
    ("run", "pipeline"): (("run", "libary"), "Did you mean 'library'"),
    ("work", "steps"): (("work", "extract"), "Did you mean 'extract_pdf'"),
    ("work", "pipeline"): (
        ("work", "identify", "--pipeline", "libary"),
        "Did you mean 'library'",
    ),
    ("changes", "change"): (("changes", "--change", "edted"), "Did you mean 'edited'"),
    ("failures", "action"): (("failures", "rety"), "Did you mean 'retry'"),
    ("failures", "pipeline"): (("failures", "--pipeline", "libary"), "Did you mean 'library'"),
    ("failures", "reason"): (("failures", "--reason", "brokn-pdf"), "Did you mean 'broken-pdf'"),
    ("failures", "step"): (("failures", "--step", "extrct_pdf"), "Did you mean 'extract_pdf'"),
    ("export", "query"): (("export", 'autor:"A B"'), "there is no field “autor”"),
    ("keys", "COMMAND"): (("keys", "lst"), "Did you mean 'list'"),
    ("keys create", "name"): (
        ("keys", "create", "A b", "--role", "reader"),
        "invalid key name 'A b'",
    ),
    ("keys create", "role"): (("keys", "create", "x", "--role", "curater"), "mean 'curator'"),
    ("keys revoke", "name"): (
        ("keys", "revoke", "nobody", "--reason", "x"),
        "no key named 'nobody'",
    ),
    ("keys revoke", "reason"): (
        ("keys", "revoke", "nobody", "--reason", "x" * 501),
        "at most 500 characters",
    ),
    ("takedown", "keys"): (("takedown", "nonsense"), "not a SHA-1 in hex or base32"),
    ("takedown", "reason"): (("takedown", "ab" * 20, "--reason", "privcy"), "mean 'privacy'"),
    ("embargo", "keys"): (("embargo", "nonsense", "--dry-run"), "not a SHA-1 in hex or base32"),
    ("embargo", "reason"): (("embargo", "ab" * 20, "--reason", "privcy"), "mean 'privacy'"),
    ("embargo", "query"): (
        ("embargo", "--query", 'autor:"A B"', "--dry-run"),
        "there is no field “autor”",
    ),
    ("verify", "file"): (("verify", "nowhere.csv"), "Cannot read the manifest"),
    ("export", "form"): (("export", "--format", "json"), "Did you mean 'jsonl'"),
    ("pipelines", "names"): (("pipelines", "libary"), "Did you mean 'library'"),
    ("topics", "action"): (("topics", "crate"), "Did you mean 'create'"),
    ("topics", "pipeline"): (("topics", "--pipeline", "libary"), "Did you mean 'library'"),
    ("queue", "COMMAND"): (("queue", "lst"), "Did you mean 'list'"),
    ("queue list", "pipeline"): (("queue", "list", "--pipeline", "libary"), "'library'"),
    ("queue peek", "address"): (("queue", "peek", "parse_stry"), "library.parse_story-in'?"),
    ("queue peek", "pipeline"): (("queue", "peek", "x", "--pipeline", "libary"), "'library'"),
    ("queue dump", "address"): (("queue", "dump", "parse_stry", "f"), "library.parse_story-in'?"),
    ("queue dump", "pipeline"): (("queue", "dump", "x", "f", "--pipeline", "libary"), "'library'"),
    ("queue purge", "address"): (("queue", "purge", "parse_stry"), "library.parse_story-in'?"),
    ("queue purge", "pipeline"): (("queue", "purge", "x", "--pipeline", "libary"), "'library'"),
    ("queue release", "step"): (("queue", "release", "parse_stry"), "library.parse_story-in'?"),
    ("queue release", "reason"): (
        ("queue", "release", "parse_story", "--reason", "timeot"),
        "Did you mean 'timeout'",
    ),
    ("queue release", "pipeline"): (("queue", "release", "x", "--pipeline", "libary"), "'library'"),
    ("queue load", "pipeline"): (("queue", "load", __file__, "--pipeline", "libary"), "'library'"),
    ("archive", "COMMAND"): (("archive", "lst"), "Did you mean 'list'"),
    ("archive list", "names"): (("archive", "list", "fonds-2026.warc.gz"), "Did you mean 'fonds-"),
    ("archive reindex", "names"): (("archive", "reindex", "fonds-2026.warc.gz"), "mean 'fonds-"),
    ("archive verify", "paths"): (("archive", "verify", "fonds-2026.warc.gz"), "mean 'fonds-"),
    ("archive extract", "key"): (("archive", "extract", "nonsense"), "No capture for 'nonsense'"),
    ("catchup", "COMMAND"): (("catchup", "pfd"), "Did you mean 'pdf'"),
    ("completion", "shell"): (("completion", "zhs"), "Did you mean 'zsh'"),
    ("backfill", "COMMAND"): (("backfill", "cdxx"), "Did you mean 'cdx'"),
    ("backfill cdx", "paths"): (("backfill", "cdx", "no.cdx"), "no.cdx: no such file"),
    ("backfill cdx", "engine"): (("backfill", "cdx", "/", "--engine", "lokal"), "'local'"),
    ("backfill cdx", "filter_"): (("backfill", "cdx", "/", "--filter", "paper"), "mean 'papers'"),
    ("backfill cdx", "mimes"): (("backfill", "cdx", "/", "--mime", "("), "'(' is not a media type"),
    ("backfill extract", "paths"): (
        ("backfill", "extract", "no.warc", "--to", "parquet", "--out", "no"),
        "no.warc: no such file",
    ),
    ("backfill extract", "to"): (("backfill", "extract", "/", "--to", "parkett"), "'parquet'"),
    ("backfill extract", "engine"): (
        ("backfill", "extract", "/", "--to", "parquet", "--out", "no", "--engine", "lokal"),
        "'local'",
    ),
    ("match", "COMMAND"): (("match", "paprs"), "Did you mean 'papers'"),
    ("match strings", "file"): (("match", "strings", "no.txt"), "Cannot read no.txt"),
    ("match citations", "doi"): (("match", "citations", "--doi", "x"), "'x' is not a DOI"),
    ("catalog", "COMMAND"): (("catalog", "lod"), "Did you mean 'load'"),
    ("catalog load", "paths"): (("catalog", "load", "no.jsonl"), "no.jsonl: no such file"),
    ("table", "COMMAND"): (("table", "lst"), "Did you mean 'list'"),
    ("table get", "keys"): (("table", "get", "nonsense"), "not a SHA-1 in hex or base32"),
    ("table put", "key"): (("table", "put", "nonsense", "f:c={}"), "not a SHA-1 in hex or base32"),
    ("table put", "cells"): (("table", "put", "ab" * 20, "file:mim=x"), "Did you mean 'file:mime'"),
    ("table scan", "start"): (("table", "scan", "--from", "xy"), "not the start of a key"),
    ("table scan", "after"): (("table", "scan", "--after", "xy"), "not a SHA-1 in hex or base32"),
    ("table import", "file"): (("table", "import", "no.jsonl"), "Cannot read no.jsonl"),
    ("fetch", "pipeline"): (("fetch", "--pipeline", "newz", AT), "Did you mean 'news'"),
    ("fetch", "tls"): (("fetch", "--tls", "nne", AT), "Did you mean 'none'"),
    ("fetch", "lists"): (("fetch", "--from", "no.txt"), "no.txt: no such file or folder"),
    ("sources", "COMMAND"): (("sources", "lst"), "Did you mean 'list'"),
    ("sources add", "kind"): (("sources", "add", AT, "--kind", "fed"), "Did you mean 'feed'"),
    ("sources add", "pipeline"): (("sources", "add", AT, "--pipeline", "newz"), "'news'"),
    ("sources add", "tls"): (("sources", "add", AT, "--tls", "nne"), "Did you mean 'none'"),
    ("sources add", "urls"): (("sources", "add", "nonsense"), "no host in 'nonsense'"),
    ("sources check", "kind"): (("sources", "check", AT, "--kind", "fed"), "Did you mean 'feed'"),
    ("sources import", "path"): (("sources", "import", "no.opml"), "Cannot read no.opml"),
    ("sources import", "pipeline"): (("sources", "import", "-", "--pipeline", "newz"), "'news'"),
    ("sources import", "tls"): (("sources", "import", "-", "--tls", "nne"), "'none'"),
    ("sources list", "stands"): (("sources", "list", "--health", "ded"), "mean 'dead'"),
    ("collection", "COMMAND"): (("collection", "lst"), "Did you mean 'list'"),
    ("collection create", "name"): (("collection", "create", "x"), "NAMESPACE/KEY, not 'x'"),
    ("collection create", "query"): (
        ("collection", "create", "n/x", "--query", "autor:x"),
        "there is no field “autor”",
    ),
    ("collection show", "name"): (("collection", "show", "told/kep"), "Did you mean 'told/kept'"),
    ("collection add", "name"): (("collection", "add", "x", "-"), "NAMESPACE/KEY, not 'x'"),
    ("collection add", "files"): (
        ("collection", "add", "n/x", "no.jsonl"),
        "no.jsonl: No such file",
    ),
    ("collection remove", "name"): (("collection", "remove", "told/kep", "a"), "'told/kept'"),
    ("collection delete", "name"): (("collection", "delete", "told/kep"), "'told/kept'"),
    ("collection frequencies", "name"): ((*FREQUENCIES[:2], "told/kep"), "mean 'told/kept'"),
    ("collection frequencies", "conf"): ((*FREQUENCIES, "--conf", "DEFALT"), "mean 'DEFAULT'"),
    ("collection frequencies", "engine"): ((*FREQUENCIES, "--engine", "lokal"), "mean 'local'"),
    ("configuration", "COMMAND"): (("configuration", "lst"), "Did you mean 'list'"),
    ("configuration show", "name"): (("configuration", "show", "told/DEFALT"), "mean 'DEFAULT'"),
    ("configuration set", "name"): (("configuration", "set", "told", "seed=1"), "NAMESPACE/KEY"),
    ("configuration set", "values"): (
        ("configuration", "set", "told/x", "thresold=1"),
        "Did you mean 'threshold'",
    ),
    ("configuration remove", "name"): (("configuration", "remove", "told/fw"), "mean 'few'"),
    ("group", "name"): (("group", "told/kep"), "Did you mean 'told/kept'"),
    ("group", "conf"): (("group", "told/kept", "--conf", "DEFALT"), "Did you mean 'DEFAULT'"),
    ("group", "engine"): (("group", "told/kept", "--engine", "lokal"), "Did you mean 'local'"),
    ("clusters show", "name"): (("clusters", "told/kep"), "Did you mean 'told/kept'"),
    ("clusters show", "label"): (("clusters", "told/kept", "outlir"), "Did you mean 'outlier'"),
    ("clusters show", "conf"): (("clusters", "told/kept", "--conf", "fw"), "Did you mean 'few'"),
    ("clusters show", "after"): (("clusters", "told/kept", "outlier", "--after", "x"), "--after x"),
}
for _command in ("search", "export"):
    for _name, _value, _message in (
        ("kind", "stroy", "Did you mean “story”?"),
        ("match", "exat", "Did you mean “exact”?"),
        ("dates", "capturd", "Did you mean “captured”?"),
        ("language", "english", "Did you mean 'en'?"),
        ("from", "yesterday", "“yesterday”: this is not a date; write it as 2024-05-31"),
        ("to", "2024-02-30", "“2024-02-30”: this is not a date; write it as 2024-05-31"),
    ):
        _key = "from_" if _name == "from" else _name
        REFUSED_CALLS[_command, _key] = ((_command, f"--{_name}", _value), _message)
REFUSED_CALLS["search", "sort"] = (("search", "--sort", "newst"), "Did you mean “newest”?")
REFUSED_CALLS["clusters", "COMMAND"] = (("clusters", "renme"), "Did you mean 'rename'")
for _action in ("rename", "pin", "unpin", "exclude", "include"):
    _extra = ("d1",) if _action in ("rename", "exclude", "include") else ()
    for _parameter, _arguments in {
        "name": (("told/kep", "x"), "Did you mean 'told/kept'"),
        "theme": (("told/kept", "nonsense"), "no theme named 'nonsense'"),
        "conf": (("told/kept", "x", "--conf", "fw"), "Did you mean 'few'"),
    }.items():
        REFUSED_CALLS[f"clusters {_action}", _parameter] = (
            ("clusters", _action, *_arguments[0], *_extra),
            _arguments[1],
        )
for _action in ("exclude", "include"):
    _call = ("clusters", _action, "told/kept", "x", "nobody")
    REFUSED_CALLS[f"clusters {_action}", "documents"] = (_call, "no document 'nobody' in")
_name_parameters = (
    ("check", "names"),
    ("show", "name"),
    ("edit", "name"),
    *((a, "names") for a in SOURCE_ACTIONS),
)
for _action, _parameter in _name_parameters:
    REFUSED_CALLS[f"sources {_action}", _parameter] = (
        ("sources", _action, "nonsense"),
        "no source named 'nonsense'",
    )
_call = ("sources", "backfill", "nonsense", "--stop")
REFUSED_CALLS["sources backfill", "name"] = (_call, "no source named 'nonsense'")
for _subcommand in ("get", "scan"):
    REFUSED_CALLS[f"table {_subcommand}", "columns"] = (
        (
            "table",
            _subcommand,
            *(["ab" * 20] if _subcommand == "get" else []),
            "--column",
            "file:mim",
        ),
        "Did you mean 'file:mime'",
    )
for _subcommand, _extra in {
    "get": ["ab" * 20],
    "put": ["ab" * 20, "f:c={}"],
    "scan": [],
    "stats": [],
    "export": ["-"],
    "import": ["-"],
}.items():
    REFUSED_CALLS[f"table {_subcommand}", "name"] = (
        ("table", _subcommand, *_extra, "--table", "fonds-jornal-extract-0-local"),
        "Did you mean 'fonds-journal-extract-0-local'",
    )
for _subcommand in ("table stats", "match", "match papers", "match references"):
    REFUSED_CALLS[_subcommand, "engine"] = (
        (*_subcommand.split(), "--engine", "lokal"),
        "Did you mean 'local'",
    )
for _subcommand in ("export", "import"):
    _extra = ("table", _subcommand, "-", "--format", "json")
    REFUSED_CALLS[f"table {_subcommand}", "form"] = (_extra, "Did you mean 'jsonl'")
for _kind in (kind.name for kind in KINDS if kind.reading):
    _command, _arguments = f"catchup {_kind}", ("catchup", _kind)
    _wrong, _right = ("strog", "strong") if _kind == "match" else ("sucess", "success")
    _status = (*_arguments, "--reextract", "--status", _wrong)
    REFUSED_CALLS[_command, "statuses"] = (_status, f"Did you mean '{_right}'")
    REFUSED_CALLS[_command, "pipeline"] = ((*_arguments, "--pipeline", "libary"), "'library'")
# Open lists: the command succeeds and reports that nothing has this value.
REPORTED_CALLS: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("catalog show", "key"): (("catalog", "show", "10.1000/x"), "has no work '10.1000/x'"),
    ("show", "key"): (("show", "nonsense"), "No record of 'nonsense'"),
    ("changes", "site"): (
        ("changes", "--site", "dayly.example"),
        "No changed story of the site 'dayly.example'.",
    ),
    ("catalog search", "title"): (("catalog", "search", "Rivers"), "No work has this title."),
    ("catalog search", "author"): (
        ("catalog", "search", "X", "--author", "Y"),
        "No work has this title",
    ),
    ("configuration list", "namespace"): (("configuration", "list", "tld"), "DEFAULT"),
    ("collection list", "namespace"): (("collection", "list", "tld"), "Did you mean 'told'"),
    ("collection remove", "ids"): (
        ("collection", "remove", "told/kept", "never"),
        "1 not in the collection",
    ),
    ("failures", "group"): (("failures", "--group", "ab" * 8), "No failures match."),
    ("failures", "key"): (("failures", "--key", "ab" * 20), "No failures match."),
} | {
    (f"catchup {kind.name}", "made_by"): (
        ("catchup", kind.name, "--dry-run", "--reextract", "--made-by", "x"),
        "0 files would be read",
    )
    for kind in KINDS
    if kind.reading
}
for _command in ("search", "export"):
    REPORTED_CALLS[_command, "domain"] = (
        (_command, "--domain", "dayly.example"),
        "has the domain “dayly.example”; did you mean “daily.example”?",
    )
    REPORTED_CALLS[_command, "collection"] = (
        (_command, "--collection", "report"),
        "has the collection “report”; did you mean “reports”?",
    )
# The requested item does not exist: like `grep`, the command prints nothing and exits with 1.
MISSING_ITEMS = {("show", "key"), ("catalog show", "key")}
# Values that name nothing in the library: paths, URLs, and names that the user chooses.
FREE_PARAMETERS = {
    ("ingest", "paths"), ("ingest", "warc_base"), ("ingest", "collection"),
    ("extract", "paths"), ("extract", "warc_base"), ("serve", "web_host"), ("export", "out"),
    ("backfill extract", "out"),
    ("queue dump", "file"), ("queue load", "file"), ("queue load", "to"),
    ("archive extract", "out"), ("archive extract", "at"),
    ("fetch", "urls"), ("fetch", "collection"), ("sources add", "collection"), ("sources add", "folder"),
    ("sources add", "title"), ("sources edit", "title"), ("sources edit", "folder"),
    ("sources edit", "collection"), ("sources export", "path"), ("sources import", "collection"),
    ("failures", "note"), ("failures", "owner"), ("takedown", "note"),
    ("sources mute", "note"), ("embargo", "note"),
    ("clusters rename", "called"), ("table create", "name"), ("table export", "file"),
    ("search", "alike"), ("export", "alike"),
}  # fmt: skip
SHARED_OPTIONS = {"home", "set_", "json", "quiet"}
NUMBER_TYPES = (click.IntRange, click.FloatRange, click.DateTime, type(click.INT), type(click.BOOL))


def _list_word_parameters(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """Return every command and parameter that takes a word."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        if path:
            yield " ".join(path), "COMMAND"
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from _list_word_parameters(subcommand, (*path, name))
    for param in command.params:
        if path and param.name not in SHARED_OPTIONS and not isinstance(param.type, NUMBER_TYPES):
            yield " ".join(path), param.name or ""


def test_every_word_parameter_has_a_case_here() -> None:
    assert (
        set(_list_word_parameters(cli))
        == REFUSED_CALLS.keys() | REPORTED_CALLS.keys() | FREE_PARAMETERS
    )


@pytest.fixture(autouse=True, scope="module")
def _group_collection(home: Path, filled_home: FilledHome) -> None:
    """Add a catalogue, a collection that was grouped once, and a second configuration."""
    with open_home(home) as stores:
        Catalog(stores.table, name_catalog_table("fonds", "local")).declare()
        tables = Tables(stores.table)
        tables.declare()
        leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
        writer = CollectionWriter(tables, leases, Clock())
        configuration.save_configuration(
            tables, "told", "few", configuration.build_configuration({"clusters": 2})
        )
        writer.put(CollectionName("told", "kept"), themed_documents(20))
        rebuild(writer, CollectionName("told", "kept"))


@pytest.mark.parametrize("case", REFUSED_CALLS, ids=" ".join)
def test_an_unknown_name_is_refused_with_the_nearest(call: Call, case: tuple[str, str]) -> None:
    words, message = REFUSED_CALLS[case]
    result = call(*words)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


@pytest.mark.parametrize("case", REPORTED_CALLS, ids=" ".join)
def test_a_value_without_matches_is_reported(call: Call, case: tuple[str, str]) -> None:
    words, message = REPORTED_CALLS[case]
    result = call(*words)
    assert result.code == (1 if case in MISSING_ITEMS else 0)
    assert message in result.out + result.err


def test_unknown_commands_and_settings_name_the_nearest(call: Call) -> None:
    assert "Did you mean 'search'" in call("serach", "flood").err
    assert "Did you mean 'pipeline'" in call("status", "--set", "pipline=library").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("search", "--from", "2024-02-01", "--to", "2024-01-01"), "is after the last day"),
        (("search", "--undated", "--from", "2024-02-01"), "match no range of dates"),
        (("search", '"flood river'), "not closed"),
        (("failures", "retry", "--limit", "5"), "--limit works only with lists."),
        (("failures", "--note", "gone"), "works only with accept and note"),
        (("failures", "accept"), "Choose failures"),
        (("failures", "retry", "--list"), "cannot be combined"),
        (("show", "ab" * 20, "--body", "--text"), "only one"),
        (("search", "flood", "-river"), "start with a minus after --"),
    ],
)
def test_a_search_that_cannot_match_is_refused(
    call: Call, words: tuple[str, ...], message: str
) -> None:
    result = call(*words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


@pytest.mark.parametrize("dates", ["published", "captured", "added"])
def test_every_kind_of_date_is_accepted(call: Call, dates: str) -> None:
    assert call("search", "flood", "--dates", dates, "--json").code == 0


def test_help_shows_a_default_as_it_is_typed(call: Call) -> None:
    help_text = " ".join(call("search", "--help").out.split())
    assert "[default: published]" in help_text
