"""HTTP requests: polite crawling, and services.

`crawl_client.py` sends requests to web servers being crawled; the other modules resolve and check
addresses, limit rates and obey robots.txt. `service_client.py` sends requests to services and
remote archives.
"""
