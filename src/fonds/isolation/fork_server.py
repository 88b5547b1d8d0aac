"""Fork server: a process that has loaded the parsers, runs none of them, and forks children for its
parent.

Each child has a sentinel, a socket between fork server and parent. If the parent sends data on it
or closes it, the fork server kills the child and all processes the child started. When a child has
ended, the fork server writes the child's exit status and peak memory to its sentinel. When the
parent has ended, the fork server and the children end. Only an administrator can inspect the fork
server. Children inherit only loaded modules from it.
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
from fonds.isolation.privileges import forbid_inspection
from fonds.model.encoding import prepare_type

ENDED = struct.Struct("!iq")
"""Format of the report on an ended child: its wait status, and its peak resident memory in KiB."""
ORDER_SIZE = struct.Struct("!I")


class ForkOrder(msgspec.Struct, array_like=True):
    """Message from the parent to the fork server: load modules, then fork a child.

    - `modules`: names of the modules.
    - `memory_bytes`: maximum address space that any call in the child may be allowed.

    Two file descriptors are sent with it: the child's work socket (for calls) and its sentinel (a
    socket that reports its end).
    """

    modules: list[str]
    memory_bytes: int


@dataclass(slots=True)
class ForkServer:
    """State of the fork server, the process that forks all children.

    - `control`: socket on which the parent sends orders to fork a child.
    - `wakeup`: socket that receives a byte when a child ends.
    - `selector`: waits for all sockets.
    - `sentinels`: socket of each living child that reports its end to the parent, by process id.
    - `prepared`: data for confining children; None before the first child.
    """

    control: socket.socket
    wakeup: socket.socket
    selector: selectors.BaseSelector
    sentinels: dict[int, socket.socket] = field(default_factory=dict)
    prepared: PreparedConfinement | None = None

    def run_next_order(self) -> bool:
        """Receive and execute the next order of the parent to fork a child. Return False if the
        parent has ended.
        """
        head, descriptors, _, _ = socket.recv_fds(self.control, ORDER_SIZE.size, 2)
        if len(head) < ORDER_SIZE.size:
            return False
        body = self.control.recv(ORDER_SIZE.unpack(head)[0], socket.MSG_WAITALL)
        order = msgspec.msgpack.decode(body, type=prepare_type(ForkOrder))
        work, sentinel = (socket.socket(fileno=descriptor) for descriptor in descriptors)
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
        prepared_confinement: PreparedConfinement,
    ) -> None:
        # Existing objects are never collected, so that their pages stay shared with the children.
        gc.freeze()
        parent_pid = os.getpid()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            run_child(work, memory_bytes, parent_pid, prepared_confinement)
        work.close()
        self.sentinels[pid] = sentinel
        self.selector.register(sentinel, selectors.EVENT_READ, pid)

    def kill_child(self, pid: int) -> None:
        """Kill a child and all processes in its process group. `reap` later reports the end of the
        child to the parent.
        """
        self.selector.unregister(self.sentinels[pid])
        _kill(pid)

    def reap(self) -> None:
        """Collect all children that have ended. Write the exit status and peak memory of each to
        its sentinel for the parent.
        """
        _drain(self.wakeup)
        while self.sentinels:
            # Kill the process group before its leader's id is returned to the kernel.
            ended_child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended_child is None:
                return
            _kill(ended_child.si_pid)
            _, status, usage = os.wait4(ended_child.si_pid, 0)
            sentinel = self.sentinels.pop(ended_child.si_pid, None)
            if sentinel is not None:
                self._send(sentinel, ENDED.pack(status, usage.ru_maxrss))

    def _send(self, sentinel: socket.socket, message: bytes) -> None:
        with suppress(KeyError):
            self.selector.unregister(sentinel)
        with suppress(OSError):
            sentinel.sendall(message)
        sentinel.close()

    def run(self) -> None:
        """Execute the orders of the parent until the parent has ended. Report children that end,
        and kill children when the parent sends data on or closes their sentinel.
        """
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
    """Run the fork server in this process, which must have one thread.

    `control_fd` is the file descriptor of the socket to the parent, `parent_pid` the parent's
    process id.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Terminals and service managers signal all processes. The parent decides for its children.
        signal.signal(number, signal.SIG_IGN)
    wakeup, wakeup_in = socket.socketpair()
    for end in (wakeup, wakeup_in):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup_in.fileno(), warn_on_full_buffer=False)
    selector = selectors.DefaultSelector()
    control = socket.socket(fileno=control_fd)
    selector.register(control, selectors.EVENT_READ, "control")
    selector.register(wakeup, selectors.EVENT_READ, "wakeup")
    _watch_parent(selector, parent_pid)
    forbid_inspection()
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
    """Wait until all children have ended, so that none remains as a zombie.

    The kernel then adds the children's processor time to that of the parent.
    """
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _watch_parent(selector: selectors.BaseSelector, parent_pid: int) -> None:
    """Make `selector` report the end of the parent process, even if another process has a copy of
    the parent's socket.

    Do nothing if the kernel or Python cannot watch a process.
    """
    try:
        parent = os.pidfd_open(parent_pid)
    except (AttributeError, OSError):
        return
    selector.register(parent, selectors.EVENT_READ, "parent")


def _silence() -> None:
    """Redirect the standard streams of the fork server to /dev/null.

    Before this call, errors at its start are written to standard error.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (sys.stdin, sys.stdout, sys.stderr):
        os.dup2(nothing, standard.fileno())
    os.close(nothing)


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            # A newly forked child has no process group yet.
            continue


def _drain(stream: socket.socket) -> None:
    try:
        while stream.recv(4096):
            pass
    except BlockingIOError:
        return
