"""What stands between two epochs, in a run of seconds: the first two epochs are cut short, so that their ends are seen.

    Ends(session)            of a process; empty where NOCTURNE_INJECT_EPOCH=STEPS,EXAMPLES asks for none
    ends.cut(known, loader)  lets a DataLoader of PyTorch over so many examples end after so many steps
    ends.asked(known)        the first batch of an epoch of such a loader is asked for
    ends.last_comes(...)     the first batch of a cut epoch's last step has come
    ends.tell(recorder, s)   an end took so many seconds

An end is an evaluation, a checkpoint, what is compiled anew for either and for the smaller last batch. len(loader) stays
what it was, for schedules are made of it; so a trainer that counts batches itself would leave its evaluation out:
Lightning's is told another number for these epochs, and Ignite's are not cut. Keras's fit is stopped by its own callback
(keras.py). Each rank of several counts for itself, and all cut alike.
"""

import sys
import weakref

from . import loops

CUT = 2  # epochs: the second end is what each later one takes, and the first says what it took beyond that
# Who ends an epoch, with its evaluation, by the number of batches.
LIGHTNING = ("lightning", "pytorch_lightning")
COUNTING = ("ignite",)


class Ends(object):
    def __init__(self, session):
        asked = session.environment.get("NOCTURNE_INJECT_EPOCH", "")
        self.steps, self.examples = (int(each) for each in asked.split(",")) if asked else (0, 0)
        self.batch = int(session.environment.get("NOCTURNE_INJECT_BATCH") or 0)  # examples of a step
        self.session = session
        self.ended = 0     # epochs that were cut
        self.told = 0      # ends, of whole epochs too
        self.since = None  # the end of the last step before the end that is under way, and steps until then
        self.begun = None  # the Cut whose epoch has begun last
        self.counts = None    # the Trainer that counts it
        self.changed = None   # its numbers as they were
        self.evaluations = 1  # of a whole epoch, for each of which the one at its end stands

    def __bool__(self):
        return self.steps > 0

    def asks_for_more(self):
        return bool(self) and self.ended < CUT

    def is_last(self, step):
        """Whether the epoch that has begun ends behind its step of this number, the first one's being 1."""
        return self.begun is not None and self.begun.cuts and step == self.steps

    def tell(self, recorder, seconds):
        # What the first end took beyond the second is paid once, and by none of the other evaluations.
        evaluations = self.evaluations if self.told else 1
        self.told += 1
        recorder.epoch_ended(max(0.0, seconds * evaluations), self.told == CUT)

    def begins(self, cut, frame):
        """An epoch begins. Returns whether it is cut: nobody shall evaluate a part of the training's data instead of all."""
        if self.begun:
            self.begun.end()
        self.begun, self.counts = cut, None
        if not self.asks_for_more() or not sys.modules["torch"].is_grad_enabled() or loops.called_by(frame, COUNTING):
            return False
        trainer = trainer_of(frame)
        if trainer is None:
            return not loops.called_by(frame, LIGHTNING)
        if trainer.check_val_every_n_epoch not in (1, None):  # one end in so many has an evaluation
            return False
        self.counts = trainer
        return True

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
        ended = bool(self.changed)
        if ended:
            trainer, trainer.fit_loop.max_batches, trainer.val_check_batch = self.changed
            self.changed = None
        if known.cut is self.begun and self.counts is not None:
            self.count(self.counts, known.cut.most)
        return ended

    def batches_counted(self, frame):
        """Of a whole epoch, by Lightning's Trainer, which may be told to train on a part of the loader's; None: no number."""
        trainer = trainer_of(frame)
        if trainer is None:
            return None
        batches = self.changed[1] if self.changed else trainer.fit_loop.max_batches
        return batches if isinstance(batches, int) else None

    def count(self, trainer, most):
        """Lets the epoch of a Trainer end after so many batches, with the evaluation that its end has."""
        batches, evaluates = trainer.fit_loop.max_batches, trainer.val_check_batch
        if batches > most:
            self.changed = trainer, batches, evaluates
            trainer.fit_loop.max_batches = most
            if evaluates is not None and trainer.check_val_every_n_epoch and most < evaluates <= batches:
                self.evaluations = batches // evaluates
                trainer.val_check_batch = most


def trainer_of(frame):
    """The Trainer of Lightning that called; None: none did, or one of a release that names its numbers otherwise."""
    for each in loops.called_by(frame, LIGHTNING):
        own = each.f_locals.get("self")
        try:
            trainer = getattr(own, "trainer", own)
            if (hasattr(trainer.fit_loop, "max_batches") and hasattr(trainer, "val_check_batch") and
                    hasattr(trainer, "check_val_every_n_epoch")):
                return trainer
        except Exception:  # a module that is no Trainer's yet raises what it likes
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
