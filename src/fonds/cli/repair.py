"""`fonds repair`: rebuild what the audit found missing, from the data that is left."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import click
from msgspec import Meta
from rich.console import Console
from rich.markup import escape

from fonds.audit.audit import AuditReport, AuditResult, build_report, run_audit
from fonds.audit.fault import AuditFault, RepairAct
from fonds.audit.repair.cleanup import raise_if_emptied, recover
from fonds.audit.repair.context import RepairContext
from fonds.audit.repair.derivatives import rebuild_derivatives
from fonds.audit.repair.entries import resend_entries
from fonds.audit.repair.plan import RepairPlan
from fonds.audit.repair.repair import ROUNDS_MAX, RepairRound
from fonds.cli.acts import record_act
from fonds.cli.audit import print_audit, run_deep_audit, stop_on_signals
from fonds.cli.context import (
    SPOOL,
    App,
    command,
    echo_json,
    open_console,
    pipeline_option,
    print_note,
)
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.pipeline_run import EXIT_INTERRUPTED, exit_immediately, run_to_end
from fonds.cli.reindex import rebuild_index
from fonds.config import Settings
from fonds.derivatives.kind import DerivativeKind
from fonds.derivatives.kinds import KINDS
from fonds.extract.mime import describe
from fonds.grouping.tables import COLLECTIONS
from fonds.ingest.catch_up import CatchUpSelection
from fonds.model.encoding import pluralize
from fonds.model.message import Subscription
from fonds.model.rows import InputRow, Row
from fonds.model.suggestions import format_unknown_name
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.pipelines.runtime.intake import Intake, IntakeCounts
from fonds.ports import Source, Stores
from fonds.stores.home_lock import HomeLock
from fonds.stores.records.seals import SEALED
from fonds.wiring.catalog import find_catalog
from fonds.wiring.collections import find_collection_writer, open_collection_writer
from fonds.wiring.flavours import list_readers
from fonds.wiring.pipeline_names import list_used_readers
from fonds.wiring.stores import close_stores, get_utc_now

ACT_LABELS = {
    RepairAct.PLACE: "places recorded again",
    RepairAct.BODY: "bodies archived again from another copy",
    RepairAct.FILE: "files described again",
    RepairAct.ENTRY: "entries recorded again",
    RepairAct.INPUT: "inputs counted again",
    RepairAct.SEND: "entries processed again",
    RepairAct.READ: "files read again",
    RepairAct.END: "dispositions recorded again from the stores",
    RepairAct.INDEX: "documents indexed again",
    RepairAct.TABLE: "table rows written again",
    RepairAct.CDXJ: "WARC indexes rebuilt",
    RepairAct.COUNT: "counts recomputed",
    RepairAct.COLLECTION: "collections repaired",
    None: "beyond repair",
}


RepairAnswer = define_answer(
    "RepairAnswer",
    AuditReport,
    acts=Annotated[int, Meta(description="number of repairs made")],
    lost=Annotated[Sequence[str], Meta(description="what could not be restored")],
)
"""JSON answer: the report of the audit after a repair."""

RepairPlanAnswer = define_answer(
    "RepairPlanAnswer",
    AuditReport,
    repairs=Annotated[
        Mapping[str, int],
        Meta(description="number of repairs to make, by kind; `none` for what is beyond repair"),
    ],
)
"""JSON answer: the report of an audit, with the repairs that would be made."""


@command(
    "repair", answers={"one, with --yes": RepairAnswer, "one, without --yes": RepairPlanAnswer}
)
@click.option("--yes", is_flag=True, help="Make the repairs; without it, only show them.")
@click.option(
    "--deep", is_flag=True, help="First read and hash everything, as `fonds audit --deep` does."
)
@click.option(
    "--accept",
    "accepted_table",
    metavar="TABLE",
    help="Accept the rows of a table that another program changed as they are now, after you have "
    "checked them. Repairs nothing else.",
)
@pipeline_option
def repair(app: App, yes: bool, deep: bool, accepted_table: str | None, **flags: Any) -> int:
    """Rebuild missing or altered data from the remaining data.

    Without --yes, only shows what would be done. Bodies are fetched from wherever else they are
    stored. Derivatives are made by reading the bodies again. Rows are restored from the table and
    the other way round. Index, table, CDXJ and counts follow. Every action is recorded in the
    ledger at the step `repair`, and pending messages are processed.

    No other command may work on the home at the same time. If interrupted, run it again. The exit
    code is 0 if everything adds up in the end. It is 1 if something could not be restored; it is
    named.

    \b
    fonds repair
    fonds repair --yes
    fonds repair --deep --yes
    fonds repair --accept access_keys --yes
    """
    settings = app.load_settings(**flags)
    stores = app.open_stores(settings)
    if accepted_table is not None:
        return _accept_table(app, settings, stores, accepted_table, is_confirmed=yes)
    if not yes:
        return _plan_repair(app, settings, stores, flags["pipeline"], deep)

    with HomeLock(app.home) as lock:
        raise_if_emptied(stores)
        if deep:
            with stop_on_signals() as stop_event:
                run_deep_audit(app, stores, None, stop_event)
            if stop_event.is_set():
                return EXIT_INTERRUPTED
        repair_run = _RepairRun(app, settings, stores, lock, flags["pipeline"])
        result = repair_run.run()
        close_stores(repair_run.stores)
    if result is None:
        return EXIT_INTERRUPTED
    if app.is_json:
        report, lost_reasons = build_report(result), sorted(repair_run.lost.values())
        echo_json(build_answer(RepairAnswer, report, acts=repair_run.done, lost=lost_reasons))
        return 0 if result.is_balanced else 1
    screen = open_console()
    print_audit(screen, result)
    screen.print(f"{repair_run.done:,} repairs made.")
    return 0 if result.is_balanced else 1


def _accept_table(
    app: App, settings: Settings, stores: Stores, table: str, *, is_confirmed: bool
) -> int:
    """Accept the rows of a table as they are now, if confirmed. Return the exit code.

    Raises click.UsageError for a table without a seal.
    """
    kinds: dict[str, type[Row]] = {kind.TABLE: kind for kind in SEALED}
    kinds[InputRow.TABLE] = InputRow
    if table == COLLECTIONS:
        return _accept_collections(app, settings, stores, is_confirmed=is_confirmed)
    if table not in kinds:
        message = format_unknown_name("sealed table", table, sorted([*kinds, COLLECTIONS]))
        raise click.UsageError(message)
    count = pluralize(stores.records.count(kinds[table]).get((), 0), "row")
    if not is_confirmed:
        print_note(
            f"{table} has {count}. Check them, then run "
            f"{app.format_command(f'repair --accept {table} --yes')}"
        )
        return 1
    with HomeLock(app.home), record_act(stores.records, f"fonds repair --accept {table}"):
        stores.ledger.accept_rows(kinds[table])
    print_note(f"{table}: accepted {count}")
    return 0


def _accept_collections(app: App, settings: Settings, stores: Stores, *, is_confirmed: bool) -> int:
    """Accept the rows of all collections and configurations as they are now, if confirmed. Return
    the exit code.
    """
    # Imported here because the numerical libraries load slowly.
    from fonds.grouping.checks.unconfirmed_rows import accept_rows

    if not is_confirmed:
        print_note(
            "Check the collections that `fonds audit` names, then run "
            f"{app.format_command(f'repair --accept {COLLECTIONS} --yes')}"
        )
        return 1
    writer = open_collection_writer(stores, settings)
    with HomeLock(app.home), record_act(stores.records, f"fonds repair --accept {COLLECTIONS}"):
        count = accept_rows(writer)
    print_note(f"{COLLECTIONS}: accepted {pluralize(count, 'changed row')}")
    return 0


def _plan_repair(
    app: App, settings: Settings, stores: Stores, pipeline: str | None, deep: bool
) -> int:
    """Print which repairs would be made, by type of repair, without making them.

    Return the exit code: 0 if nothing is to be repaired, 1 otherwise, 130 if interrupted. `deep`
    includes a deep audit, which reads and hashes all stored files.
    """
    if deep:
        with stop_on_signals() as stop_event:
            run_deep_audit(app, stores, None, stop_event)
        if stop_event.is_set():
            return EXIT_INTERRUPTED
    # Not in the home, which may be on a read-only disk.
    with RepairPlan(Path(tempfile.gettempdir())) as plan:
        pipelines = list_used_readers(stores.records, stores.queue, settings, pipeline)
        result = run_audit(
            stores,
            pipelines,
            plan.add,
            find_collection_writer(stores, settings),
            find_catalog(stores, settings) if deep else None,
        )
        if app.is_json:
            acts = {str(act) if act else "none": count for act, count in plan.counts.items()}
            echo_json(build_answer(RepairPlanAnswer, build_report(result), repairs=acts))
        else:
            _print_plan(app, open_console(), plan, result)
    return 0 if result.is_balanced else 1


def _print_plan(app: App, screen: Console, plan: RepairPlan, result: AuditResult) -> None:
    if result.is_balanced:
        screen.print("Everything adds up. Nothing to repair.")
        return
    for act in [*RepairAct, None]:
        if plan.counts[act]:
            screen.print(f"[bold]{plan.counts[act]:,}[/bold] {ACT_LABELS[act]}, because:")
            for sample in plan.samples[act]:
                screen.print(f"   [dim]{escape(sample)}[/dim]")
    next_step = (
        f" Next: {app.format_command('repair --yes')}" if plan.counts.keys() - {None} else ""
    )
    screen.print(f"\nNothing was changed.{next_step}", markup=False)


@dataclass(slots=True)
class _RepairRun:
    """State of one `fonds repair`, which repairs the library in several rounds.

    - `stores`: the stores. They may be replaced during the run, because a rebuilt index is opened
      again.
    - `pipeline`: the pipeline that is repaired; None for all.
    - `done`: number of repair actions taken so far.
    - `lost`: reason why something could not be restored, by its name or id.
    """

    app: App
    settings: Settings
    stores: Stores
    lock: HomeLock
    pipeline: str | None
    done: int = 0
    lost: dict[str, str] = field(default_factory=dict)

    def run(self) -> AuditResult | None:
        """Run rounds of repair until the audit finds no fault and no message is pending, or a round
        changes nothing.

        There are at most 4 rounds. Returns the result of the last audit; None if the repair was
        interrupted.
        """
        last_state: object = None
        for _ in range(ROUNDS_MAX):
            with RepairPlan(self.app.home / SPOOL, is_exclusive=True) as plan:
                pipelines = self._list_pipelines()
                result = self._run_audit(pipelines, plan.add)
                # Messages left in flight by a killed repair cannot be judged yet.
                pending_count = sum(
                    step.pending for steps in result.steps.values() for step in steps.values()
                )
                state = (plan.counts, result.fault_texts, pending_count)
                if (result.is_balanced and not pending_count) or state == last_state:
                    return result
                last_state = state
                if not self._run_round(plan, list(pipelines), pending_count > 0):
                    return None
        return self._run_audit(self._list_pipelines())

    def _list_pipelines(self) -> dict[str, list[Subscription]]:
        stores = self.stores
        return list_used_readers(stores.records, stores.queue, self.settings, self.pipeline)

    def _run_audit(
        self,
        pipelines: Mapping[str, Sequence[Subscription]],
        report_fault: Callable[[AuditFault], None] = lambda fault: None,
    ) -> AuditResult:
        return run_audit(
            self.stores, pipelines, report_fault, find_collection_writer(self.stores, self.settings)
        )

    def _run_round(self, plan: RepairPlan, pipelines: Sequence[str], has_pending: bool) -> bool:
        """Run one round of repair, which repairs all faults of the plan. Return False if it was
        interrupted.

        - `pipelines`: names of the pipelines that process what is sent again.
        - `has_pending`: whether messages are pending; the pipelines then run even if nothing is
          sent again.
        """
        context = self._open_context(plan)
        round_ = RepairRound(context)
        try:
            round_.prepare()
            # Not earlier: recovery cuts records that `cdx` does not know from a WARC that was left
            # open.
            recover(self.stores)
            for name in pipelines if has_pending or round_.has_work else ():
                if not self._run_pipeline(context, name):
                    return False
            if round_.finish():
                self.stores, _ = rebuild_index(self.app, self.settings, self.stores)
                context.report("The index was rebuilt.")
        finally:
            self.done += context.act_count
            self.lost |= context.loss_reasons
        return True

    def _open_context(self, plan: RepairPlan) -> RepairContext:
        # Imported here because the pipelines are slow to import.
        from fonds.wiring.pipelines import create_path_source

        def source_of(path: Path, collection: str) -> Source:
            settings = self.settings.replace_values(collection=collection)
            return create_path_source([path], self.app.home, settings)

        screen = open_console(stderr=True)

        def say(message: str) -> None:
            if not (self.app.is_json or self.app.is_quiet):
                screen.print(escape(message))

        writer = find_collection_writer(self.stores, self.settings)
        return RepairContext(self.stores, plan, source_of, describe, get_utc_now, say, writer)

    def _run_pipeline(self, context: RepairContext, pipeline: str) -> bool:
        """Send the entries and files of the repair plan through one pipeline again, until no
        message is left.

        Returns False if that was interrupted. The process ends if a thread is still reading a file.
        """
        # Imported here because the pipelines are slow to import.
        from fonds.wiring.links import create_link_lists, takes_links

        settings = self.settings.replace_values(pipeline=pipeline)
        lists = create_link_lists(self.app.home, settings) if takes_links(settings) else None
        readers = {parse_subscription_name(item)[1]: item for item in list_readers(settings)}

        def feed(intake: Intake, intake_counts: IntakeCounts) -> None:
            resend_entries(context, intake, readers, lists)
            kinds = [item for item in KINDS if item.reading and item.reading.step in readers]
            rebuild_derivatives(context, kinds, self._create_reader(settings, intake.stopping))

        result = run_to_end(self.app, settings, self.stores, self.lock, feed)
        if not result.is_complete:
            exit_immediately()
        return not result.is_interrupted

    def _create_reader(
        self, settings: Settings, should_stop: Callable[[], bool]
    ) -> Callable[[DerivativeKind, frozenset[str]], None]:
        # Imported here because the pipelines and the readers are slow to import.
        from fonds.wiring.pipelines import send_catchup
        from fonds.wiring.readers import name_extractors

        names = name_extractors(settings)

        def read(kind: DerivativeKind, only: frozenset[str]) -> None:
            if kind.reading is None:
                return
            selection = CatchUpSelection(kind, kind.reading.extractor(names), rereads=True)
            file_selection = replace(selection, only_files=only)
            send_catchup(
                self.stores, settings, file_selection, lambda count, rows: None, should_stop
            )

        return read
