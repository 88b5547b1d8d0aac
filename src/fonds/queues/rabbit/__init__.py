"""Queue on RabbitMQ."""
