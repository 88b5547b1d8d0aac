"""What bulk work is made of: stores by their URLs, jobs and engines."""
