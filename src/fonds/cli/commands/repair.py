"""`fonds repair`: what the audit missed, made again out of what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from fonds.cli.commands.audit import deepened, interrupted, print_audit
from fonds.cli.commands.reindex import reindexed
from fonds.cli.context import SPOOL, App, command, console, echo_json, pipeline_option
from fonds.cli.working.working_off import EXIT_INTERRUPTED, leave_at_once, work_through
from fonds.config import Settings
from fonds.kinds import KINDS
from fonds.kinds.kind import DerivativeKind
from fonds.library.audit import Audit, as_json, audit
from fonds.library.catchup.selection import Selection
from fonds.library.checks.fault import Act, Check, Fault
from fonds.library.repair.entering import send_again
from fonds.library.repair.making import make_again
from fonds.library.repair.plan import Plan
from fonds.library.repair.repairing import ROUNDS_MAX, Repair
from fonds.library.repair.workshop import Workshop
from fonds.model.message import Subscription
from fonds.ports import Source, Stores
from fonds.runtime.binding import stage_of
from fonds.runtime.homelock import HomeLock
from fonds.runtime.intake import Entered, Intake
from fonds.wiring.known import used_readers
from fonds.wiring.recurring.collections import changes_there

WHAT = {
    Act.PLACE: "places written down again",
    Act.BODY: "bodies archived again from wherever else they lie",
    Act.FILE: "files described again",
    Act.ENTRY: "entries put on the books again",
    Act.INPUT: "inputs counted again",
    Act.SEND: "entries sent through again",
    Act.READ: "files read again",
    Act.END: "endings written down as the stores show them",
    Act.INDEX: "documents indexed again",
    Act.TABLE: "rows of the table written again",
    Act.CDXJ: "indexes of WARCs made again",
    Act.COUNT: "counts made again",
    Act.COLLECTION: "faults of collections mended",
    None: "beyond repair",
}


@command("repair")
@click.option("--yes", is_flag=True, help="Do it; without, only what would be done is told.")
@click.option(
    "--deep", is_flag=True, help="Read and hash everything first, as `fonds audit --deep`."
)
@pipeline_option
def repair(app: App, yes: bool, deep: bool, **flags: Any) -> int:
    """Make again what is missing or altered, out of what is left; tells only what it would do, until --yes.

    Bodies come from wherever else they lie, what was made of them by reading them again, rows from the table
    and the other way round, then index, table, CDXJ and counts. Every act stands in the ledger, at the step
    `repair`; what is pending is worked off. Nothing else may work on the home meanwhile. Interrupted, start
    it again.
    Exit code 0 when everything adds up in the end, 1 when something could not be had again: it is named.

    \b
    fonds repair
    fonds repair --yes
    fonds repair --deep --yes
    """
    settings = app.settings(**flags)
    stores = app.stores(settings)
    if not yes:
        return _told(app, settings, stores, flags["pipeline"], deep)
    from fonds.library.repair.recovering import refuse_emptied
    from fonds.wiring.backends import close_stores

    with HomeLock(app.home) as lock:
        refuse_emptied(stores)
        if deep:
            with interrupted() as stopped:
                deepened(app, stores, None, stopped)
            if stopped.is_set():
                return EXIT_INTERRUPTED
        bench = _Bench(app, settings, stores, lock, flags["pipeline"])
        found = bench.run()
        close_stores(bench.stores)
    if found is None:
        return EXIT_INTERRUPTED
    if app.json:
        echo_json({**as_json(found), "acts": bench.done, "lost": sorted(bench.lost.values())})
        return 0 if found.balanced else 1
    screen = console()
    print_audit(screen, found)
    screen.print(f"{bench.done:,} acts of repair.")
    return 0 if found.balanced else 1


def _told(app: App, settings: Settings, stores: Stores, pipeline: str | None, deep: bool) -> int:
    """What would be done, by act."""
    if deep:
        with interrupted() as stopped:
            deepened(app, stores, None, stopped)
        if stopped.is_set():
            return EXIT_INTERRUPTED
    with Plan(app.home / SPOOL) as plan:
        pipelines = used_readers(stores, settings, pipeline)
        found = audit(stores, pipelines, plan.add, changes_there(stores, settings))
        if app.json:
            acts = {str(act) if act else "none": count for act, count in plan.counts.items()}
            echo_json({**as_json(found), "would": acts})
        else:
            _print_plan(app, console(), plan, found)
    return 0 if found.balanced else 1


def _print_plan(app: App, screen: Console, plan: Plan, found: Audit) -> None:
    if found.balanced:
        screen.print("Everything adds up: there is nothing to repair.")
        return
    for act in [*Act, None]:
        if plan.counts[act]:
            screen.print(f"[bold]{plan.counts[act]:,}[/bold] {WHAT[act]}, because")
            for told in plan.samples[act]:
                screen.print(f"   [dim]{escape(told)}[/dim]")
            if act is None:
                screen.print(f"   {escape(Check.RECORDS_EMPTIED.remedy)}")
    screen.print(f"\nNothing was done. Next: {app.told('repair --yes')}", markup=False)


@dataclass(slots=True)
class _Bench:
    """The rounds of one repair; `stores` may be others in the end: an index made anew is opened anew."""

    app: App
    settings: Settings
    stores: Stores
    lock: HomeLock
    pipeline: str | None
    done: int = 0
    lost: dict[str, str] = field(default_factory=dict)

    def run(self) -> Audit | None:
        """Round after round, until everything adds up or a round mended nothing; None: interrupted."""
        before: object = None
        for _ in range(ROUNDS_MAX):
            with Plan(self.app.home / SPOOL, alone=True) as plan:
                pipelines = used_readers(self.stores, self.settings, self.pipeline)
                found = self._audit(pipelines, plan.add)
                # Of what is on its way, as a killed repair left it, nothing can be said yet.
                pending = sum(one.pending for each in found.steps.values() for one in each.values())
                now = (plan.counts, found.missing, pending)
                if (found.balanced and not pending) or now == before:
                    return found
                before = now
                if not self._round(plan, list(pipelines), pending > 0):
                    return None
        return self._audit(used_readers(self.stores, self.settings, self.pipeline))

    def _audit(
        self,
        pipelines: Mapping[str, Sequence[Subscription]],
        tell: Callable[[Fault], None] = lambda fault: None,
    ) -> Audit:
        return audit(self.stores, pipelines, tell, changes_there(self.stores, self.settings))

    def _round(self, plan: Plan, pipelines: Sequence[str], pending: bool) -> bool:
        """Whether it came to its end."""
        from fonds.library.repair.recovering import recover

        shop = self._workshop(plan)
        round_ = Repair(shop)
        try:
            round_.before()
            # Only now: what `cdx` did not know would have been cut from a WARC that was left open.
            recover(self.stores)
            for name in pipelines if pending or round_.has_work else ():
                if not self._send(shop, name):
                    return False
            if round_.after():
                self.stores, _ = reindexed(self.app, self.settings, self.stores)
                shop.say("the index was made again")
        finally:
            self.done += shop.done
            self.lost |= shop.lost
        return True

    def _workshop(self, plan: Plan) -> Workshop:
        from fonds.extract.file_meta import describe
        from fonds.wiring.backends import now
        from fonds.wiring.pipelines import path_source

        def source_of(path: Path, collection: str) -> Source:
            named = self.settings.changed(collection=collection)
            return path_source([path], self.app.home, named)

        screen = console(stderr=True)

        def say(told: str) -> None:
            if not (self.app.json or self.app.quiet):
                screen.print(escape(told))

        changes = changes_there(self.stores, self.settings)
        return Workshop(self.stores, plan, source_of, describe, now, say, changes)

    def _send(self, shop: Workshop, pipeline: str) -> bool:
        """Through one pipeline, and all of it worked off."""
        from fonds.wiring.backends import readers_of

        settings = self.settings.changed(pipeline=pipeline)
        readers = {stage_of(one)[1]: one for one in readers_of(settings)}

        def feed(intake: Intake, entered: Entered) -> None:
            send_again(shop, intake, readers)
            kinds = [one for one in KINDS if one.reading and one.reading.step in readers]
            make_again(shop, kinds, self._reader(settings, intake.stopping))

        worked = work_through(self.app, settings, self.stores, self.lock, feed)
        if not worked.ended:
            leave_at_once()
        return not worked.interrupted

    def _reader(
        self, settings: Settings, stopping: Callable[[], bool]
    ) -> Callable[[DerivativeKind, frozenset[str]], None]:
        from fonds.wiring.pipelines import catch_up
        from fonds.wiring.readers import extractors

        names = extractors(settings)

        def read(kind: DerivativeKind, only: frozenset[str]) -> None:
            if kind.reading is None:
                return
            wanted = Selection(kind, kind.reading.extractor(names), again=True)
            only_these = replace(wanted, only=only)
            catch_up(self.stores, settings, only_these, lambda sent, rows: None, stopping)

        return read
