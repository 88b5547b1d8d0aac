"""Makes again what the audit missed, out of what is left; `repairing.py` runs the acts in their order."""
