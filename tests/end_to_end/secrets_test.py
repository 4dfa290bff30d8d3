"""What stands in the caller's environment stays there: of its variables only a short list of those that govern the measurement
is ever written down, into the database, run folders, logs, profiles, or onto the terminal.
"""

import os
import sys
import unittest

from workspace import Workspace, campaign

SECRET = "xyzzy-0f4c7a91e5-plugh"
NAMES = ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HF_TOKEN", "PGPASSWORD", "MY_OWN_VARIABLE", "OMP_TOOL_LIBRARIES"]


def environment():
    variables = dict(os.environ, **{name: SECRET for name in NAMES})
    for name in ["HTTPS_PROXY", "https_proxy", "PIP_INDEX_URL"]:
        variables[name] = f"https://somebody:{SECRET}@127.0.0.1:9/"
    return variables


class Secrets(unittest.TestCase):
    def assert_nowhere(self, workspace, outputs):
        for done in outputs:
            self.assertNotIn(SECRET, done.stdout, done.args)
            self.assertNotIn(SECRET, done.stderr, done.args)
        seen = 0
        for path in sorted(workspace.folder.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            seen += 1
            self.assertNotIn(SECRET.encode(), path.read_bytes(), str(path))
        self.assertGreater(seen, 5)

    def test_neither_database_nor_exports_nor_run_folders_have_them(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=12))
            run = lambda *words: workspace.run(*words, env=environment())
            outputs = [run("tune", file)]
            self.assertEqual(outputs[0].returncode, 0, outputs[0].stderr)
            for words in [("best", "--json"), ("show", "0"), ("show", "0", "--json"), ("list", "--json"), ("doctor",),
                          ("doctor", "--json"), ("export", "--format", "json", "--force"),
                          ("export", "--format", "env", "--force"), ("export", "--format", "sh", "--force")]:
                outputs.append(run(*words))
                self.assertIn(outputs[-1].returncode, (0, 1, 5), (words, outputs[-1].stderr))
            self.assert_nowhere(workspace, outputs)

    def test_a_command_of_ones_own_has_them_and_nobody_else(self):
        with Workspace() as workspace:
            script = workspace.folder / "train.py"
            # It needs its secret to train, and says nothing of it.
            script.write_text("import os, sys, time\n"
                              f"sys.exit(0 if len(os.environ['HF_TOKEN']) == {len(SECRET)} and not time.sleep(0.02) else 9)\n")
            done = workspace.run("tune", "--trials", "3", "--", sys.executable, str(script), cwd=workspace.folder,
                                 env=environment())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_nowhere(workspace, [done, workspace.run("list", "--json", env=environment())])


if __name__ == "__main__":
    unittest.main()
