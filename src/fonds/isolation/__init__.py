"""Disposable child processes with limits, in which native parsers read untrusted files.

A pool keeps a few children. They are forked by a fork server, a small process that has loaded the
parsers but runs none of them. So a new child is ready in milliseconds, and the multi-threaded
parent never forks. Calls and replies are MessagePack, decoded by the types that the function
declares. Even a child taken over by its input can only reply with plain data.
"""
