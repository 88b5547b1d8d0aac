"""Queue backends: SQLite, RabbitMQ and Kafka, and what their messages carry."""
