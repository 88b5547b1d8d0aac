"""What the flavours that begin with links take in: which form their files have, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import SystemRandom
from typing import Any

from fonds.config import Settings
from fonds.model.link import Link, TlsCheck
from fonds.ports import Records
from fonds.sources.link_rules import LinkRules, rules_of
from fonds.sources.listed.choice import Choice
from fonds.sources.listed.link_lists import LinkLists
from fonds.sources.listed.rows import ADDRESSES, DOWNLOADS, WHOLE_DAY
from fonds.sources.listed.shuffled import Limited, Shuffled
from fonds.wiring.backends import now, open_web, pipeline_of, s3_objects
from fonds.wiring.elsewhere.remote_files import RemoteFiles

FORMS: Mapping[str, str] = {
    "queue-fetcher": WHOLE_DAY,
    "batch": WHOLE_DAY,
    "historical": DOWNLOADS,
}
"""What the files of a flavour are; of others tables of addresses."""


def takes_links(settings: Settings) -> bool:
    """Whether the pipeline of these settings begins with links."""
    return pipeline_of(settings).entry.payload is Link


def link_rules(settings: Settings) -> LinkRules:
    """Which links are refused before anything is fetched."""
    return rules_of(
        settings.sources.non_news,
        settings.sources.news,
        private_addresses=settings.elsewhere.private_addresses,
    )


def named_link_rules(settings: Settings) -> LinkRules:
    """The rules for links a person names: any site, however little news it has."""
    return LinkRules(frozenset(), settings.elsewhere.private_addresses)


def link_lists(
    names: Sequence[str],
    home: Path,
    settings: Settings,
    records: Records | None,
    choice: Choice,
    *,
    shuffle: bool = False,
) -> Limited:
    """The Source of what a person names for a pipeline that begins with links."""
    source = _lists(names, home, settings, records, link_rules(settings), choice=choice)
    return Limited(Shuffled(source, SystemRandom().shuffle) if shuffle else source, choice)


def named_lists(
    names: Sequence[str],
    home: Path,
    settings: Settings,
    records: Records,
    *,
    again: bool,
    tls: TlsCheck,
) -> LinkLists:
    """The Source of lists a person names to be fetched now: of any site, however little news it has."""
    rules = named_link_rules(settings)
    return _lists(names, home, settings, records, rules, again=again, tls=tls)


def _lists(
    names: Sequence[str],
    home: Path,
    settings: Settings,
    records: Records | None,
    rules: LinkRules,
    **more: Any,
) -> LinkLists:
    return LinkLists(
        names=names,
        form=FORMS.get(settings.pipeline, ADDRESSES),
        home=home,
        pipeline=settings.pipeline,
        collection=settings.collection,
        rules=rules,
        remotes=RemoteFiles(open_web(settings), s3_objects(home, settings)),
        clock=now,
        records=records,
        follow=settings.follow_links,
        downloads_url=settings.sources.downloads_url.rstrip("/"),
        **more,
    )
