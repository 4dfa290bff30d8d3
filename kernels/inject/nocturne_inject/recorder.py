"""Writes the events of the process that trains, from what the hooks of a framework tell it.

    recorder = session.recorder    once session.begin_to_speak() said yes, at the first sign of training
    recorder.facts.update(...)     before the first step() has ended: batch, steps_per_epoch, examples_per_epoch, versions
    recorder.lap(kind)             what passed since the last lap was "data", "forward", "backward", "optimizer" or "other"
    recorder.step(loss, count)     a step has ended, or `count` of them in one call. loss: None, or anything float() understands; asked on samples alone
    recorder.epoch()               what passed since the last step is no part of a step
    recorder.epoch_started(s)      of what passed, these seconds were for a loader's processes: each epoch has them
    recorder.pass_over()           the steps to come are no samples, until:
    recorder.epoch_ended(each, last)  of what passed, a part was the end of an epoch, and the last one that is awaited;
                                   each: seconds of ends that are known by now

The clock is that of nocturne_steps.py, whose recorder this is, with these differences: data and graphs before the first
step are the first step's; it ends by os._exit(0); it stops the process's descendants while it waits for a turn, and drops
the steps that follow; and it may be without a file, where only the report or the training check is asked for.
"""

import atexit
import collections
import importlib.util
import os
import signal
import sys
import time

KINDS = ("data", "forward", "backward", "optimizer", "other")
PARTS = ("forward", "backward", "optimizer")  # of them, in samples; waiting for data has a name of its own
TOLD_S = 0.1  # after so long samples are written
DROPPED = 5  # steps after a turn's wait: queues that a loader filled meanwhile made up to 14 look free
LOOK_STEPS = 20  # more, as often as it takes
MOST_LOOKED_AT = 2000
MOST_STARTS = 1000  # of epochs, that are told
MOST_AWAITED = 500  # steps, for an epoch's end before the first turn
FEWEST_OF_DRIFT = 10  # samples in a quarter
DRIFTS = 1.3  # times as long
QUIET_S = 60  # without a sign of training for so long, the report says so


