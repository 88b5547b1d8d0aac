"""Disposable child processes with limits: where native parsers meet hostile files.

A pool keeps a few children. They are forked by a fork server, one small process that has loaded the
parsers and runs none of them: a fresh child is ready in milliseconds, and the many-threaded parent
never forks. Calls and answers are MessagePack, read by the types the function declares, so that even
a child taken over by its input can only answer with plain data."""
