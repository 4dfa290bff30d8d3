"""A profile of the host is moved into each container that can run here: measured in pairs, and deployed there.

The fake worker computes its times from its configuration, so that what a container costs is known. Skipped (77) where no runtime can run."""

import json

from contained_deployment_test import TOOLS, has_trained
from containers_test import containers_left, with_tiny_image
from workspace import Workspace, campaign, wait_until


def step_ns(configuration):
    """As the fake worker computes it."""
    digest = 14695981039346656037
    for byte in json.dumps(configuration, sort_keys=True, separators=(",", ":")).encode():
        digest = (digest ^ byte) * 1099511628211 % 2**64
    return 20_000 + digest % 180_000


def check(place, runtime, environment):
    done = place.run("deploy", "moving", "--runtime", runtime, "--image", "tiny", "--pairs", "3", "--most-pairs", "3",
                     "--json", env=environment, check=0)
    said = json.loads(done.stdout)
    print(runtime, {key: said[key] for key in ["verdict", "gain_percent", "low_percent", "high_percent", "pairs"]})
    assert said["digest"].startswith("sha256:") and said["pairs"] == 3, said
    profile = json.loads(open(said["files"]["json"]).read())
    expected = 100 * (step_ns(profile["verdict"]["baseline"]) / step_ns(profile["configuration"]) - 1)
    assert abs(said["gain_percent"] - expected) < 2, (said, expected)
    assert said["verdict"] == profile["verdict"]["verdict"] == ("faster" if expected > 0 else "slower"), said
    assert profile["container"]["digest"] == said["digest"], profile
    assert profile["verdict"]["baseline"]["container"] == "host", profile
    plan = json.loads(place.run("apply", f"moving-{runtime}", "--dry-run", "--json", env=environment, check=0).stdout)
    assert plan["command"][0] == TOOLS.get(runtime, runtime), plan
    out = place.folder / f"applied-{runtime}"
    place.run("apply", f"moving-{runtime}", "--steps", "4", "--output", out, env=environment, check=0)
    has_trained(out)
    again = place.run("deploy", f"moving-{runtime}", "--runtime", runtime, env=environment, check=2)
    assert f"it was measured in the container {runtime} already" in again.stderr, again.stderr
    assert wait_until(lambda: not containers_left(runtime)), runtime


def main():
    with Workspace() as place:
        runtimes, _, environment = with_tiny_image(place)
        tuned = place.run("tune", place.write(campaign(name="moving", trials=4)), env=environment)
        assert tuned.returncode in (0, 1), tuned.stderr
        place.run("export", "moving", "--force", env=environment, check=0)
        for runtime in runtimes:
            check(place, runtime, environment)


if __name__ == "__main__":
    main()
