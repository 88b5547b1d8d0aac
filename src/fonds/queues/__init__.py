"""Message queues: backends on SQLite, RabbitMQ and Kafka, message headers, and public formats."""
