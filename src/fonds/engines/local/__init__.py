"""The engine that is this machine: processes, and sorting on disk within bounds of memory."""
