"""Apache Kafka in KRaft mode, one node that is broker and controller, with the jars of Maven Central."""

from __future__ import annotations

import subprocess
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from server import Server
from serving import fetch_jars, find_java, spawn

POM = Path(__file__).parent / "maven" / "kafka.xml"
HEAP = ("-Xmx512m", "-Xms256m")
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=BROKER://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=BROKER://127.0.0.1:{port}
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=BROKER
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.coordinator.rebalance.protocols=classic,consumer
message.max.bytes=20000000
replica.fetch.max.bytes=20000000
log.cleaner.dedupe.buffer.size=16777216
log.segment.bytes=67108864
num.network.threads=2
num.io.threads=4
"""


def install(folder: Path) -> None:
    fetch_jars(POM, folder)


def start(folder: Path, port: int) -> list[subprocess.Popen[bytes]]:
    properties, data = folder / "server.properties", folder / "data"
    text = PROPERTIES.format(port=port, controller=port + 1, data=data)
    properties.write_text(text.strip() + "\n")
    classpath = ["-cp", f"{folder / 'lib'}/*"]
    if not (data / "meta.properties").exists():
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # One of 64 begins with a dash.
        words = ["format", f"--cluster-id={cluster}", "-c", str(properties)]
        command = [str(find_java()), *classpath, "kafka.tools.StorageTool", *words]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"formatting failed: {(done.stdout + done.stderr).decode()[-500:]}")
    logging = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    command = [str(find_java()), *HEAP, *logging, *classpath, "kafka.Kafka", str(properties)]
    return [spawn(command, folder / "server.log")]


def is_ready(folder: Path, port: int) -> bool:
    client = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0} | QUIET)
    try:
        return bool(client.list_topics(timeout=2).brokers)
    except KafkaException:
        return False


QUIET = {"error_cb": lambda _: None}


def build_url(folder: Path, port: int) -> str:
    return f"kafka://127.0.0.1:{port}"


SERVER = Server("kafka", 29092, "TEST_KAFKA_URL", install, start, is_ready, build_url)
