"""Tables of the SQLite message queue, and functions with their SQL statements.

Each function runs in the caller's transaction. The content of a message is stored once. The table
`waiting` has one row for each address at which the message waits. Its column `ready_at` means:

- 0: the message is ready.
- In a row with an `owner`: the message is leased. `ready_at` is the end of the lease in seconds
  since boot.
- At a `delay` address: the time when the message is due, in Unix seconds.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fonds.model.errors import ConfigurationError, DamagedRowError
from fonds.model.message import Message, Subscription
from fonds.stores.sqlite_file import FileLayout

LEASES_MAX = 2
"""Maximum time from now to the end of a lease, as a multiple of the lease duration. A later end is
from before a restart of the machine, so the lease is invalid.
"""

LAYOUT = FileLayout(
    noun="queue",
    application_id=0x466F5175,
    version=1,
    schema="""
CREATE TABLE topics (topic TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE addresses (
    address INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    topic TEXT,
    pipeline TEXT NOT NULL,
    returns_to INTEGER
);
CREATE TABLE contents (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    headers TEXT,
    body BLOB NOT NULL
);
CREATE TABLE waiting (
    seq INTEGER NOT NULL,
    address INTEGER NOT NULL,
    id TEXT NOT NULL,
    ready_at REAL NOT NULL,
    owner INTEGER,
    redelivered INTEGER NOT NULL,
    PRIMARY KEY (seq, address)
) WITHOUT ROWID;
CREATE UNIQUE INDEX waiting_once ON waiting (address, id);
CREATE INDEX waiting_in_order ON waiting (address, ready_at, seq);
CREATE INDEX waiting_in_hand ON waiting (ready_at, owner) WHERE owner IS NOT NULL;
CREATE TABLE owners (owner INTEGER PRIMARY KEY AUTOINCREMENT, process TEXT NOT NULL)
""",
)

_RELEASE = "UPDATE waiting SET ready_at = 0, owner = NULL, redelivered = redelivered + 1 WHERE "


@dataclass(frozen=True, slots=True)
class PutTarget:
    """Address at which a message is stored when it is put to a topic or address.

    - `address`: number of the address in the queue file.
    - `pipeline`: name of the pipeline whose messages the address accepts; '' accepts all messages.
    """

    address: int
    pipeline: str = ""


def declare_addresses(
    connection: sqlite3.Connection, subscriptions: Iterable[Subscription], topics: Iterable[str]
) -> None:
    """Create the addresses of subscriptions and topics that do not exist yet.

    The topic and pipeline of existing subscriptions are updated. Raises ConfigurationError if a
    topic has the name of an address.
    """
    for subscription in subscriptions:
        incoming = _declare(
            connection, subscription.incoming, subscription.topic, subscription.pipeline, None
        )
        _declare(connection, subscription.delay, None, "", incoming)
        _declare(connection, subscription.quarantine, None, "", None)
    connection.executemany(
        "INSERT OR IGNORE INTO topics (topic) VALUES (?)",
        [(subscription,) for subscription in topics],
    )
    clash = connection.execute(
        """SELECT name FROM addresses WHERE name IN (SELECT topic FROM addresses)
           OR name IN (SELECT topic FROM topics)"""
    ).fetchone()
    if clash:
        raise ConfigurationError(f"{clash[0]!r} is both a topic and an address; rename one.")


def _declare(
    connection: sqlite3.Connection,
    name: str,
    topic: str | None,
    pipeline: str,
    returns_to: int | None,
) -> int:
    (address,) = connection.execute(
        """INSERT INTO addresses (name, topic, pipeline, returns_to) VALUES (?, ?, ?, ?)
           ON CONFLICT (name) DO UPDATE SET topic = excluded.topic, pipeline = excluded.pipeline
           RETURNING address""",
        (name, topic, pipeline, returns_to),
    ).fetchone()
    return int(address)


def find_own_address(connection: sqlite3.Connection, name: str) -> int:
    """Return the number of a subscription's address, by its name.

    Raises ConfigurationError if no subscription has this address.
    """
    row = connection.execute("SELECT address FROM addresses WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise _build_undeclared_error(name)
    return int(row[0])


def find_put_targets(connection: sqlite3.Connection, name: str) -> list[PutTarget]:
    """Return the addresses to which a put to `name` adds messages.

    For a topic, these are the `incoming` addresses of its subscriptions. Otherwise it is the
    address itself. Raises ConfigurationError if `name` was not declared.
    """
    rows = connection.execute(
        """SELECT address, iif(name = ?1, '', pipeline) FROM addresses
           WHERE name = ?1 OR topic = ?1""",
        (name,),
    ).fetchall()
    if not rows and not _is_topic(connection, name):
        raise _build_undeclared_error(name)
    return [PutTarget(*row) for row in rows]


def _is_topic(connection: sqlite3.Connection, name: str) -> bool:
    row = connection.execute("SELECT 1 FROM topics WHERE topic = ?", (name,)).fetchone()
    return row is not None


def find_delay_target(connection: sqlite3.Connection, name: str) -> PutTarget:
    """Return the address that stores delayed messages for the `incoming` address `name`.

    Raises ValueError for any other address, and ConfigurationError if `name` was not declared.
    """
    row = connection.execute(
        """SELECT delay.address FROM addresses AS delay JOIN addresses AS incoming
           ON delay.returns_to = incoming.address WHERE incoming.name = ?""",
        (name,),
    ).fetchone()
    if row is not None:
        return PutTarget(row[0])
    find_put_targets(connection, name)
    raise ValueError(f"only the incoming address of a subscription accepts a delay, not {name!r}")


def _build_undeclared_error(name: str) -> ConfigurationError:
    return ConfigurationError(f"nothing was declared at {name!r}; declare its subscription first.")


def insert(
    connection: sqlite3.Connection,
    targets: Sequence[PutTarget],
    messages: Sequence[Message],
    ready_at: float,
) -> None:
    """Add messages at each target address that accepts their pipeline.

    `ready_at` is 0 for ready messages, otherwise the due time in Unix seconds. A message whose id
    already waits or is leased at a target is not added there, unless its attempt is higher. It then
    replaces the existing message.
    """
    newest: dict[str, Message] = {}
    for message in messages:
        if message.id not in newest or newest[message.id].attempt < message.attempt:
            newest[message.id] = message
    new_ids = {target.address: _select_new_ids(connection, target, newest) for target in targets}
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'contents'").fetchone()
    numbered_messages = [
        (seq, message)
        for seq, message in enumerate(newest.values(), start=(row[0] if row else 0) + 1)
        if any(message.id in ids for ids in new_ids.values())
    ]
    connection.executemany(
        "INSERT INTO contents (seq, id, key, attempt, headers, body) VALUES (?, ?, ?, ?, ?, ?)",
        [(seq, m.id, m.key, m.attempt, _encode_headers(m), m.body) for seq, m in numbered_messages],
    )
    connection.executemany(
        "INSERT INTO waiting (seq, address, id, ready_at, redelivered) VALUES (?, ?, ?, ?, 0)",
        [
            (seq, address, message.id, ready_at)
            for seq, message in numbered_messages
            for address, ids in new_ids.items()
            if message.id in ids
        ],
    )


def _select_new_ids(
    connection: sqlite3.Connection, target: PutTarget, newest: Mapping[str, Message]
) -> set[str]:
    """Return the ids of those messages that must be added at one address.

    Left out are messages of other pipelines, and messages whose id exists at the address with the
    same or a higher attempt. Existing rows with a lower attempt are removed.
    """
    messages = {id_: message for id_, message in newest.items() if message.is_for(target.pipeline)}
    if not messages:
        return set()
    rows = connection.execute(
        """SELECT waiting.id, seq, attempt FROM waiting JOIN contents USING (seq)
           WHERE address = ? AND waiting.id IN (SELECT value FROM json_each(?))""",
        (target.address, json.dumps(list(messages))),
    ).fetchall()
    superseded_rows = [
        (seq, target.address) for id_, seq, attempt in rows if attempt < messages[id_].attempt
    ]
    remove(connection, superseded_rows)
    current_ids = {id_ for id_, _, attempt in rows if attempt >= messages[id_].attempt}
    return messages.keys() - current_ids


def remove(connection: sqlite3.Connection, rows: Sequence[tuple[int, int]]) -> None:
    """Remove rows of the table `waiting`, given as (sequence number of the message, number of the
    address).

    The content of a message that waits at no other address is removed too.
    """
    connection.executemany("DELETE FROM waiting WHERE seq = ? AND address = ?", rows)
    connection.executemany(
        "DELETE FROM contents WHERE seq = ?1 AND NOT EXISTS (SELECT 1 FROM waiting WHERE seq = ?1)",
        [(seq,) for seq, _ in rows],
    )


_OVERDUE = "owner IS NOT NULL AND (ready_at <= ? OR ready_at > ?)"
_CHECK_WAITING = f"""SELECT EXISTS (SELECT 1 FROM waiting WHERE address = ? AND ready_at = 0)
    OR EXISTS (SELECT 1 FROM addresses JOIN waiting USING (address)
               WHERE returns_to = ? AND ready_at <= ?),
    EXISTS (SELECT 1 FROM waiting WHERE {_OVERDUE})"""  # noqa: S608 (a constant)


def check_waiting(
    connection: sqlite3.Connection, address: int, now: float, lease_now: float, lease_s: float
) -> tuple[bool, bool]:
    """Return whether an address has a ready message or a delayed one that is due, and whether any
    lease in the file has expired.

    `now` is in Unix seconds, `lease_now` in seconds since boot. A lease that ends more than two
    lease durations (`lease_s`) from now is from before a restart of the machine, so it counts as
    expired.
    """
    is_ready, is_overdue = connection.execute(
        _CHECK_WAITING, (address, address, now, lease_now, lease_now + LEASES_MAX * lease_s)
    ).fetchone()
    return bool(is_ready), bool(is_overdue)


def return_due(connection: sqlite3.Connection, incoming: int, now: float) -> None:
    """Move delayed messages that are due by `now` (Unix seconds) to their incoming address, as
    ready.

    A retry waits until its original message is settled.
    """
    connection.execute(
        """UPDATE waiting SET address = ?1, ready_at = 0
           WHERE address IN (SELECT address FROM addresses WHERE returns_to = ?1) AND ready_at <= ?2
           AND NOT EXISTS (SELECT 1 FROM waiting AS there
                           WHERE there.address = ?1 AND there.id = waiting.id)""",
        (incoming, now),
    )


def lease_messages(
    connection: sqlite3.Connection, address: int, owner: int, count_max: int, lease_ends_at: float
) -> list[tuple[int, int, Message]]:
    """Lease up to `count_max` messages of an address, in the order in which they were put.

    Return (sequence number, number of redeliveries, message) for each leased message.
    """
    rows = connection.execute(
        """SELECT seq, redelivered, contents.id, key, attempt, headers, body
           FROM waiting JOIN contents USING (seq)
           WHERE address = ? AND ready_at = 0 ORDER BY seq LIMIT ?""",
        (address, count_max),
    ).fetchall()
    if rows:
        connection.execute(
            "UPDATE waiting SET ready_at = ?, owner = ? WHERE address = ? AND ready_at = 0 AND seq <= ?",
            (lease_ends_at, owner, address, rows[-1][0]),
        )
    return [
        (seq, redelivery_count, _build_message(seq, *columns))
        for seq, redelivery_count, *columns in rows
    ]


def _build_message(
    seq: int, id_: str, key: str, attempt: int, headers: Any, body: bytes
) -> Message:
    """Return a message from its row. Raises DamagedRowError if a column has another type."""
    try:
        decoded_headers = json.loads(headers or "{}")
    except (ValueError, TypeError):
        decoded_headers = None
    message = Message(id_, body, key, attempt, decoded_headers)
    if all(type(getattr(message, name)) is kind for name, kind in _MESSAGE_TYPES.items()):
        return message
    raise DamagedRowError(
        f"Message {seq} in queue.sqlite cannot be read: a column has another type than Fonds writes. "
        "Another program or a broken disk changed it. Restore queue.sqlite from a backup, or delete "
        f"the message from its table `contents`; `fonds repair` then sends it again."
    )


_MESSAGE_TYPES = {"id": str, "key": str, "attempt": int, "body": bytes, "headers": dict}


def release(connection: sqlite3.Connection, rows: Sequence[tuple[int, int, int]]) -> None:
    """Make leased messages ready again, given as (sequence number, address number, owner number).

    Messages that another owner has leased by now are skipped.
    """
    connection.executemany(f"{_RELEASE} seq = ? AND address = ? AND owner = ?", rows)


def renew_leases(
    connection: sqlite3.Connection, rows: Sequence[tuple[int, int, int]], lease_ends_at: float
) -> set[tuple[int, int, int]]:
    """Extend leases, given as rows (sequence number, address number, owner number), to
    `lease_ends_at`.

    Return the rows that the owner still leases.
    """
    return {
        row
        for row in rows
        if connection.execute(
            "UPDATE waiting SET ready_at = ? WHERE seq = ? AND address = ? AND owner = ?",
            (lease_ends_at, *row),
        ).rowcount
    }


def release_expired(connection: sqlite3.Connection, now: float, lease_s: float) -> None:
    """Make messages with expired leases ready again. `now` is in seconds since boot."""
    connection.execute(f"{_RELEASE} {_OVERDUE}", (now, now + LEASES_MAX * lease_s))


def add_owner(connection: sqlite3.Connection, process: str) -> int:
    """Register a process as an owner of leases. Return its number."""
    return int(
        connection.execute("INSERT INTO owners (process) VALUES (?)", (process,)).lastrowid or 0
    )


def list_owners(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Return the number and the identity of each process that is registered as an owner of
    leases.
    """
    return connection.execute("SELECT owner, process FROM owners").fetchall()


def remove_owner(connection: sqlite3.Connection, owner: int) -> None:
    """Make the messages that a process has leased ready again, and remove the process from the
    owners of leases.

    `owner` is the number of the process as an owner of leases.
    """
    connection.execute(f"{_RELEASE} owner = ?", (owner,))
    connection.execute("DELETE FROM owners WHERE owner = ?", (owner,))


def count_waiting(
    connection: sqlite3.Connection, subscription: Subscription
) -> tuple[int, int, int, int]:
    """Return a subscription's numbers of ready, leased, delayed and quarantined messages.

    All four numbers are from the same point in time.
    """
    ready, in_hand, delayed_count, quarantined_count = connection.execute(
        """SELECT (SELECT count(*) FROM waiting WHERE address = ?1 AND ready_at = 0),
                  (SELECT count(*) FROM waiting WHERE address = ?1 AND ready_at > 0),
                  (SELECT count(*) FROM waiting WHERE address = ?2),
                  (SELECT count(*) FROM waiting WHERE address = ?3)""",
        (
            find_own_address(connection, subscription.incoming),
            find_own_address(connection, subscription.delay),
            find_own_address(connection, subscription.quarantine),
        ),
    ).fetchone()
    return ready, in_hand, delayed_count, quarantined_count


def _encode_headers(message: Message) -> str | None:
    return json.dumps(dict(message.headers)) if message.headers else None
