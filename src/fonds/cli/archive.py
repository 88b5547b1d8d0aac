"""`fonds archive`: list, verify, extract from, reindex and upload WARC files."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import msgspec
from msgspec import Meta
from rich.markup import escape
from rich.table import Table

from fonds.cli.archive_extract import extract
from fonds.cli.context import (
    App,
    build_global_options,
    command,
    echo_json,
    open_console,
    print_note,
)
from fonds.cli.names import CommandGroup
from fonds.model.encoding import pluralize
from fonds.model.errors import ConfigurationError
from fonds.model.record_offset import describe_offset
from fonds.model.suggestions import format_unknown_name
from fonds.ports import WarcArchive
from fonds.ports.stores import close

if TYPE_CHECKING:
    from fonds.audit.warcs import WarcReport
    from fonds.ports import WarcArchive


# Find the WARC files that a command names.


ENDINGS = (
    ".warc",
    ".arc",
    ".warc.gz",
    ".arc.gz",
    ".warc.zst",
    ".warc.lz4",
    ".warc.bz2",
    ".warc.xz",
)


def open_files(app: App, *, is_required: bool = True) -> WarcArchive:
    """Return the archive of WARC files, opened without any other store.

    It is closed when the command ends. Raises ConfigurationError if `is_required` and there is no
    library yet.
    """
    # Imported here because the stores are slow to import.
    from fonds.wiring.archive import open_archive

    if is_required:
        app.require_home()
    files = open_archive(app.home, app.load_settings())
    click.get_current_context().call_on_close(partial(close, files))
    return files


def iter_named_files(files: WarcArchive, names: Sequence[str]) -> Iterator[str]:
    """Yield the names of the given WARC files, or of all WARC files in the archive if none are
    given.

    Raises ConfigurationError for a WARC file that is not in the archive.
    """
    if not names:
        yield from files.iter_names()
        return
    for word in names:
        name = word.rpartition("/")[2]
        if files.inspect(name) is None:
            message = format_unknown_name("WARC of this library", name, files.iter_names())
            raise ConfigurationError(f"No file {word!r}, and {message}")
        yield name


def iter_chosen_files(files: WarcArchive, paths: Sequence[str]) -> Iterator[str]:
    """Yield the WARC files to verify: names in the archive, and absolute paths of other files.

    A folder yields all WARC and ARC files in it, sorted. Without paths, yields the whole archive.
    Raises ConfigurationError for a path that does not exist and is not in the archive.
    """
    if not paths:
        yield from files.iter_names()
    for word in paths:
        path = Path(word)
        if path.is_dir():
            files_found = (file for file in path.rglob("*") if file.name.lower().endswith(ENDINGS))
            yield from (str(file.absolute()) for file in sorted(files_found) if file.is_file())
        elif path.exists():
            yield str(path.absolute())
        else:
            yield from iter_named_files(files, [word])


REPORT_EVERY_S = 10.0
FAULTS_MAX = 50


class WarcAnswer(msgspec.Struct, frozen=True, rename={"first": "from", "last": "to"}):
    """JSON answer: a WARC file in the archive of the library."""

    warc_path: Annotated[str, Meta(description="name of the WARC")]
    size_bytes: Annotated[int | None, Meta(description="size; null if the file is gone")]
    captures: Annotated[int | None, Meta(description="number of captures; null without an index")]
    first: Annotated[str | None, Meta(description="time of the first capture, 14 digits")]
    last: Annotated[str | None, Meta(description="time of the last capture, 14 digits")]
    state: Annotated[
        str, Meta(description="open, finished, waiting (to be uploaded), without index, gone")
    ]


class FaultAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a fault in a WARC file.

    - `offset`: offset of the record in bytes; null for a fault of the whole file.
    - `message`: description of the fault.
    """

    offset: int | None
    message: str


