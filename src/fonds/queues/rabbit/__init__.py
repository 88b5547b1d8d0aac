"""The port Queue on RabbitMQ."""
