"""A home with its crawl, and functions that damage it without using the ports."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fonds.config import load_settings
from fonds.ports import Stores
from fonds.stores.journal_table.cells import BIB_QUALITY, F_C, FILE_CDX
from fonds.wiring.stores import close_stores, open_stores
from home_texts import flip_bit_of


@dataclass(frozen=True, slots=True)
class World:
    """A home and the crawl that it was built from."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def crawl(self) -> Path:
        return self.root / "crawl"

    def sql(self, statement: str, *values: object, store: str = "records") -> list[Any]:
        """Run SQL directly on a database of the home, without the ports."""
        connection = sqlite3.connect(self.home / f"{store}.sqlite")
        try:
            with connection:
                return connection.execute(statement, values).fetchall()
        finally:
            connection.close()

    def get_value(self, statement: str, *values: object) -> Any:
        """Return the first value of the first row; fail if there is no row."""
        (row, *_) = self.sql(statement, *values)
        return row[0]

    @contextmanager
    def stores(self) -> Iterator[Stores]:
        stores = open_stores(self.home, load_settings(self.home, {}))
        try:
            yield stores
        finally:
            close_stores(stores)

    def recount(self) -> None:
        """Make the counts agree with changed ledger rows."""
        with self.stores() as stores:
            stores.ledger.recount(repair=True)

    @property
    def pdf(self) -> str:
        """A PDF with text and thumbnail."""
        return str(
            self.get_value(
                "select sha1hex from pdf_meta where has_page0_thumbnail and word_count > 0"
            )
        )

    @property
    def signed_page(self) -> str:
        """A page long enough to have a signature, and so bands."""
        return str(self.get_value("select lower(hex(min(sha1hex))) from text_band"))

    @property
    def story(self) -> str:
        """A page that is the only version of its story, from a capture in an external WARC."""
        return str(
            self.get_value(
                "select s.sha1hex from story_meta s join cdx c using (sha1hex)"
                " where c.warc_path like '%/%' and (select count(*) from story_meta t"
                " where t.story_id = s.story_id) = 1 order by s.sha1hex"
            )
        )

    @property
    def archived_page(self) -> str:
        """A page whose first capture lies in a WARC of the archive."""
        return str(
            self.get_value(
                "select f.sha1hex from file_meta f join cdx c using (sha1hex, capture_id)"
                " where c.warc_path not like '%/%' order by f.sha1hex"
            )
        )

    @property
    def warc(self) -> Path:
        """The largest WARC of the archive."""
        paths = (self.home / "archive").glob("*.warc.gz")
        return max(paths, key=lambda path: path.stat().st_size)

    @property
    def source(self) -> Path:
        """The WARC of the crawl that most rows refer to."""
        path = self.get_value(
            "select w.path from cdx c join warc_files w on w.name = c.warc_path"
            " group by 1 order by count(*) desc"
        )
        return Path(path)

    def blob(self, key: str) -> Path:
        """Return the file of a blob that is not a small text."""
        return self.home / "blobs" / key


Act = Callable[[World], None]


@dataclass(frozen=True, slots=True)
class Damage:
    """An act of damage and the fault the audit must report.

    `deep` means that only the deep audit finds it. `lost` is what the audit still reports after
    repair. `adds_nothing` means that a repair that cannot restore it must not add rows.
    """

    name: str
    act: Act
    fault: str
    deep: bool = False
    lost: str = ""
    adds_nothing: bool = False