class WarcReportAnswer(msgspec.Struct, frozen=True):
    """JSON answer: the report on a WARC file that was read to its end."""

    warc_path: Annotated[str, Meta(description="name or path")]
    size_bytes: Annotated[int | None, Meta(description="size; null if the file is gone")]
    is_open: Annotated[bool, Meta(description="whether it is still being written")]
    records: Annotated[Mapping[str, int], Meta(description="records by type")]
    digests: Annotated[int, Meta(description="digests that were checked")]
    unchecked: Annotated[int, Meta(description="digests with an unknown algorithm")]
    faults_total: Annotated[int, Meta(description="number of faults")]
    faults: Annotated[Sequence[FaultAnswer], Meta(description="the faults, at most 1,000")]


class IndexAnswer(msgspec.Struct, frozen=True):
    """JSON answer: whether rebuilding the index of a WARC file changed it."""

    warc_path: Annotated[str, Meta(description="name of the WARC")]
    index: Annotated[str, Meta(description="`changed`, `as it was`, `open`, or why it failed")]


class UploadAnswer(msgspec.Struct, frozen=True):
    """JSON answer: the WARC files that were uploaded, and those that were not."""

    sent: Annotated[Mapping[str, int], Meta(description="bytes of the uploaded files, by name")]
    not_uploaded: Annotated[
        Mapping[str, int],
        Meta(description="bytes of the files that could not be uploaded, by name"),
    ]


@click.group("archive", cls=CommandGroup)
@click.pass_context
def archive(ctx: click.Context, /, **flags: Any) -> None:
    """Manage the library's WARC files.

    \b
    fonds archive list
    fonds archive verify
    fonds archive extract https://example.org/page -o page.html
    fonds archive reindex
    fonds archive upload
    """
    ctx.obj = ctx.obj.with_flags(**flags)


archive.params += build_global_options()


@command("list", answers={"one for each WARC file of the library": WarcAnswer})
@click.argument("names", nargs=-1, metavar="[WARC…]")
def list_(app: App, names: tuple[str, ...]) -> int:
    """List the library's WARC files with size, dates and state.

    State `open` means the file is being written or was left open. State `waiting` means it is to be
    uploaded to the bucket.

    \b
    fonds archive list
    fonds archive list --json | jq -r 'select(.state == "waiting") | .warc'
    """
    files = open_files(app)
    unsent = files.list_unsent()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("WARC", no_wrap=True)
    for title in ("Bytes", "Captures", "From", "To", "State"):
        table.add_column(title, justify="right" if title in ("Bytes", "Captures") else "left")
    count = size_bytes = captures = 0
    for name in iter_named_files(files, names):
        description = _describe_file(files, name, name in unsent)
        count, size_bytes = count + 1, size_bytes + (description.size_bytes or 0)
        captures += description.captures or 0
        if app.is_json:
            echo_json(description)
        else:
            cells = (description.size_bytes, description.captures)
            shown_cells = ("" if cell is None else f"{cell:,}" for cell in cells)
            table.add_row(
                name,
                *shown_cells,
                description.first or "",
                description.last or "",
                description.state,
            )
    if not app.is_json and count:
        screen = open_console()
        screen.width = max(screen.width, 160)
        screen.print(table, crop=False)
    if not app.is_json:
        of_ours = f"{pluralize(count, 'WARC file')} in the library, {pluralize(size_bytes, 'byte')}"
        open_console().print(f"{of_ours}, {pluralize(captures, 'capture')}.")
    return 0


def _describe_file(files: WarcArchive, name: str, is_waiting: bool) -> WarcAnswer:
    file_state = files.inspect(name)
    if file_state is None:
        # The file was moved or removed since its name was listed.
        return WarcAnswer(name, None, None, None, None, "gone")
    times = sorted(record.datetime14 for record in file_state.records or ())
    state = (
        "open"
        if file_state.is_open
        else "without index"
        if file_state.records is None
        else "finished"
    )
    return WarcAnswer(
        name,
        file_state.size_bytes,
        None if file_state.records is None else len(file_state.records),
        times[0] if times else None,
        times[-1] if times else None,
        "waiting" if is_waiting else state,
    )


