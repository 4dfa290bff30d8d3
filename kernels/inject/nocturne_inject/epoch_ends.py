"""What stands between two epochs, in a run of seconds: the first epochs are cut short, so that their ends are seen.

    Ends(session)            of a process; empty where NOCTURNE_INJECT_EPOCH=STEPS,EXAMPLES[,EVERY] asks for none
    ends.cut(known, loader)  lets a DataLoader of PyTorch over so many examples end after so many steps
    ends.asked(known)        the first batch of an epoch of such a loader is asked for
    ends.last_comes(...)     the first batch of a cut epoch's last step has come
    ends.tell(recorder, s)   an end took so many seconds

An end is an evaluation, a checkpoint, what is compiled anew for either and for the smaller last batch. len(loader) stays
what it was, for schedules are made of it; so a trainer that counts batches itself would leave its evaluation out:
Lightning's and Ignite's are told another number for these epochs. Keras's fit is stopped by its own callback (keras.py).
Each rank of several counts for itself, and all cut alike.

Where some of what ends an epoch comes back behind each EVERY-th one only (an evaluation, `if epoch % 5 == 0`), the first
epoch and EVERY more are cut: each end is told as the mean of so many.
"""

import sys
import weakref

from . import loops


class Ends(object):
    def __init__(self, session):
        asked = session.environment.get("NOCTURNE_INJECT_EPOCH", "")
        numbers = [int(each) for each in asked.split(",")] if asked else [0, 0]
        self.steps, self.examples, self.every = numbers if len(numbers) == 3 else numbers + [1]
        self.batch = int(session.environment.get("NOCTURNE_INJECT_BATCH") or 0)  # examples of a step
        self.session = session
        self.ended = 0     # epochs that were cut
        self.told = 0      # ends, of whole epochs too
        self.first = None  # seconds of the first one, until those that say what of it comes back are told
        self.taken = []    # seconds of those since, of `every` at most
        self.since = None  # the end of the last step before the end that is under way, and steps until then
        self.begun = None  # the Cut whose epoch has begun last
        self.counts = None    # what counts its batches
        self.changed = None   # what counts, and was told another number
        self.evaluations = 1  # of a whole epoch, for each of which the one at its end stands

    def __bool__(self):
        return self.steps > 0

    def asks_for_more(self):
        return bool(self) and self.ended <= self.every

    def are_alike(self, every):
        """Whether those that are looked at stand for all others where a part of an end comes back behind so many epochs."""
        return self.every % every == 0

    def is_last(self, step):
        """Whether the epoch that has begun ends behind its step of this number, the first one's being 1."""
        return self.begun is not None and self.begun.cuts and step == self.steps

    def tell(self, recorder, seconds):
        self.told += 1
        took, tells = max(0.0, seconds), []
        if self.told == 1:
            self.first = took
        else:
            self.taken.append(took)
        if len(self.taken) == self.every:
            each = self.evaluations * sum(self.taken) / self.every
            if self.first is not None:  # What it took beyond the one that had the same parts is paid once.
                tells, self.first = [each + max(0.0, self.first - took)], None
            tells, self.taken = tells + [each], []
        recorder.epoch_ended(tells, self.told == 1 + self.every)

    def begins(self, cut, frame):
        """An epoch begins. Returns whether it is cut: nobody shall evaluate a part of the training's data instead of all."""
        if self.begun:
            self.begun.end()
        self.begun, self.counts = cut, None
        if not self.asks_for_more() or not sys.modules["torch"].is_grad_enabled():
            return False
        counts = counter_of(frame)
        if counts is None:
            return not any(loops.called_by(frame, each.PACKAGES) for each in COUNTERS)
        alike = self.are_alike(counts.every)
        if alike:
            self.counts = counts
        return alike

    def cut(self, known, loader):
        """What cuts the loader's epochs, or None. `known`: what levers.Loader says of it, its examples too."""
        batches = loader.batch_sampler
        if isinstance(batches, Cut):  # of a loader that another one is made of
            return batches
        a_step = max(1, self.batch // known.batch) if known.batch else 1
        if batches is None or known.kind != "map" or known.examples != self.examples:
            return None
        if not known.batches or known.batches < 2 * self.steps * a_step:
            return None
        rest = known.examples % known.batch if known.batch and not loader.drop_last else 0
        part = (rest or known.batch or 1) / float(known.batch or 1)
        cut = loader.__dict__["batch_sampler"] = Cut(loader, self, self.steps * a_step, rest, (self.steps - 1) * a_step, part)
        return cut

    def last_comes(self, recorder):
        recorder.pass_over()  # it may be smaller, and is told with the end
        if self.counts is not None:
            self.since = recorder.last, recorder.steps

    def asked(self, known):
        """Returns whether an epoch has ended by a number, so that nobody asked more of it than it had."""
        ended = self.changed is not None
        if ended:
            self.changed.put_back()
            self.changed = None
        is_counted = known.cut is self.begun and self.counts is not None
        batches = is_counted and self.counts.batches() or 0
        if batches > known.cut.most:
            self.changed = self.counts
            if batches < len(known.cut):  # the loader's last one, which may be smaller, is none of the epoch's
                known.cut.rest, known.cut.part = 0, 1.0
            self.evaluations = self.counts.cut(known.cut.most)
        return ended

    def batches_counted(self, frame):
        """Of a whole epoch, by a trainer that may be told to train on a part of the loader's; None: no number."""
        counts = self.changed or counter_of(frame)
        batches = counts and counts.batches()
        return batches if isinstance(batches, int) else None


class Counter(object):
    """Who ends an epoch, with its evaluation, by the number of batches: the first of its numbers."""

    whole = None  # its numbers as they were, while an epoch is cut
    every = 1     # epochs after which an end has an evaluation

    def batches(self):
        """Of a whole epoch. What it is before an epoch has begun is the library's affair."""
        return (self.whole or self.numbers())[0]

    def cut(self, most):
        """Lets the epoch end after so many batches. Returns for how many evaluations of a whole epoch the one at its end
        stands."""
        self.whole = self.numbers()
        return self.end_at(most)

    def put_back(self):
        self.tell(*self.whole)
        self.whole = None


class Lightning(Counter):
    """Its Trainer. `own`: one of its objects; any other, as one of a release with other names, raises what it likes."""

    PACKAGES = ("lightning", "pytorch_lightning")

    def __init__(self, own):
        self.trainer = getattr(own, "trainer", own)
        self.numbers()
        self.every = self.trainer.check_val_every_n_epoch or 1

    def numbers(self):
        return self.trainer.fit_loop.max_batches, self.trainer.val_check_batch

    def tell(self, batches, evaluates):
        self.trainer.fit_loop.max_batches, self.trainer.val_check_batch = batches, evaluates

    def end_at(self, most):
        batches, evaluates = self.whole
        whole_only = evaluates is None or not self.trainer.check_val_every_n_epoch or not most < evaluates <= batches
        self.tell(most, evaluates if whole_only else most)
        return 1 if whole_only else batches // evaluates


class Ignite(Counter):
    """Its Engine, whose handlers of an epoch's end evaluate."""

    PACKAGES = ("ignite",)

    def __init__(self, own):
        self.state = own.state
        self.numbers()

    def numbers(self):
        return (self.state.epoch_length,)

    def tell(self, batches):
        self.state.epoch_length = batches

    def end_at(self, most):
        self.tell(most)
        return 1


COUNTERS = (Lightning, Ignite)


def counter_of(frame):
    """The innermost that asks for batches; None: none does."""
    for kind in COUNTERS:
        for each in loops.called_by(frame, kind.PACKAGES):
            try:
                return kind(each.f_locals.get("self"))
            except Exception:  # no such object, or a module that is no Trainer's yet
                pass
    return None


class Cut(object):
    """The batch sampler of a loader: its epochs have `most` batches while there are ends to be seen, the last one of `rest`
    examples.

    Where another sampler stands in front of it, which begins it again and again, it gives all batches, and the loader's own
    iterator is stopped (loaders.py): the last one is as large as the others then."""

    def __init__(self, loader, ends, most, rest, before, part):
        self.loader = weakref.ref(loader)
        self.batches, self.ends, self.most, self.rest = loader.batch_sampler, ends, most, rest
        self.before, self.part = before, part  # of the last step: batches before it, and its part of a whole one
        self.cuts = False                      # the epoch that began last
        self.given = 0                         # batches of it

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        if getattr(self.loader(), "batch_sampler", self) is not self:
            return iter(self.batches)
        self.cuts = self.ends.begins(self, sys._getframe(1))
        return self.first_ones() if self.cuts else iter(self.batches)

    def begins_round(self, frame):
        self.part = 1.0
        self.cuts = self.ends.begins(self, frame)

    def first_ones(self):
        for index, batch in enumerate(self.batches, 1):
            self.given = index
            yield batch[:self.rest] if self.rest and index == self.most else batch
            if index == self.most:
                break
        self.end()

    def end(self):
        """No more is asked of this epoch; by who counts batches, not even one too many."""
        if self.given == self.most and self.ends.session.speaks is not None:  # what is read before anything has trained is none
            self.ends.ended += 1
        self.given = 0

    def __getattr__(self, name):  # of the one that it stands for, which a copy lacks at first
        if name == "batches":
            raise AttributeError(name)
        return getattr(self.batches, name)
