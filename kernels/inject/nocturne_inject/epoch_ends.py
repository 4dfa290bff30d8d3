"""What stands between two epochs, in a run of seconds: the first two epochs are cut short, so that their ends are seen.

    Ends(session)            of a process; empty where NOCTURNE_INJECT_EPOCH=STEPS,EXAMPLES asks for none
    ends.cut(known, loader)  lets a DataLoader over so many examples end after so many steps

An end is an evaluation, a checkpoint, what is compiled anew for either and for the smaller last batch. len(loader) stays
what it was, for schedules are made of it; so trainers that count batches themselves would leave their evaluation out:
theirs are not cut. Each rank of several counts for itself, and all cut alike.
"""

import sys

from . import loops

CUT = 2  # epochs: the second end is what each later one takes, and the first says what it took beyond that
# Who ends an epoch, with its evaluation, by the number of batches.
COUNTING = ("lightning", "pytorch_lightning", "ignite")


class Ends(object):
    def __init__(self, session):
        asked = session.environment.get("NOCTURNE_INJECT_EPOCH", "")
        self.steps, self.examples = (int(each) for each in asked.split(",")) if asked else (0, 0)
        self.batch = int(session.environment.get("NOCTURNE_INJECT_BATCH") or 0)  # examples of a step
        self.session = session
        self.ended = 0     # epochs that were cut
        self.told = 0      # ends, of whole epochs too
        self.since = None  # the end of the last step before the end that is under way, and steps until then

    def __bool__(self):
        return self.steps > 0

    def cuts(self):
        """Whether an epoch that begins now is cut: nobody shall evaluate a part of the training's data instead of all."""
        return (self.ended < CUT and sys.modules["torch"].is_grad_enabled() and
                not loops.is_called_by(sys._getframe(2), COUNTING))

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
        cut = loader.__dict__["batch_sampler"] = Cut(batches, self, self.steps * a_step, rest, (self.steps - 1) * a_step, part)
        return cut


class Cut(object):
    """A batch sampler whose epochs have `most` batches while there are ends to be seen, the last one of `rest` examples."""

    def __init__(self, batches, ends, most, rest, before, part):
        self.batches, self.ends, self.most, self.rest = batches, ends, most, rest
        self.before, self.part = before, part  # of the last step: batches before it, and its part of a whole one
        self.cuts = False                      # the epoch that began last

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        self.cuts = self.ends.cuts()
        return self.first_ones() if self.cuts else iter(self.batches)

    def first_ones(self):
        for index, batch in enumerate(self.batches, 1):
            yield batch[:self.rest] if self.rest and index == self.most else batch
            if index == self.most:
                break
        if self.ends.session.speaks is not None:  # what is read before anything has trained is no epoch
            self.ends.ended += 1

    def __getattr__(self, name):  # of the one that it stands for, which a copy lacks at first
        if name == "batches":
            raise AttributeError(name)
        return getattr(self.batches, name)