@command("verify", answers={"one for each file": WarcReportAnswer})
@click.argument("paths", nargs=-1, metavar="[WARC|PATH…]")
def verify(app: App, paths: tuple[str, ...]) -> int:
    """Check the records of WARC files.

    Every record is read to check its framing, lengths and digests.

    For the library's own files, also check that each metadata record follows the record it belongs
    to, and that the CDXJ matches the records. Without arguments, verify all of them. A path may be
    any WARC or ARC file, or a folder of them, and needs no library. The exit code is 1 if any fault
    is found.

    \b
    fonds archive verify
    fonds archive verify crawl.warc.gz other/
    fonds archive verify --json | jq .faults
    """
    # Imported here because the audit is slow to import.
    from fonds.audit.warcs import verify as read_through

    files = open_files(app, is_required=not paths)
    chosen_names = list(iter_chosen_files(files, paths))
    progress = _ProgressReporter(app, len(chosen_names))
    reports = []
    for number, path in enumerate(chosen_names):
        progress.begin(number, path)
        reports.append(read_through(files, path, progress.tick))
        if app.is_json:
            echo_json(_build_answer(reports[-1]))
    if not app.is_json:
        _print_reports(reports)
    return 1 if any(report.fault_count for report in reports) else 0


def _build_answer(report: WarcReport) -> WarcReportAnswer:
    return WarcReportAnswer(
        report.path,
        report.size_bytes,
        report.is_open,
        dict(report.records),
        report.matching_digest_count,
        report.unchecked_digest_count,
        report.fault_count,
        [FaultAnswer(fault.offset, fault.message) for fault in report.faults],
    )


def _print_reports(reports: Sequence[WarcReport]) -> None:
    screen = open_console()
    for warc_report in reports:
        for fault in warc_report.faults[:FAULTS_MAX]:
            offset_text = _format_offset(fault.offset)
            screen.print(
                f"[red]fault[/red] {escape(warc_report.path)}{offset_text}: {escape(fault.message)}"
            )
        if (more_count := warc_report.fault_count - len(warc_report.faults[:FAULTS_MAX])) > 0:
            screen.print(
                f"… and {more_count:,} more in {escape(warc_report.path)}; --json lists a thousand"
            )
        if warc_report.unchecked_digest_count:
            screen.print(
                f"{escape(warc_report.path)}: {warc_report.unchecked_digest_count:,} digests have an unknown "
                "algorithm and were not checked"
            )
    wrong = sum(report.fault_count for report in reports)
    records = sum(report.records.total() for report in reports)
    digests = sum(report.matching_digest_count for report in reports)
    verdict = "No faults found." if not wrong else f"{wrong:,} fault{'s' * (wrong > 1)}."
    screen.print(
        f"{pluralize(len(reports), 'WARC file')}, {pluralize(records, 'record')}, "
        f"{pluralize(digests, 'digest')} correct. [bold]{verdict}[/bold]"
    )


def _format_offset(offset: int | None) -> str:
    """Return the text for the offset of a fault in a WARC file; empty if the fault has none."""
    return "" if offset is None else f" at {describe_offset(offset)}"


class _ProgressReporter:
    """Prints the progress of reading WARC files every ten seconds, on a terminal or not.

    It prints nothing if the App has `--quiet` or `--json`. `count` is the number of files to read.
    """

    def __init__(self, app: App, count: int) -> None:
        self._silent = app.is_quiet or app.is_json
        self._count = count
        self._reported_s = time.monotonic()
        self._current = ""

    def begin(self, number: int, path: str) -> None:
        """Start to report on the next WARC file; `number` counts from 0."""
        self._current = f"file {number + 1:,} of {self._count:,}, {path}"
        self.tick(0)

    def tick(self, read_bytes: int) -> None:
        """Report the number of bytes read of the current WARC file, if a report is due."""
        if not self._silent and time.monotonic() - self._reported_s >= REPORT_EVERY_S:
            self._reported_s = time.monotonic()
            sys.stderr.write(f"{self._current}: {read_bytes / 1e6:,.0f} MB read\n")


