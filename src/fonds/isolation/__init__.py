"""Run parsers of untrusted files in disposable child processes with limits.

A pool keeps a few child processes. A fork server, a small process that has loaded the parsers but
runs none of them, forks the children. So a new child is ready in milliseconds, and the parent,
which has many threads, never forks. Calls and replies are MessagePack, decoded by the types that
the called function declares. Even if a hostile file takes over a child, the child can only reply
with plain data.
"""
