"""Message queue on Apache Kafka."""
