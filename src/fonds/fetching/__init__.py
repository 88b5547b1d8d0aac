"""Polite crawling: resolve and check addresses, rate limits, robots.txt, and HTTP transfers.

Only this package opens sockets to web servers.
"""
