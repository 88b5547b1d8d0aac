"""Leases: time-limited, exclusive rights of one process to do a piece of work."""
