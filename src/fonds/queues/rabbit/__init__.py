"""Message queue on RabbitMQ."""