def _load_steps():
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for path in (os.path.join(folder, "nocturne_steps.py"),
                 os.path.join(os.path.dirname(os.path.realpath(folder)), "python", "nocturne_steps.py")):
        if os.path.exists(path):
            spec = importlib.util.spec_from_file_location("_nocturne_steps", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError("nocturne_steps.py is not in %s" % folder)


steps = _load_steps()


def speaks(session):
    """Whether this process is the one that trains and is listened to: the first one that asks."""
    environment = session.environment
    if any(environment.get(name, "0") not in ("", "0") for name in ("RANK", "LOCAL_RANK")):
        return False
    if getattr(sys.modules.get("nocturne_steps"), "_recorder", None) is not None:
        session.note("the script tells its steps itself, by nocturne_steps")
        return False
    if steps._is_first(environment):
        return True
    session.note("another process of this training is the one that is timed")
    if session.report:
        session.report.another_trains()
    return False


def _descendants(pid):
    """Process ids of the children of `pid`, and of theirs; empty where /proc does not tell."""
    parents = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    parents.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
            except (OSError, ValueError, IndexError):
                pass  # it has ended meanwhile
    found, left = [], [pid]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found


def _signal(processes, number):
    for process in processes:
        try:
            os.kill(process, number)
        except OSError:
            pass


class Recorder(steps._Recorder):
    KINDS = KINDS

    def __init__(self, session):
        self.session = session
        self.facts = {"versions": {"python": sys.version.split()[0]}}
        self.samples = collections.deque(maxlen=MOST_LOOKED_AT)  # (steps, wall seconds)
        self.spent_in_all = dict.fromkeys(KINDS, 0.0)
        self.wall_in_all = 0.0
        self.stopped = []   # descendants that wait with this process
        self.untold = []    # samples
        self.first_start = 0.0  # seconds, of the epoch that the first step is in
        self.starts = 0     # of epochs, that were told
        self.watch = None   # that of a deployment, from the end of the first step on
        self.told_at = 0.0
        self.held = None    # lines, while ends of epochs are awaited before the first turn
        self.awaited = []   # ends of steps meanwhile
        environment = dict(session.environment)
        if not environment.get("NOCTURNE_STEPS_EVENTS"):
            environment["NOCTURNE_STEPS_EVENTS"] = os.devnull
        super(Recorder, self).__init__(environment)
        atexit.register(self.tell_the_rest)
        if session.report and session.report.path:
            self.step = self.step_and_look
        self.usual_step = self.step

    def begin(self):
        imported, cpu = self.session.imported_at
        self.import_ended(imported, cpu)
        self.write(event="phase_begin", name="first_step")
        self.restart()
        if self.mark - imported > QUIET_S:
            self.session.note("the first step began %.0f s after the framework's import" % (self.mark - imported))
        self.mark, self.mark_cpu = imported, cpu

    def lap(self, kind):
        now = time.monotonic()
        passed, self.lapped = now - self.lapped, now
        self.spent_on[kind] += passed

    def epoch(self, credit=0.0, credit_cpu=0.0):
        """`credit`: of what has just passed, the seconds of waiting for data that are a step's all the same."""
        super(Recorder, self).epoch()
        if self.steps >= 0:
            self.outside -= credit
            self.outside_cpu -= credit_cpu
            self.spent_on["data"] += credit
        else:
            self.spent_on = dict.fromkeys(KINDS, 0.0)
            self.lapped = time.monotonic()

    def epoch_started(self, seconds):
        if self.steps < 0:
            self.first_start = seconds  # told behind the first step, whose time it is, too
        elif self.starts < MOST_STARTS:
            self.starts += 1
            self.write(event="phase_begin", name="epoch_start")
            self.write(event="phase_end", name="epoch_start", wall_s=seconds, cpu_s=0.0)

    def pass_over(self):
        self.step = self.step_passed_over

    def step_passed_over(self, loss, count=1):
        pass

    def step_awaited(self, loss, count=1):
        self.last = time.monotonic()
        self.awaited.append(self.last)
        if len(self.awaited) > MOST_AWAITED:
            self.session.note("no epoch ended within %d steps" % MOST_AWAITED)
            self.step = self.begin_turns

    def epoch_ended(self, each, last):
        for seconds in each:
            self.write(event="phase_begin", name="epoch_end")
            self.write(event="phase_end", name="epoch_end", wall_s=seconds, cpu_s=0.0)
        awaits = self.begin_turns if last else self.step_awaited
        self.step = self.usual_step if self.held is None else awaits

    def begin_turns(self, loss, count=1):
        """At the end of a step behind the ends that were awaited: whoever gives turns hears of the first step only now."""
        self.release()
        self.wait_for_turn()
        self.restart()

    def release(self):
        held, self.held, self.step = self.held or (), None, self.usual_step
        for line in held:
            self.put(line)

    def first_ended(self, loss):
        if self.turns_path and self.session.environment.get("NOCTURNE_INJECT_EPOCH"):
            self.held, self.step = [], self.step_awaited
        self.ready()
        super(Recorder, self).first_ended(loss)
        if self.first_start:
            self.epoch_started(self.first_start)
        if self.session.environment.get("NOCTURNE_WATCH"):
            self.session.guarded(self.begin_watch)()

    def begin_watch(self):
        from . import watch
        self.watch = watch.Watch(self, self.session.environment)

    def ready(self):
        expected, batch = self.session.environment.get("NOCTURNE_INJECT_BATCH"), self.facts.get("batch")
        if expected and batch and int(expected) != batch:
            self.refuse("failed", "a step has %d examples, and %s were expected: another amount of work cannot be "
                                  "compared" % (batch, expected))
        self.write(event="ready", timing="steps", **self.facts)

    def step_and_look(self, loss, count=1):
        self.session.guarded(self.session.report.length.stepped)(sys._getframe(1), self.steps + 1)
        Recorder.step(self, loss, count)

    def fall_silent(self):
        self.session.listening = False

    def tell(self, *sample):
        self.untold.append(sample)
        if self.watch:
            self.session.guarded(self.watch.sample)(*sample[1:5])
        if self.last - self.told_at > TOLD_S or not self.room:
            self.tell_all()

    def tell_all(self):
        """Many samples at once: a line takes ten times as long where a step's work has filled the processor's caches."""
        untold, self.untold, self.told_at = self.untold, [], self.last
        for sample in untold if self.ours() else ():
            _, steps, wall, _, spent_on, _ = sample
            self.samples.append((steps, wall))
            self.wall_in_all += wall
            for kind, seconds in spent_on.items():
                self.spent_in_all[kind] += seconds
            super(Recorder, self).tell(*sample, **{kind + "_ns": spent_on[kind] * 1e9 for kind in PARTS
                                                   if self.spent_in_all[kind]})

    def put(self, line):
        if self.untold:
            self.tell_all()
        if self.held is not None:
            self.held.append(line)
        else:
            super(Recorder, self).put(line)

    def step_seconds(self):
        """The median of the samples' steps; None before the first."""
        each = sorted(wall / count for count, wall in self.samples)
        if not each:
            each = sorted(end - begin for begin, end in zip(self.awaited, self.awaited[1:]))
        return each[len(each) // 2] if each else None

    def drift(self):
        """Seconds of a step in the first quarter and in the last of those that were seen, where it becomes shorter, or longer, from
        one quarter to the next by so much in all that it is no noise; None: it does not, or too few are known."""
        each = [wall / count for count, wall in self.samples]
        quarter = len(each) // 4
        if quarter < FEWEST_OF_DRIFT:
            return None
        medians = [sorted(each[at:at + quarter])[quarter // 2] for at in range(0, 4 * quarter, quarter)]
        steady = medians in (sorted(medians), sorted(medians, reverse=True))
        return (medians[0], medians[3]) if steady and max(medians) > DRIFTS * min(medians) else None

    def round(self):
        """{steps, seconds} of one, where no loader says what an epoch is; None: none is seen."""
        from . import rounds
        single = not self.knows_loader() and all(count == 1 for count, _ in self.samples)
        found = rounds.found([wall for _, wall in self.samples]) if single else None
        return found and {"steps": found[0], "seconds": found[1]}

    def knows_loader(self):
        return any(self.facts.get(name) for name in ("batch", "steps_per_epoch"))

    def share(self):
        """{kind: part of the time of the steps}; kinds that were never told are missing."""
        told = {kind: seconds / self.wall_in_all for kind, seconds in self.spent_in_all.items()
                if seconds} if self.wall_in_all else {}
        if told:
            told["other"] = max(0.0, 1 - sum(part for kind, part in told.items() if kind != "other"))
        return {kind: round(part, 4) for kind, part in told.items()}

    def wait_for_turn(self):
        if self.held is not None:
            return
        while True:  # one that is being stopped may still start another
            more = [each for each in _descendants(os.getpid()) if each not in self.stopped]
            if not more:
                break
            _signal(more, signal.SIGSTOP)
            self.stopped += more
        try:
            super(Recorder, self).wait_for_turn()
        finally:
            self.go_on()
        self.dropped = DROPPED

    def go_on(self):
        _signal(self.stopped, signal.SIGCONT)
        self.stopped = []

    def refuse(self, status, reason):
        """Ends the run, which cannot be compared with others."""
        self.write(event="end", status=status, reason=reason)
        self.session.note(reason)
        self.leave(1)

    def looks_on(self):
        """Whether more steps are looked at than were asked for: they may come in rounds."""
        look = float(self.session.environment.get("NOCTURNE_INJECT_LOOK") or 0)
        if not look or self.knows_loader():
            return False
        self.tell_all()
        return self.wall_in_all < look and len(self.samples) + LOOK_STEPS <= MOST_LOOKED_AT and not self.round()

    def finish(self):
        if self.session.guarded(self.looks_on)():
            self.limit += LOOK_STEPS
            self.room += LOOK_STEPS
            return
        self.say_ended()
        self.leave(0)

    def tell_the_rest(self):
        self.tell_all()
        if self.held and self.ours():
            self.release()

    def leave(self, code):
        self.go_on()
        self.tell_the_rest()
        self.session.write_report()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # closed, or a reader that has gone: as at any exit
                pass
        os._exit(code)
