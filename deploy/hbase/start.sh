#!/usr/bin/env bash
# Starts HBase and its Thrift server, and ends both when either ends or this is told to.
set -euo pipefail

home=${HBASE_HOME:-/opt/hbase}
java=(java "-XX:+ExitOnOutOfMemoryError")
for package in java.lang java.lang.reflect java.io java.net java.nio java.util java.util.concurrent \
    jdk.internal.ref sun.nio.ch; do
    java+=("--add-opens=java.base/$package=ALL-UNNAMED")
done
java+=(-cp "$home/conf:$home/lib/*")

trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' TERM INT
"${java[@]}" "-Xmx${HBASE_HEAP:-512m}" org.apache.hadoop.hbase.master.HMaster start &
"${java[@]}" -Xmx256m org.apache.hadoop.hbase.thrift.ThriftServer -p "${HBASE_THRIFT_PORT:-9090}" start &
wait -n
exit 1
