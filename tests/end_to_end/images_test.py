"""Exported images are built and train: `dockerfile` by podman, `charliecloud` by ch-image and ch-run, `apptainer`, offline.

The base image is a shell, its tools and a C library; what the worker is linked with beside comes from the profile. A
value of the configuration tries to become a command on the way. Skipped (77) where none can run."""

import json
import os
import re
import shutil
import subprocess
import sys

from contained_deployment_test import events_of
from containers_test import usable
from workspace import FAKE_WORKER, Workspace, campaign

HOSTILE = "it's \"$(touch /results/marker)\"`touch /results/marker` ${HOME} {{ x }}\n%post\nRUN touch /results/marker\n#\\é"
TOOLS = ["sh", "mkdir", "sed", "date", "rm", "env", "cat", "tr", "taskset", "id"]
OF_THE_C_LIBRARY = ("libc.", "libm.", "ld-linux", "libselinux", "libpcre", "libacl", "libattr", "libcrypto", "libz.", "libsmartcols")


def make_base(root):
    for folder in ["dev", "proc", "sys", "tmp", "etc", "usr/bin", "usr/lib", "usr/lib64", "usr/sbin"]:
        (root / folder).mkdir(parents=True)
    for link in ["bin", "lib", "lib64", "sbin"]:  # as distributions have them
        (root / link).symlink_to(f"usr/{link}")
    for file in ["passwd", "group", "hosts", "resolv.conf"]:
        (root / "etc" / file).touch()
    programs = [shutil.which(tool, path="/usr/bin:/bin") for tool in TOOLS]
    for program in programs:
        shutil.copy(program, root / "usr/bin")
    for program in [*programs, FAKE_WORKER]:
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+)", said):
            place = root / library.lstrip("/")
            if os.path.basename(library).startswith(OF_THE_C_LIBRARY) and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, place)


def tuned(place):
    document = campaign(name="Image.of__mine", trials=2, parameters=[
        {"name": "threads", "stage": "run", "values": [2], "default": 2},
        {"name": "env.HOSTILE", "stage": "run", "values": [HOSTILE], "default": HOSTILE}])
    program = place.folder / "my programs" / "a worker"  # a path that may hold spaces
    program.parent.mkdir()
    document["worker"]["command"][0] = shutil.copy(FAKE_WORKER, program).as_posix()
    done = place.run("tune", place.write(document))
    assert done.returncode in (0, 1), done.stderr


def export(place, format):
    file = place.folder / f"exported.{format}"
    place.run("export", "Image.of__mine", "--force", "--format", format, "--output", file, check=0)
    return file


def has_trained(folder, epochs):
    found = list(folder.glob("*/events.jsonl")) or list(folder.glob("events.jsonl"))
    assert len(found) == 1, list(folder.iterdir())
    events = events_of(found[0].parent)
    assert events[-1]["event"] == "end", events[-1]
    request = json.loads((found[0].parent / "request.json").read_text())
    assert request["configuration"]["env.HOSTILE"] == HOSTILE, request
    assert request["epochs"] == epochs and request["workload"]["data_folder"] == "/data", request
    assert not list(folder.rglob("marker")), folder


def run(*words, **keywords):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, stdin=subprocess.DEVNULL, **keywords)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def podman_words():
    mixed = os.path.exists("/sys/fs/cgroup/unified") or os.path.exists("/sys/fs/cgroup/systemd")
    systemd = os.path.isdir("/run/systemd/system")
    return ["podman", *(["--runtime", "runc"] if mixed else []), *([] if systemd else ["--cgroup-manager", "cgroupfs"])]


def check_podman(place, root):
    file = export(place, "dockerfile")
    (place.folder / "containers.conf").write_text(
        '[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]\n')
    environment = {**os.environ, "CONTAINERS_CONF": str(place.folder / "containers.conf")}
    podman = podman_words()
    base, image = f"localhost/nocturne-base:{os.getpid()}", f"localhost/nocturne-image:{os.getpid()}"
    results = place.folder / "results of podman"
    results.mkdir()
    try:
        run("tar", "-C", root, "-cf", place.folder / "root.tar", ".")
        run(*podman, "import", "--quiet", place.folder / "root.tar", base)
        run(*podman, "build", "--isolation", "chroot", "--network", "host", "--build-arg", f"BASE={base}", "--tag", image,
            "--file", file, "/", env=environment)
        run(*podman, "run", "--rm", "--network", "none", "--volume", f"{place.folder}/data-set:/data:ro",
            "--volume", f"{results}:/results", image, "--epochs", "2", env=environment)
        layers = run(*podman, "history", "--format", "{{.CreatedBy}}", image)
        assert "printf" not in layers, layers  # that was the first stage
    finally:
        subprocess.run([*podman, "rmi", "--force", image, base], capture_output=True)
    has_trained(results, 2)


def check_charliecloud(place, root):
    script = export(place, "charliecloud")
    environment = {**os.environ, "CH_IMAGE_STORAGE": str(place.folder / "storage"), "USER": "nobody",
                   "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    run("ch-image", "import", root, "base", env=environment)
    variables = {**environment, "BASE": "base", "DATA": str(place.folder / "data-set"), "IMAGE": str(place.folder / "image")}
    for epochs in [1, 3]:  # the second finds its image
        results = place.folder / f"results {epochs}"
        done = subprocess.run(["sh", script, "--epochs", str(epochs)], env={**variables, "OUTPUT": str(results)},
                              capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert ("grown" in done.stdout + done.stderr) == (epochs == 1), (done.stdout, done.stderr)
        has_trained(results, epochs)


def check_apptainer(place, root):
    """As it is exported, but for the hub of its base image: none can be reached."""
    text = export(place, "apptainer").read_text()
    assert text.count("Bootstrap: docker\nFrom: docker.io/library/debian:12-slim\n") == 2, text
    file = place.folder / "local.def"
    file.write_text(text.replace("Bootstrap: docker\nFrom: docker.io/library/debian:12-slim",
                                 f"Bootstrap: localimage\nFrom: {root}"))
    image = place.folder / "image.sif"
    run("unshare", "-Ur", "apptainer", "build", image, file)
    results = place.folder / "results of apptainer"
    results.mkdir()
    run("apptainer", "run", "--bind", f"{place.folder}/data-set:/data:ro", "--bind", f"{results}:/results", "--pwd",
        "/results", image, "--epochs", "2")
    has_trained(results, 2)


def main():
    with Workspace() as place:
        checks = {"podman": check_podman, "charliecloud": check_charliecloud, "apptainer": check_apptainer}
        runtimes = [runtime for runtime in usable(place) if runtime in checks]
        if not runtimes:
            print("no container runtime can run here")
            sys.exit(77)
        root = place.folder / "root"
        make_base(root)
        (place.folder / "data-set").mkdir()
        tuned(place)
        for runtime in runtimes:
            checks[runtime](place, root)
            print(f"{runtime}: built, and it trains")


if __name__ == "__main__":
    main()
