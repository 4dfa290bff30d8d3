"""A data folder of its own, a campaign for the fake worker, and the program run in it."""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import time

os.environ["COLUMNS"] = "1000"  # sentences in one piece; how pages break is tested by themselves

PATIENCE = 120  # seconds for what takes one: how busy a machine is, is nothing a test is about
# A trial whose run was slowed by others is measured again; of those that were not slowed it has one.
NOT_SLOWED = "coalesce(other_cpu, 0) <= 0.25 AND coalesce(steal, 0) <= 0.1"
NOCTURNE = os.environ.get("NOCTURNE", "")
FAKE_WORKER = os.environ.get("FAKE_WORKER", "")
WORKERS = [b"nocturne_fake_worker", b"nocturne-onednn"]  # as their command lines say


def campaign(name="fake", mode="computed", trials=40, strategy="local", parameters=None, run=None, verify=None):
    """A campaign whose worker is the fake one: step times are a function of the configuration alone."""
    return {
        "campaign": name,
        "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
        "objective": {"minimise": "time", "epochs": [1, 12]},
        "worker": {"command": [FAKE_WORKER, "--mode", mode]},
        "space": {"parameters": parameters or [
            {"name": "batch", "stage": "run", "values": [32, 64, 128, 256], "type": "ordinal", "default": 128},
            {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"},
            {"name": "width", "stage": "run", "range": [1, 20], "default": 10}]},
        "strategy": {"name": strategy, "seed": 5},
        "budget": {"trials": trials},
        "run": {"steps": 12, "deadline": "20s", **(run or {})},
        "verify": {"pairs": 3, "most_pairs": 15, "finalists": 1, "simplify": False, "slices": 2, "slice_steps": 2,
                   "accuracy_epochs": 0, **(verify or {})},
    }


class Workspace:
    def __init__(self, folder=None):
        """`folder`: made where it is missing, and kept; else one for the time being."""
        self.kept = folder is not None
        if self.kept:
            self.folder = pathlib.Path(folder).absolute()
            self.folder.mkdir(parents=True, exist_ok=True)
        else:
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix="nocturne-end-to-end-"))
        self.data = self.folder / "data"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, document, name="campaign.json"):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return str(path)

    def command(self, *arguments):
        return [NOCTURNE, "--data", str(self.data), *map(str, arguments)]

    def run(self, *arguments, check=None, **keywords):
        """Runs to the end. `check`: the exit code that is expected."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=4 * PATIENCE,
                              stdin=subprocess.DEVNULL, **keywords)
        if check is not None and done.returncode != check:
            raise AssertionError(f"{arguments} ended with {done.returncode}, not {check}:\n{done.stdout}\n{done.stderr}")
        if "--json" in arguments and done.stdout:
            self.check_document(done.stdout)
        return done

    def check_document(self, text):
        """What --json printed is the document that it says it is."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            checked = subprocess.run([NOCTURNE, "schema", "--check", file.name], capture_output=True, text=True)
        if checked.returncode != 0:
            raise AssertionError(f"no such document is promised:\n{checked.stdout}{checked.stderr}\n{text}")

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json", check=0).stdout)

    def start(self, *arguments, **keywords):
        return subprocess.Popen(self.command(*arguments), **{
            "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, **keywords})

    @contextlib.contextmanager
    def database(self):
        connection = sqlite3.connect(self.data / "nocturne.db", timeout=30)
        try:
            yield connection
        finally:
            connection.close()

    def finished_trials(self):
        """[(number, configuration)] in the order in which they were told."""
        if not (self.data / "nocturne.db").exists():
            return []
        listed = self.run("list", "trials", "--json")
        if listed.returncode != 0:
            return []  # no campaign yet
        trials = [trial for trial in json.loads(listed.stdout)["trials"] if trial["outcome"] is not None]
        return [(trial["trial"], json.dumps(trial["configuration"], sort_keys=True), trial["outcome"]) for trial in trials]

    def runs_nobody_names(self):
        """Folders of runs that no row of the database names."""
        folders = {entry.name for entry in (self.data / "runs").iterdir()}
        with self.database() as connection:
            return folders - {row[0] for row in connection.execute("SELECT run_id FROM runs")}

    def trials_done(self):
        """How many are finished; cheap enough to be asked again and again. Makes no database where there is none yet."""
        with contextlib.suppress(sqlite3.OperationalError):
            connection = sqlite3.connect(f"file:{self.data / 'nocturne.db'}?mode=rw", uri=True, timeout=30)
            with contextlib.closing(connection):
                return connection.execute("SELECT count(*) FROM trials WHERE state = 'finished'").fetchone()[0]
        return 0


def workers_alive(data_folder):
    """Processes of runs in that data folder."""
    marker = str(data_folder).encode()
    alive = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            arguments = (entry / "cmdline").read_bytes()
            if marker in arguments and any(worker in arguments for worker in WORKERS):
                alive.append(int(entry.name))
    return alive


def working_in(folder):
    """Processes whose working directory is in that folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if pathlib.Path(os.readlink(entry / "cwd")).is_relative_to(folder):
                found.append(int(entry.name))
    return found


def supervisors_of(tuner):
    """Children of that process that watch a run."""
    found = []
    with contextlib.suppress(OSError):
        for children in pathlib.Path(f"/proc/{tuner}/task").glob("*/children"):
            found += [int(pid) for pid in children.read_text().split()
                      if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("nocturne-superv")]
    return found


def wait_until(condition, seconds=PATIENCE):
    """Polls; returns whether it came true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return condition()
