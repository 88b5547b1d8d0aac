"""Queue backends (SQLite, RabbitMQ, Kafka), message headers, and formats of public messages."""
