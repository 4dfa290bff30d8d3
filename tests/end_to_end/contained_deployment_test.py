"""What was measured in a container is deployed in it: `apply` and the exported script, for every runtime that can run here.

The image is made of the fake worker and its libraries, and nothing else is in it: what runs there is told from the host by
what it lacks. Skipped (77) where no runtime can run."""

import json
import shutil
import subprocess

from containers_test import container_campaign, containers_left, with_tiny_image
from workspace import Workspace, wait_until

TOOLS = {"charliecloud": "ch-run"}


def events_of(folder):
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def has_trained(folder):
    events = events_of(folder)
    assert any(event["event"] == "ready" for event in events), events
    assert events[-1]["event"] == "end", events[-1]


def tuned_profile(place, runtime, environment):
    name = f"deployed-{runtime}"
    file = place.write(container_campaign(name, [runtime], "tiny"), f"{name}.json")
    place.run("tune", file, env=environment)
    place.run("export", name, "--force", env=environment, check=0)
    return name, place.data / "profiles" / f"{name}.json"


def check_apply(place, runtime, name, environment):
    plan = json.loads(place.run("apply", name, "--dry-run", "--json", "--steps", "4", env=environment, check=0).stdout)
    assert plan["command"][0] == TOOLS.get(runtime, runtime), plan
    out = place.folder / f"applied-{runtime}"
    place.run("apply", name, "--steps", "4", "--output", out, env=environment, check=0)
    has_trained(out)
    # What is in an image that the runtime keeps, only the runtime knows.
    missing = place.run("apply", name, "--", "/bin/cat", "/etc/passwd", env=environment)
    assert missing.returncode == (127 if runtime in ("podman", "docker") else 125), missing.stderr
    assert "/bin/cat" in missing.stderr, missing.stderr


def check_script(place, runtime, name, environment):
    script = place.data / "profiles" / f"{name}.sh"
    out = place.folder / f"script of {runtime}"
    variables = {**environment, "OUTPUT": str(out), "STEPS": "4", "LD_PRELOAD": "", "OMP_NUM_THREADS": "77"}
    done = subprocess.run(["sh", script], env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    has_trained(out)
    nowhere = place.folder / f"without-{runtime}"
    nowhere.mkdir()
    for tool in ["sh", "sed", "mkdir", "rm", "date", "taskset"]:
        (nowhere / tool).symlink_to(shutil.which(tool))
    done = subprocess.run(["sh", script], env={**variables, "PATH": str(nowhere)}, capture_output=True, text=True)
    assert done.returncode == 5 and "is missing, in which it was measured" in done.stderr, done.stderr


def check_other_image(place, runtime, profile, root, environment):
    """A script and a profile of another image are refused."""
    document = json.loads(profile.read_text())
    other = place.folder / f"other-{runtime}.json"
    if "reference" in document["container"]:
        document["container"]["reference"] = "sha256:" + 64 * "0"
        other.write_text(json.dumps(document))
        expected = "storage as it was measured"
    else:
        other.write_text(json.dumps(document))
        (root / "etc" / "passwd").write_text("another:x:0:0::/:/bin/sh\n")
        expected = "is another one than was measured"
    refused = place.run("apply", other, "--steps", "4", env=environment, check=125)
    assert expected in refused.stderr, refused.stderr
    (root / "etc" / "passwd").write_text("")


def main():
    with Workspace() as place:
        runtimes, root, environment = with_tiny_image(place)
        for runtime in runtimes:
            name, profile = tuned_profile(place, runtime, environment)
            check_apply(place, runtime, name, environment)
            check_script(place, runtime, name, environment)
            check_other_image(place, runtime, profile, root, environment)
            assert wait_until(lambda: not containers_left(runtime)), runtime


if __name__ == "__main__":
    main()
