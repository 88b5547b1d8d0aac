"""Repair of faults that the audit found. `repair.py` runs the repair actions in order."""
