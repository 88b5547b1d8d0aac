"""Queue on Kafka."""
