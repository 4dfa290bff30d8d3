"""Campaigns whose rows are containers: every runtime that can run here, from a folder and from a registry on the loopback
address, its image pinned by digest. The root file system is made of the fake worker and its libraries: no network.

Skipped (77) where no runtime can run, or only the half without a registry could, which needs podman, docker-registry and
openssl."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

from workspace import FAKE_WORKER, NOCTURNE, Workspace, campaign, wait_until

RUNTIMES = ["charliecloud", "apptainer", "podman", "docker"]


def make_root(root):
    for folder in ["dev", "proc", "sys", "tmp", "etc"]:
        (root / folder).mkdir(parents=True)
    for file in ["passwd", "group", "hosts", "resolv.conf"]:
        (root / "etc" / file).touch()
    said = subprocess.run(["ldd", FAKE_WORKER], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+)", said):
        place = root / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)
    shutil.copy(root / "lib64/ld-linux-x86-64.so.2", root / "inside")  # a program that no host has


def usable(place):
    done = subprocess.run([NOCTURNE, "--data", str(place.data), "doctor", "--json"], capture_output=True, text=True)
    findings = {finding["subject"]: finding for finding in json.loads(done.stdout)["findings"]}
    for runtime in RUNTIMES:
        print(f"{runtime}: {findings[runtime]['found']}")
    return [runtime for runtime in RUNTIMES if findings[runtime]["health"] == "good"]


def with_tiny_image(place):
    """Runtimes that can run here (none: skipped), the root file system of the image `tiny`, and variables by which it is known."""
    runtimes = usable(place)
    if not runtimes:
        print("no container runtime can run here")
        sys.exit(77)
    root = place.folder / "root"
    make_root(root)
    recipes = place.folder / "config" / "nocturne" / "images"
    recipes.mkdir(parents=True)
    (recipes / "tiny.json").write_text(json.dumps({"image": "tiny", "kind": "folder", "folder": str(root)}))
    return runtimes, root, {**os.environ, "XDG_CONFIG_HOME": str(place.folder / "config")}


def container_campaign(name, containers, image):
    document = campaign(name=name, trials=len(containers), strategy="exhaustive", parameters=[
        {"name": "container", "stage": "environment", "values": containers, "default": containers[0]},
        {"name": "image", "stage": "environment", "values": [image], "default": image}])
    document["run"]["deadline"] = "60s"
    document["run"]["memory"] = "1GiB"
    return document


def trials_of(place):
    with place.database() as connection:
        return connection.execute(
            "select json_extract(canonical_json, '$.container'), outcome, reason from trials "
            "join configurations on configurations.id = configuration_id order by trials.id").fetchall()


def containers_left(runtime):
    if runtime not in ("podman", "docker"):
        return ""
    return subprocess.run([runtime, "ps", "--all", "--quiet", "--filter", "label=nocturne.owner"], capture_output=True,
                          text=True).stdout.strip()


def check_campaign(place, name, containers, image, environment):
    file = place.write(container_campaign(name, containers, image), f"{name}.json")
    done = place.run("tune", file, env=environment)
    assert done.returncode in (0, 1), done.stderr
    rows = trials_of(place)
    for row in rows:
        print(name, row)
    assert {row[0] for row in rows} >= set(containers), rows
    assert all(row[1] == "ok" for row in rows), rows
    for runtime in containers:
        # another test may have one at this moment
        assert wait_until(lambda: not containers_left(runtime)), runtime


def check_request(place, runtime, image, environment):
    """The build script that answers a request pulls its image, the job script runs its application inside."""
    folder = place.folder / f"request by {runtime}"
    infrastructures = pathlib.Path(environment["XDG_CONFIG_HOME"]) / "nocturne" / "infrastructures"
    infrastructures.mkdir(exist_ok=True)
    (infrastructures / f"with-{runtime}.json").write_text(json.dumps(
        {"infrastructure": f"with-{runtime}", "scheduler": "none", "container_runtime": runtime}))
    file = place.write({"job": {"job_options": {"job_name": "inside"}, "target": {"name": f"with-{runtime}"}, "application": {
        "app_type": "python", "executable": "/inside", "arguments": "--version", "container_runtime": image}}}, f"{runtime}.json")
    place.run("request", file, "--write", folder, env=environment, check=0)
    trusted = place.folder / "registry" / "crt"
    (folder / "containers.conf").write_text(
        '[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]\nnetns = "host"\n'
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\n')
    variables = {**environment, "SSL_CERT_FILE": str(trusted), "REQUESTS_CA_BUNDLE": str(trusted),
                 "CH_IMAGE_STORAGE": str(folder / "storage"), "CONTAINERS_CONF": str(folder / "containers.conf"),
                 "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "USER": os.environ.get("USER", "root")}
    for script in ("build.sh", "job.sh"):
        done = subprocess.run(["sh", folder / script], cwd=folder, env=variables, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (script, (folder / script).read_text(), done.stdout, done.stderr)
    assert "GLIBC" in done.stdout, done.stdout


def with_registry(place, root, runtimes, environment):
    """Pushes the image, then each runtime pulls it by its digest. Empty, or why there can be no registry."""
    tools = ["podman", "docker-registry", "openssl"]
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing or "podman" not in runtimes:
        return "no registry: " + (" and ".join(missing) + " missing" if missing else "podman cannot run")
    folder = place.folder / "registry"
    folder.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "key", "-out",
                    folder / "crt", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config.yml").write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}/data}}}}\n"
        f"http: {{addr: '127.0.0.1:{port}', tls: {{certificate: {folder}/crt, key: {folder}/key}}}}\n")
    registry = subprocess.Popen(["docker-registry", "serve", folder / "config.yml"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
    tag = f"127.0.0.1:{port}/team/tiny:1"
    try:
        subprocess.run(["tar", "-C", root, "-cf", folder / "root.tar", "."], check=True)
        subprocess.run(["podman", "import", "--quiet", folder / "root.tar", tag], check=True, capture_output=True)
        push = ["podman", "push", "--quiet", "--tls-verify=false", "--digestfile", folder / "digest", tag]
        pushes = []

        def is_pushed():  # the registry begins to listen at some time
            pushes.append(subprocess.run(push, capture_output=True, text=True))
            return pushes[-1].returncode == 0

        assert wait_until(is_pushed), pushes[-1].stderr
        digest = (folder / "digest").read_text().strip()
        subprocess.run(["podman", "rmi", "--force", tag], check=True, capture_output=True)
        recipes = pathlib.Path(environment["XDG_CONFIG_HOME"]) / "nocturne" / "images"
        recipes.joinpath("hub.json").write_text(json.dumps(
            {"image": "hub", "kind": "reference", "reference": f"127.0.0.1:{port}/team/tiny@{digest}"}))
        check_campaign(place, "hub", runtimes, "hub", environment)
        recipes.joinpath("hub.json").write_text(json.dumps(
            {"image": "hub", "kind": "reference", "reference": f"127.0.0.1:{port}/team/tiny:1"}))
        done = place.run("tune", place.write(container_campaign("tagged", runtimes[:1], "hub"), "tagged.json"),
                         env=environment)
        assert "a tag alone" in done.stdout + done.stderr, done.stderr
        for runtime in ("podman", "charliecloud"):
            if runtime in runtimes:
                check_request(place, runtime, f"docker://{tag}", environment)
    finally:
        registry.kill()
        registry.wait()
    return ""


def main():
    with Workspace() as place:
        runtimes, _, environment = with_tiny_image(place)
        check_campaign(place, "tiny", ["host", *runtimes], "tiny", environment)
    with Workspace() as place:
        environment["XDG_CONFIG_HOME"] = str(place.folder / "config")
        (place.folder / "config" / "nocturne" / "images").mkdir(parents=True)
        make_root(place.folder / "root")
        if why_not := with_registry(place, place.folder / "root", runtimes, environment):
            print(why_not)
            sys.exit(77)


if __name__ == "__main__":
    main()
