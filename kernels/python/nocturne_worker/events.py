"""The worker's side of the protocol: one JSON line an event, appended by one write (measure/protocol/README.md)."""

import json
import math
import os
import time

PROTOCOL = 1


def number(value):
    """JSON has no infinity; a loss that is none travels as a word."""
    value = float(value)
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def nanoseconds(seconds):
    return max(0, int(round(seconds * 1e9)))


class EventWriter(object):
    """Appends to a file opened with O_APPEND: a torn line can only be the last. Raises OSError where it cannot be
    written: a worker without a voice must stop."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._phases = {}

    def _write(self, event, **fields):
        line = json.dumps(dict(fields, event=event), allow_nan=False, sort_keys=True).encode("utf-8") + b"\n"
        while line:
            line = line[os.write(self._file, line):]

    def hello(self, worker):
        self._write("hello", protocol=PROTOCOL, worker=worker)

    def phase_begin(self, name):
        self._write("phase_begin", name=name)
        self._phases[name] = (time.perf_counter(), time.process_time())

    def phase_end(self, name):
        wall, cpu = self._phases.pop(name)
        self._write("phase_end", name=name, wall_s=time.perf_counter() - wall, cpu_s=time.process_time() - cpu)

    def ready(self, fields):
        self._write("ready", **fields)

    def sample(self, first_step, steps, wall_s, cpu_s, data_wait_s, loss):
        """Times in seconds; `loss` is the mean over the batch of the last step."""
        self._write("sample", first_step=first_step, steps=steps, wall_ns=max(1, nanoseconds(wall_s)),
                    cpu_ns=nanoseconds(cpu_s), data_wait_ns=nanoseconds(data_wait_s), loss=number(loss))

    def epoch(self, index, wall_s, loss):
        self._write("epoch", index=index, wall_s=wall_s, loss=number(loss))

    def accuracy(self, accuracy, loss, examples):
        self._write("accuracy", accuracy=accuracy, loss=number(loss), examples=examples)

    def accuracy_after(self, steps, accuracy, loss, examples):
        """A point of a learning curve, after so many training steps."""
        self._write("accuracy", steps=steps, accuracy=accuracy, loss=number(loss), examples=examples)

    def norms(self, steps, layers):
        """`layers`: [(name, norm, moved)]."""
        self._write("norms", steps=steps, layers=[
            {"layer": name, "norm": number(norm), "moved": number(moved)} for name, norm, moved in layers])

    def memory(self, peak_rss_bytes, device_bytes):
        self._write("memory", peak_rss_bytes=peak_rss_bytes, device_bytes=device_bytes)

    def end(self, status, reason):
        self._write("end", status=status, reason=reason)
