"""The port Queue on Kafka."""
