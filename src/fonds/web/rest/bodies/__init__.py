"""What is sent to the service: read and judged, and described."""
