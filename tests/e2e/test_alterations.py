"""The audit notices an alteration of each column of each store, or `docs/audit.md` says why not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from alterations import Alteration, list_alterations, list_empty_tables
from complete_home import fill_complete_home
from damaged_world import World
from e2e.running import ROOT
from fonds.audit.audit import run_audit
from fonds.audit.bodies import DeepAudit
from fonds.audit.fault import AuditFault
from fonds.config import load_settings
from fonds.model.errors import FondsError
from fonds.ports import Stores
from fonds.wiring.catalog import find_catalog
from fonds.wiring.collections import find_collection_writer
from fonds.wiring.pipeline_names import list_used_readers
from wrong_types import RefusedError, list_wrong_types

CLOCK = "a time that is recorded once"
OPERATION = "state of operation, which processes replace all the time"
ONE_COPY = "nothing else has it"
UNCOMPARED = "another store has it, but the audit does not compare the two"

UNNOTICED_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "blobs embargoed": {UNCOMPARED: "json.(row) json.content"},
    "index documents": {
        CLOCK: "indexed_date",
        UNCOMPARED: "collection earlier_left_out has_thumbnail",
    },
    "queue addresses": {OPERATION: "(row) address name pipeline returns_to topic"},
    "queue contents": {ONE_COPY: "(row) attempt body headers id key seq"},
    "queue topics": {OPERATION: "(row) topic"},
    "queue waiting": {OPERATION: "id owner ready_at redelivered seq"},
    "records capture_rights": {
        CLOCK: "updated",
        UNCOMPARED: "robots_answer robots_capture_id robots_rule robots_url",
    },
    "records cdx": {CLOCK: "row_created"},
    "records citations": {
        CLOCK: "updated",
        UNCOMPARED: "doi number printed_doi reason reference score work",
    },
    "records deep_audits": {
        OPERATION: "(row) checked finished found last_key name started updated"
    },
    "records dispositions": {
        OPERATION: "attempt next_attempt_at",
        UNCOMPARED: "about message_id",
    },
    "records entries": {
        ONE_COPY: "collection kind seen url",
        UNCOMPARED: "about",
    },
    "records fetched": {
        ONE_COPY: "address etag fetched final_url in_spool last_modified mime"
        " redirects status tls tls_check url"
    },
    "records file_meta": {CLOCK: "row_created"},
    "records host_captures": {
        UNCOMPARED: "(row) capture_id captured_at crawler is_fetched origin sha1hex target"
    },
    "records paces": {
        OPERATION: "(row) domain lease_holder lease_version paces requested_at requested_by updated"
    },
    "records takedowns": {OPERATION: "rest"},
    "records tdmrep_answers": {OPERATION: "(row) answer capture_id origin requested_at"},
    "table changes": {OPERATION: "(row) main:ids"},
    "table clusterings": {OPERATION: "main:done main:moved main:stage main:total"},
    "table collections": {
        CLOCK: "main:collected",
        OPERATION: "main:configuration:*:building main:configuration:*:processed"
        " main:configuration:*:settled main:sequence",
    },
}
"""Columns whose alteration no audit notices, by table and by reason. `docs/audit.md` lists the tables."""
UNNOTICED = {
    f"{table}.{column}"
    for table, columns in UNNOTICED_COLUMNS.items()
    for names in columns.values()
    for column in names.split()
}
EMPTY: Mapping[str, str] = {
    "queue owners": "only while a process reads messages",
    "records address_uses": "only while processes share the address of a host",
    "records crawler_counts": "only after an index with counts of a crawler was imported",
    "records decisions": "only after a decision on the web pages; the table is sealed",
    "records faults": "only after a deep audit found a fault",
    "records lease": "only while a process holds a lease",
    "records stopped": "only after a PDF made its reader crash",
    "records workers": "only while processes run",
    "table readings": "only while Spark reads the texts of a collection",
}
"""Tables that this home cannot fill, and when they have rows. Nothing checks them, except sealed ones."""


UNREAD: Mapping[str, str] = {
    "records dispositions.detail": "free text, which is read only of failures",
    "records fonds_schema_revision.version_num": "read only when the home is opened",
    "records fetched.capture_id": "the fetch of a robots.txt, which no entry names",
    "table cells.number": "the cell is then part of no table, as after its removal",
}
"""Columns whose alteration by a value of another type no audit notices, although they have no names
in `UNNOTICED_COLUMNS`, and the reason."""


class Noticed(Exception):
    """The audit found a fault, so that it need not continue."""


def raise_noticed(fault: AuditFault) -> None:
    raise Noticed(fault.message)


def find_fault(world: World, stores: Stores, *, is_deep: bool = True) -> str | None:
    """Return the first fault of the audit, or else of the deep audit; None if both are silent."""
    settings = load_settings(world.home, {})
    try:
        pipelines = list_used_readers(stores.records, stores.queue, settings)
        collections = find_collection_writer(stores, settings)
        catalog = find_catalog(stores, settings) if is_deep else None
        run_audit(stores, pipelines, raise_noticed, collections, catalog)
        if not is_deep:
            return None
        DeepAudit(stores, lambda: datetime.now(UTC), lambda: False).run(None, lambda _: None)
    except (Noticed, FondsError) as error:
        return str(error)
    found = world.sql("select message from faults")
    if found:
        world.sql("delete from faults")
    return found[0][0] if found else None


@dataclass
class Results:
    """What the audit said about each alteration, by the name of the alteration."""

    faults: dict[str, str] = field(default_factory=dict)
    unnoticed: set[str] = field(default_factory=set)
    errors: dict[str, str] = field(default_factory=dict)

    def try_alteration(
        self, world: World, stores: Stores | None, alteration: Alteration, *, is_deep: bool = True
    ) -> None:
        with alteration.alter():
            try:
                with open_if_needed(world, stores) as open_stores:
                    fault = find_fault(world, open_stores, is_deep=is_deep)
            except FondsError as error:
                fault = str(error)
            except Exception as error:  # noqa: BLE001 (any other error is a bug)
                self.errors[alteration.name] = repr(error)
                return
        if fault is None:
            self.unnoticed.add(alteration.name)
        else:
            self.faults[alteration.name] = fault


@contextmanager
def open_if_needed(world: World, stores: Stores | None) -> Iterator[Stores]:
    if stores is not None:
        yield stores
        return
    with world.stores() as new_stores:
        yield new_stores


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("alterations")
    fill_complete_home(folder)
    return World(folder)


@pytest.fixture(scope="module")
def results(world: World) -> Results:
    results = Results()
    with world.stores() as stores:
        alterations = list_alterations(world.home, stores)
        assert find_fault(world, stores) is None
        for alteration in alterations:
            if not alteration.is_structural:
                results.try_alteration(world, stores, alteration)
        assert find_fault(world, stores) is None
    for alteration in alterations:
        if alteration.is_structural:
            results.try_alteration(world, None, alteration)
    with world.stores() as stores:
        assert find_fault(world, stores) is None
    return results


@pytest.fixture(scope="module")
def type_results(world: World, results: Results) -> Results:
    """What the audit says about values of another type. The deep audit is expensive, so that it
    does not look for values that it cannot notice.
    """
    type_results = Results()
    with world.stores() as stores:
        for alteration in list_wrong_types(world.home):
            with suppress(RefusedError):
                type_results.try_alteration(
                    world,
                    None if alteration.is_structural else stores,
                    alteration,
                    is_deep=alteration.name not in UNNOTICED,
                )
        assert find_fault(world, stores) is None
    return type_results


def test_no_value_of_another_type_causes_a_traceback(type_results: Results) -> None:
    assert type_results.errors == {}


def test_each_value_of_another_type_is_noticed_or_declared(type_results: Results) -> None:
    undeclared = type_results.unnoticed - UNNOTICED - {*UNREAD}
    assert not undeclared, f"nothing notices: {', '.join(sorted(undeclared))}"


def test_the_message_names_table_row_and_column_of_a_damaged_value(type_results: Results) -> None:
    message = type_results.faults["records pdf_meta.word_count"]
    assert "column word_count of the table pdf_meta" in message
    assert "sha1hex=" in message
    assert "Restore the records from a backup." in message


def test_no_alteration_causes_a_traceback(results: Results) -> None:
    assert results.errors == {}


def test_each_alteration_is_noticed_or_declared(results: Results) -> None:
    n_altered = len(results.faults) + len(results.unnoticed)
    noticed, declared = len(results.faults), len(UNNOTICED)
    sys.stdout.write(f"{n_altered} alterations: {noticed} noticed, {declared} declared\n")
    undeclared, outdated = results.unnoticed - UNNOTICED, UNNOTICED - results.unnoticed
    assert not undeclared, f"nothing notices: {', '.join(sorted(undeclared))}"
    assert not outdated, f"declared, but noticed: {', '.join(sorted(outdated))}"


def test_each_table_has_rows_or_a_reason(world: World) -> None:
    assert list_empty_tables(world.home) == {*EMPTY}


def test_the_documentation_lists_what_no_audit_notices() -> None:
    page = (ROOT / "docs" / "audit.md").read_text()
    section = page.partition("## Undetectable changes")[2]
    tables = {table.rpartition(" ")[2] for table in [*UNNOTICED_COLUMNS, *EMPTY]}
    assert [table for table in sorted(tables) if f"`{table}`" not in section] == []
