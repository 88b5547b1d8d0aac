"""Start OpenSearch or Elasticsearch: distribution, Java, and a user other than root."""

from __future__ import annotations

import json
import os
import re
import subprocess
import urllib.error
import urllib.request
import zipfile
from collections.abc import Mapping
from pathlib import Path

from serving import give_to_user, install_packages, spawn

JAVA_MIN = 21
OWNER = "nobody"
HEAP = "-Xms1g -Xmx1g"


def unpack(group: str, artifact: str, version: str, folder: Path) -> None:
    """Fetch the distribution from Maven Central and unpack it as `home`, once."""
    home = folder / "home"
    if home.exists():
        return
    install_packages({"/usr/bin/mvn": "maven"})
    coordinates = f"{group}:{artifact}:{version}:zip"
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={coordinates}"]
    done = subprocess.run(
        [*command, f"-DoutputDirectory={folder}"], capture_output=True, check=False, timeout=600
    )
    if done.returncode:
        raise RuntimeError(f"Maven failed: {(done.stdout + done.stderr).decode()[-500:]}")
    archive = folder / f"{artifact}-{version}.zip"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    unpacked = folder / f"{artifact}-{version}"
    for script in (unpacked / "bin").iterdir():
        script.chmod(0o755)
    archive.unlink()
    unpacked.rename(home)


def find_new_java() -> Path:
    """Return the home of a Java that is new enough. Raises RuntimeError if there is none."""
    homes = [Path(os.environ["JAVA_HOME"])] if "JAVA_HOME" in os.environ else []
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    for home in homes:
        command = [str(home / "bin" / "java"), "-version"]
        try:
            output = subprocess.run(command, capture_output=True, check=False, timeout=20).stderr
        except OSError:
            continue
        match = re.search(rb'version "(\d+)', output)
        if match and int(match[1]) >= JAVA_MIN:
            return home
    raise RuntimeError(f"no Java {JAVA_MIN} or newer in /usr/lib/jvm or JAVA_HOME: install one")


def run(
    folder: Path, program: str, settings: Mapping[str, object], environment: Mapping[str, str]
) -> list[subprocess.Popen[bytes]]:
    """Start the server with its own configuration, as a user other than root."""
    conf, data = folder / "conf", folder / "data"
    conf.mkdir(exist_ok=True)
    for name in ("jvm.options", "log4j2.properties"):
        lines = (folder / "home" / "config" / name).read_text().splitlines()
        # The user may not write to the folder of the garbage collection log.
        (conf / name).write_text("\n".join(line for line in lines if "Xlog:gc" not in line) + "\n")
    full_settings = {**settings, "path.data": str(data), "path.logs": str(folder / "logs")}
    lines = [f"{name}: {json.dumps(value)}\n" for name, value in full_settings.items()]
    (conf / f"{program}.yml").write_text("".join(lines))
    folder.chmod(0o755)
    owner = give_to_user(OWNER, conf, data, folder / "logs", folder / "tmp")
    if owner:
        # The server attaches to itself by a file in /tmp, which is not writable for all on every machine.
        owner += ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    command = [*owner, str(folder / "home" / "bin" / program)]
    scratch = str(folder / "tmp")
    full_environment = {
        "HOME": scratch,
        "CLI_JAVA_OPTS": f"-Djava.io.tmpdir={scratch}",
        **environment,
    }
    return [spawn(command, folder / "server.log", full_environment)]


def is_answering(port: int) -> bool:
    """Tell whether the cluster has a master and accepts writes."""
    address = f"http://127.0.0.1:{port}/_cluster/health?wait_for_status=yellow&timeout=2s"
    try:
        with urllib.request.urlopen(address, timeout=4) as answer:
            return bool(json.load(answer)["status"] in ("yellow", "green"))
    except (OSError, ValueError, urllib.error.HTTPError):
        return False
