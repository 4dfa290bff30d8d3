"""The Debian package: what it holds; in an empty Debian of the same release it trains, applies what it found, and goes."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("BUILD_FOLDER", "")
SOURCES = next((each for each in map(pathlib.Path, ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"])
                if each.exists()), None)
# Its own /proc and a root of its own; nothing of this machine's environment.
ENTER = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", """
set -e
root=$1
shift
mount --make-rprivate /
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
exec chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 COLUMNS=1000 DEBIAN_FRONTEND=noninteractive "$@"
""", "sh"]


PROGRAMS = ["nocturne", "nocturne-supervisor", "nocturne-command-worker", "nocturne-machine"]


@unittest.skipUnless(shutil.which("cpack") and shutil.which("dpkg-shlibdeps"), "no cpack or dpkg-dev")
class DebianPackage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="nocturne-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.root = cls.folder / "root"
        subprocess.check_call(["cpack", "-G", "DEB", "-B", cls.folder], cwd=BUILD, stdout=subprocess.DEVNULL)
        cls.package, = cls.folder.glob("nocturne_*.deb")

    def inside(self, *words):
        done = subprocess.run([*ENTER, self.root, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_it_holds_the_programs_and_names_what_they_need(self):
        files = subprocess.check_output(["dpkg-deb", "-c", self.package], text=True)
        for program in PROGRAMS:
            self.assertIn("./usr/bin/%s\n" % program, files)
        self.assertIn("./usr/share/nocturne/examples/mnist.json\n", files)
        field = lambda name: subprocess.check_output(["dpkg-deb", "-f", self.package, name], text=True)
        self.assertRegex(field("Depends"), r"libsqlite3-0.*libstdc\+\+6")
        self.assertIn("libhwloc15", field("Depends"))
        self.assertIn("nlohmann-json3-dev", field("Recommends"))
        self.assertNotIn("__pycache__", files)

    @unittest.skipUnless(SOURCES and os.getuid() == 0 and shutil.which("mmdebstrap"), "needs root on Debian and mmdebstrap")
    def test_from_nothing_to_a_training_by_its_profile_and_away_again(self):
        # ca-certificates: sources may be reached by https alone. Lists are kept, for the package's dependencies.
        subprocess.check_call(["mmdebstrap", "--quiet", "--variant=apt", "--include=ca-certificates", "--skip=cleanup/apt",
                               "", self.root, SOURCES])
        shutil.copy(self.package, self.root / "root" / "nocturne.deb")
        self.inside("apt-get", "install", "--yes", "--no-install-recommends", "/root/nocturne.deb")
        for absent in ["git", "cmake", "g++"]:
            self.assertFalse((self.root / "usr/bin" / absent).exists(), absent)
        tuned = self.inside("nocturne", "tune", "/usr/share/nocturne/examples/mnist.json", "--trials", "2", "--json", "--set",
                            '/verify={"pairs": 3, "most_pairs": 3, "accuracy_epochs": 0}')
        self.assertIn('"outcome": "ok"', tuned.stdout)
        self.inside("nocturne", "export", "mnist", "--force", "--format", "json", "--output", "/root/mnist.json")
        self.assertIn('"program": "/usr/bin/nocturne-onednn"', (self.root / "root/mnist.json").read_text())
        applied = self.inside("nocturne", "apply", "/root/mnist.json", "--steps", "20")
        events = (applied.stdout + applied.stderr).split("results: ")[1].splitlines()[0]
        self.assertIn('"event":"sample"', (self.root / events.lstrip("/")).read_text().replace(" ", ""))
        self.inside("apt-get", "purge", "--yes", "nocturne")
        self.assertFalse((self.root / "usr/bin/nocturne").exists())
        self.assertFalse((self.root / "usr/share/nocturne").exists())
        self.assertTrue((self.root / "root/.local/share/nocturne").exists())  # what was measured stays


unittest.main()