def remove_path(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def halve(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def flip_bit(path: Path, at: float = 0.5) -> None:
    path.write_bytes(flip_bit_of(path.read_bytes(), at))


def fill_with_zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def flip_record_bit(world: World) -> None:
    """Flip a bit in the middle of an archived record with a body."""
    path = world.warc
    (offset, size), *_ = world.sql(
        "select warc_offset, warc_csize from cdx where warc_path = ? and mimetype != 'warc/revisit'",
        path.name,
    )
    data = bytearray(path.read_bytes())
    data[offset + size // 2] ^= 0x10
    path.write_bytes(bytes(data))


def remove_cdxj_line(world: World) -> None:
    index = world.warc.with_name(world.warc.name.replace(".warc.gz", ".cdxj"))
    index.write_text("".join(index.read_text().splitlines(keepends=True)[1:]))


def change_cdxj_status(world: World) -> None:
    index = get_cdxj_path(world)
    index.write_text(index.read_text().replace('"mime"', '"status":"404","mime"', 1))


def get_cdxj_path(world: World) -> Path:
    return world.warc.with_name(world.warc.name.replace(".warc.gz", ".cdxj"))


def sql(statement: str, *values: Callable[[World], object]) -> Act:
    return lambda world: (world.sql(statement, *(value(world) for value in values)), None)[1]


def change_dispositions(*statements: str) -> Act:
    """Change dispositions by SQL and make the counts agree."""

    def act(world: World) -> None:
        for statement in statements:
            changed_rows = world.sql(f"{statement} returning 1")
            assert changed_rows, statement
        world.recount()

    return act


def select_page_entry() -> str:
    """Return the SQL for the entry of a page that owns its file."""
    return "(select capture_id from file_meta join story_meta using (sha1hex) order by sha1hex limit 1)"


def remove_index_input(world: World) -> None:
    """Delete the row of an index in `inputs`, and the index."""
    world.sql("delete from inputs where path like '%/captures.cdx'")
    (world.crawl / "indexed" / "captures.cdx").unlink()


def move_source_and_change_its_path(world: World) -> None:
    source = world.source
    world.sql("update inputs set path = path || 'X' where path = ?", str(source))
    source.unlink()


def add_entry(world: World) -> None:
    """Add an entry that the input does not contain."""
    columns = [name for (name,) in world.sql("select name from pragma_table_info('entries')")]
    values = ", ".join("entry_id || 'X'" if name == "entry_id" else name for name in columns)
    world.sql(
        f"insert into entries select {values} from entries"
        f" where entry_id = (select capture_id from cdx where sha1hex = '{world.story}')"
    )


def change_capture_ids(world: World) -> None:
    """Change the id of a page's primary capture wherever it is but in the ledger."""
    for table in ("cdx", "file_meta"):
        world.sql(
            f"update {table} set capture_id = capture_id || 'X' where sha1hex = ?",
            world.story,
        )


def set_verdict(verdict: str, reason: str, step: str, *more_statements: str) -> Act:
    """Change the verdict of a page at one step and make the counts agree."""
    return change_dispositions(
        f"update dispositions set verdict = '{verdict}', reason = '{reason}'"
        f" where step = '{step}' and entry_id = {select_page_entry()}",
        *more_statements,
    )


def change_cell(
    change: Callable[[dict[str, Any]], object], column: str, *, is_archived: bool = False
) -> Act:
    """Change the JSON in a cell of a page: in an external WARC, or in the archive if `is_archived`."""

    def act(world: World) -> None:
        with world.stores() as stores:
            key = bytes.fromhex(world.archived_page if is_archived else world.story)
            cells = stores.table.get(stores.journal, [key])[key]
            value = change(json.loads(cells[column]))
            stores.table.put(stores.journal, [(key, {column: json.dumps(value).encode()})])

    return act


def change_paper_cell(world: World) -> None:
    with world.stores() as stores:
        key = bytes.fromhex(world.pdf)
        stores.table.put(stores.journal, [(key, {BIB_QUALITY: b"altered"})])


def remove_cdx_cell(world: World) -> None:
    put_row(world, lambda cells: {k: v for k, v in cells.items() if k != FILE_CDX})


def write_junk_f_c(world: World) -> None:
    put_row(world, lambda cells: {**cells, F_C: b"\xff junk"})


def put_row(world: World, change: Callable[[dict[str, bytes]], dict[str, bytes]]) -> None:
    with world.stores() as stores:
        key = bytes.fromhex(world.story)
        cells = stores.table.get(stores.journal, [key])[key]
        stores.table.delete(stores.journal, [key])
        stores.table.put(stores.journal, [(key, change(cells))])


def remove_table_row(world: World) -> None:
    with world.stores() as stores:
        stores.table.delete(stores.journal, [bytes.fromhex(world.story)])


def change_document(change: Callable[[Any], Any] | None, of_pdf: bool = False) -> Act:
    def act(world: World) -> None:
        key = (
            world.pdf
            if of_pdf
            else world.get_value("select story_id from story_meta where sha1hex = ?", world.story)
        )
        with world.stores() as stores:
            value = stores.index.get([key])[key]
            stores.index.delete([key])
            if change is not None:
                stores.index.put([change(value)])

    return act


def add_stray_document(world: World) -> None:
    with world.stores() as stores:
        document = stores.index.get([world.pdf])[world.pdf]
        stores.index.put([replace(document, id="f" * 40, sha1hex="f" * 40)])


def damage_index_store(world: World) -> None:
    for path in (world.home / "index").glob("*.store"):
        data = bytearray(path.read_bytes())
        for at in range(16, len(data) // 2, 97):
            data[at] ^= 0xFF
        path.write_bytes(bytes(data))


def overwrite_records(world: World) -> None:
    path = world.home / "records.sqlite"
    with path.open("r+b") as stream:
        stream.seek(4096)
        stream.write(b"\xa5" * 65536)


def remove_database(name: str) -> Act:
    def act(world: World) -> None:
        for path in world.home.glob(f"{name}.sqlite*"):
            path.unlink()

    return act


def remove_from_quarantine(world: World) -> None:
    rows = world.sql(
        "delete from waiting where (seq, address) in (select seq, address from waiting join addresses"
        " using (address) where name like '%-quar' limit 1) returning seq",
        store="queue",
    )
    assert rows
