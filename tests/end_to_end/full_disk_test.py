"""The disk is full, at each stage of a campaign: what happens is a sentence, nothing is damaged, and it goes on when there
is room again. Needs a mount namespace of its own, in which small file systems are mounted: root has one, and other users
where the kernel lets them. Skipped without.
"""

import contextlib
import ctypes
import ctypes.util
import errno
import os
import pathlib
import sys
import unittest

from workspace import Workspace, campaign

TRIALS = 8
CLONE_NEWNS, CLONE_NEWUSER, MS_REC, MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 0x40000
LIBC = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)


def own_mounts():
    """Empty, or why this process cannot have mounts of its own (tests/support/small_disk.hpp does the same)."""
    user, group = os.geteuid(), os.getegid()
    if LIBC.unshare(CLONE_NEWNS | (0 if user == 0 else CLONE_NEWUSER)) != 0:
        return os.strerror(ctypes.get_errno())
    if user != 0:  # who is not mapped owns nothing
        for file, text in [("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")]:
            pathlib.Path("/proc/self", file).write_text(text)
    # In a chroot "/" is no mount, and what is mounted below it is whose root that is to keep apart.
    if LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0 and ctypes.get_errno() != errno.EINVAL:
        return os.strerror(ctypes.get_errno())
    return ""


class SmallDisk:
    """A file system of that many KiB in a folder."""

    def __init__(self, folder, kibibytes):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        size = f"size={kibibytes}k".encode()
        if LIBC.mount(b"tmpfs", str(folder).encode(), b"tmpfs", 0, size) != 0:
            raise OSError(ctypes.get_errno(), "mount")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        LIBC.umount2(str(self.folder).encode(), 2)

    def fill(self, leave_kibibytes):
        """Takes all but that much."""
        free = os.statvfs(self.folder)
        take = free.f_bavail * free.f_frsize - leave_kibibytes * 1024
        with open(self.folder / "ballast", "wb") as file:
            for _ in range(max(0, take) // 4096):
                file.write(b"x" * 4096)

    def fill_up(self):
        """Takes all there is, whoever else writes."""
        with contextlib.suppress(OSError), open(self.folder / "ballast", "ab", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass

    def make_room(self):
        (self.folder / "ballast").unlink()


class FullDisk(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(campaign(trials=TRIALS)), check=0)
            cls.expected = workspace.finished_trials()

    def goes_on(self, workspace, file):
        if (workspace.data / "nocturne.db").exists():
            with workspace.database() as connection:
                self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        done = workspace.run("tune", file, check=0)
        self.assertEqual(workspace.finished_trials(), self.expected, done.stderr)
        with workspace.database() as connection:
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    def is_told(self, done):
        """It ended with a sentence about room, not with a crash or a defect."""
        self.assertIn(done.returncode, (1, 4, 5), done.stderr)
        self.assertRegex(done.stdout + done.stderr, "(?i)no room|no space")

    def test_everything_on_one_disk_that_fills_at_any_moment(self):
        told = 0
        for leave in [0, 120, 300, 520, 1000]:
            with self.subTest(leave=leave), Workspace() as workspace, SmallDisk(workspace.data, 12 * 1024) as disk:
                file = workspace.write(campaign(trials=TRIALS))
                disk.fill(leave)
                done = workspace.run("tune", file)
                if done.returncode != 0:
                    self.is_told(done)
                    told += 1
                disk.make_room()
                self.goes_on(workspace, file)
        self.assertGreaterEqual(told, 2)

    def test_the_folder_of_the_runs(self):
        for leave in [0, 24]:
            with self.subTest(leave=leave), Workspace() as workspace, SmallDisk(workspace.data / "runs", 8192) as disk:
                file = workspace.write(campaign(trials=TRIALS))
                disk.fill(leave)
                done = workspace.run("tune", file, check=4)
                self.is_told(done)
                # It is not the configurations' fault: none of them has failed.
                with workspace.database() as connection:
                    failed = connection.execute("SELECT outcome, reason FROM trials WHERE outcome <> 'ok'").fetchall()
                self.assertEqual(failed, [])
                disk.make_room()
                self.goes_on(workspace, file)

    def test_the_folder_of_the_profiles(self):
        with Workspace() as workspace, SmallDisk(workspace.data / "profiles", 64) as disk:
            file = workspace.write(campaign(trials=12))
            disk.fill(0)
            done = workspace.run("tune", file, check=0)
            self.assertIn("Best      trial", done.stdout)
            self.assertRegex(done.stdout, "No profile was written: .*[Nn]o space left")
            self.assertEqual([path.name for path in disk.folder.iterdir()], ["ballast"])  # nothing half
            disk.make_room()
            workspace.run("export", "--format", "json", check=0)


if __name__ == "__main__":
    if why := own_mounts():
        print(f"skipped: no mounts of its own: {why}", file=sys.stderr)
        sys.exit(77)
    unittest.main(verbosity=2)
