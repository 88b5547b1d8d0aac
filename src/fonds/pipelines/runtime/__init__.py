"""Runtime of pipelines: workers and their loops, retries, leases, intake, quarantine, timetable and
metrics.
"""
