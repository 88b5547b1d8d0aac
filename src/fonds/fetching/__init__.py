"""HTTP requests: polite crawling of web servers, and requests to services.

`crawl_client.py` sends requests to web servers that are crawled. `service_client.py` sends requests
to services and remote archives. The other modules check IP addresses, limit request rates and obey
robots.txt.
"""