@command("reindex", answers={"one for each file": IndexAnswer})
@click.argument("names", nargs=-1, metavar="[WARC…]")
def reindex(app: App, names: tuple[str, ...]) -> int:
    """Rebuild the CDXJ indexes of the library's WARC files.

    Without names, rebuild all of them. Files that are being written are skipped. Files in a bucket
    are downloaded, and uploaded again with their index. The exit code is 1 if a file could not be
    indexed. To rebuild the full-text index, use `fonds reindex`.

    \b
    fonds archive reindex
    fonds archive reindex fonds-20260101000000-00000-host-0a1b2c3d.warc.gz
    """
    files = open_files(app)
    changed_count = same_count = failed_count = 0
    chosen_names = list(iter_named_files(files, names))
    progress = _ProgressReporter(app, len(chosen_names))
    for number, name in enumerate(chosen_names):
        progress.begin(number, name)
        outcome = _reindex_file(files, name)
        changed_count, same_count = (
            changed_count + (outcome == "changed"),
            same_count + (outcome == "as it was"),
        )
        failed_count += outcome not in ("changed", "as it was", "open")
        if app.is_json:
            echo_json(IndexAnswer(name, outcome))
        elif outcome != "as it was":
            open_console().print(f"{escape(name)}: {escape(outcome)}")
    files.finish()
    if not app.is_json:
        remaining_count = len(chosen_names) - changed_count - same_count - failed_count
        still = (
            f", {remaining_count:,} skipped because they are still being written"
            if remaining_count
            else ""
        )
        open_console().print(
            f"Indexes: {changed_count:,} changed, {same_count:,} unchanged, {failed_count:,} failed{still}."
        )
    return 1 if failed_count else 0


def _reindex_file(files: WarcArchive, name: str) -> str:
    report_before = files.inspect(name)
    if report_before is None:
        return "gone"
    if report_before.is_open:
        return "open"
    report_after = files.inspect(name, repair=True)
    if report_after is None or report_after.records is None:
        return "could not be built"
    return "as it was" if report_before.records == report_after.records else "changed"


@command("upload", answers={"one": UploadAnswer})
def upload(app: App) -> int:
    """Upload finished WARC files to the bucket.

    Uploaded files are read back to verify them, and the local copies are deleted.

    Only for archives in `s3://…`. Workers also do this on their own when a file is full. Files that
    are being written stay. The exit code is 1 if a file could not be uploaded; it is then kept
    here, complete.

    \b
    fonds archive upload
    """
    if not app.load_settings().archive.startswith("s3:"):
        raise ConfigurationError(
            "The archive is a folder on this computer, so there is nothing to upload. "
            "Only archives in s3:// upload their files."
        )
    files = open_files(app)
    waiting_files = files.list_unsent()
    with _report_upload(app, lambda: sum(files.list_unsent().values())):
        files.finish()
    unsent = files.list_unsent()
    sent_sizes = {name: size for name, size in waiting_files.items() if name not in unsent}
    if app.is_json:
        echo_json(UploadAnswer(sent_sizes, unsent))
    else:
        for name, size_bytes in unsent.items():
            print_note(f"{name} was not uploaded and stays here ({size_bytes:,} bytes)")
        total = sum(sent_sizes.values())
        open_console().print(
            f"{pluralize(len(sent_sizes), 'WARC file')} uploaded and verified, {total:,} bytes; "
            f"{len(unsent):,} left."
        )
    return 1 if unsent else 0


@contextmanager
def _report_upload(app: App, unsent_bytes: Callable[[], int]) -> Iterator[None]:
    """Context manager that prints the remaining size of an upload every ten seconds."""
    stop_event = threading.Event()

    def tell() -> None:
        while not stop_event.wait(REPORT_EVERY_S):
            sys.stderr.write(f"{unsent_bytes() / 1000000.0:,.0f} MB left to upload\n")

    teller = threading.Thread(target=tell, daemon=True)
    if not (app.is_quiet or app.is_json):
        teller.start()
    try:
        yield
    finally:
        stop_event.set()


for one in (list_, verify, extract, reindex, upload):
    archive.add_command(one)
