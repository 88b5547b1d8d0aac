"""Repair of faults found by the audit. `repair.py` runs the actions in order."""
