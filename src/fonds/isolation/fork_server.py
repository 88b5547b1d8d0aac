"""The process that loads the parsers, runs none, and forks children for its one parent.

For each child it holds a sentinel, a socket to the parent: anything on it, and its end, mean that the
child and all it started are to be killed; when the child has ended, its exit status and peak memory
are written there. When the parent is gone, however it went, so is everything here. Nobody but an
administrator can look into this process, and its children inherit nothing of it but what it has loaded.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from fonds.isolation.child import import_quietly, run_child
from fonds.isolation.confinement import PreparedConfinement, prepare
from fonds.isolation.privileges import hide
from fonds.model.encoding import prepare_type

ENDED = struct.Struct("!iq")
"""Wait status of a child, and the most memory it had resident, in KiB."""
ORDER_SIZE = struct.Struct("!I")


class ForkOrder(msgspec.Struct, array_like=True):
    """Fork a child; load these modules first. Two descriptors come along: its work socket, its sentinel."""

    modules: list[str]
    memory_bytes: int


@dataclass
class ForkServer:
    """The state of the process: the children alive, by process id."""

    control: socket.socket
    wakeup: socket.socket
    selector: selectors.BaseSelector
    sentinels: dict[int, socket.socket] = field(default_factory=dict)
    prepared: PreparedConfinement | None = None

    def run_next_order(self) -> bool:
        """Carry out the parent's next order; False when the parent is gone."""
        head, descriptors, _, _ = socket.recv_fds(self.control, ORDER_SIZE.size, 2)
        if len(head) < ORDER_SIZE.size:
            return False
        body = self.control.recv(ORDER_SIZE.unpack(head)[0], socket.MSG_WAITALL)
        order = msgspec.msgpack.decode(body, type=prepare_type(ForkOrder))
        work, sentinel = (socket.socket(fileno=one) for one in descriptors)
        for module in order.modules:
            import_quietly(module)
        self.prepared = prepare(self.prepared)
        self._fork(work, sentinel, order.memory_bytes, self.prepared)
        return True

    def _fork(
        self,
        work: socket.socket,
        sentinel: socket.socket,
        memory_bytes: int,
        prepared: PreparedConfinement,
    ) -> None:
        # Objects made so far are never collected: their pages stay shared with the children.
        gc.freeze()
        parent_pid = os.getpid()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            run_child(work, memory_bytes, parent_pid, prepared)
        work.close()
        self.sentinels[pid] = sentinel
        self.selector.register(sentinel, selectors.EVENT_READ, pid)

    def kill_child(self, pid: int) -> None:
        """Kill a child and its process group; its end is noticed later."""
        self.selector.unregister(self.sentinels[pid])
        _kill(pid)

    def reap(self) -> None:
        """Tell the parent of every child that has ended."""
        _drain(self.wakeup)
        while self.sentinels:
            # The process group is killed before its leader's id is given back to the kernel.
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            _kill(ended.si_pid)
            _, status, usage = os.wait4(ended.si_pid, 0)
            sentinel = self.sentinels.pop(ended.si_pid, None)
            if sentinel is not None:
                self._send(sentinel, ENDED.pack(status, usage.ru_maxrss))

    def _send(self, sentinel: socket.socket, message: bytes) -> None:
        with suppress(KeyError):
            self.selector.unregister(sentinel)
        with suppress(OSError):
            sentinel.sendall(message)
        sentinel.close()

    def run(self) -> None:
        """Serve until the parent is gone."""
        while True:
            for key, _ in self.selector.select():
                if key.data == "control":
                    if not self.run_next_order():
                        return
                elif key.data == "wakeup":
                    self.reap()
                elif key.data == "parent":
                    return
                elif key.data in self.sentinels:
                    self.kill_child(key.data)


def main(control_fd: int, parent_pid: int) -> None:
    """The whole life of the fork server; to be called in a process of its own, with one thread."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A terminal or a service manager signals everybody; the parent decides for its children.
        signal.signal(number, signal.SIG_IGN)
    wakeup, wakeup_in = socket.socketpair()
    for one in (wakeup, wakeup_in):
        one.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup_in.fileno(), warn_on_full_buffer=False)
    selector = selectors.DefaultSelector()
    control = socket.socket(fileno=control_fd)
    selector.register(control, selectors.EVENT_READ, "control")
    selector.register(wakeup, selectors.EVENT_READ, "wakeup")
    _watch_parent(selector, parent_pid)
    hide()
    _silence()
    fork_server = ForkServer(control, wakeup, selector)
    try:
        fork_server.run()
    finally:
        for pid in fork_server.sentinels:
            _kill(pid)
        _wait_for_all()
        os._exit(0)


def _wait_for_all() -> None:
    """Leave no process behind; the time they took is then counted among their parent's."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _watch_parent(selector: selectors.BaseSelector, parent_pid: int) -> None:
    """Notice the parent's end even when some other process holds a copy of our socket."""
    try:
        parent = os.pidfd_open(parent_pid)
    except (AttributeError, OSError):
        return
    selector.register(parent, selectors.EVENT_READ, "parent")


def _silence() -> None:
    """Up to here a failure is told on the standard error; parsers write to nobody."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (sys.stdin, sys.stdout, sys.stderr):
        os.dup2(nothing, standard.fileno())
    os.close(nothing)


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            # A child just forked has no process group of its own yet.
            continue


def _drain(stream: socket.socket) -> None:
    try:
        while stream.recv(4096):
            pass
    except BlockingIOError:
        return
