"""The one room with sockets of its own: names resolved and judged, requests made to what was judged."""
