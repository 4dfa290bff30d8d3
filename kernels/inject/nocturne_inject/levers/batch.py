"""Multiplies the batch of the training's DataLoader.

A loader is taken for the training's where its order is random, for an evaluation's (whose batch stays) where it is not:
when a loader is constructed, nothing else is known of it. values() offers this lever only where that was right for each
loader whose batches were seen: a backward pass followed them, or none did.
"""

from .. import loaders

NAME = "batch"
FRAMEWORK = "pytorch"
CHANGES = "what is learnt"
DESCRIPTION = "examples of a training step, as a multiple of the script's"
MULTIPLES = {"2x": 2, "4x": 4, "8x": 8}
LINES = {value: "train_loader = DataLoader(..., batch_size=%d * batch_size)" % MULTIPLES[value] for value in MULTIPLES}
LEAST_STEPS = 8  # of an epoch, at the largest batch


def values(seen):
    training = [loader for loader in seen.loaders if loader.training]
    if not training:
        return None, "no DataLoader was seen whose batches are trained on"
    if any(loader.kind != "map" for loader in training):
        return None, "the training's data set is an iterable one"
    if not all(loader.plain and loader.batch for loader in training):
        return None, "the batches are made by a batch sampler of the script's own, or by none"
    known = [loader for loader in seen.loaders if loader.training is not None]
    if any(loader.random_order != loader.training for loader in known):
        return None, "the training's DataLoader cannot be told from an evaluation's by its random order"
    if any(loader.batches is None for loader in training):
        return None, "how many batches an epoch has is not known"
    steps = min(loader.batches for loader in training)
    offered = [value for value, times in MULTIPLES.items() if steps >= LEAST_STEPS * times]
    if not offered:
        return None, "an epoch has %d steps, too few for larger batches" % steps
    return ["script"] + offered, None


def install(value, torch):
    times = MULTIPLES[value]
    made = set()  # (data set, batch): libraries make a loader anew from what they were given

    def rule(arguments):
        if not loaders.draws_at_random(torch, arguments):
            return
        sampler = arguments.get("batch_sampler")
        plain = type(sampler) is torch.utils.data.BatchSampler
        size = sampler.batch_size if plain else arguments.get("batch_size", 1)
        if size is None or (sampler is not None and not plain):
            raise ValueError("batches are made by %s" % type(sampler or arguments.get("sampler")).__name__)
        if (id(arguments["dataset"]), size) in made:
            return
        made.add((id(arguments["dataset"]), size * times))
        if plain:
            arguments["batch_sampler"] = torch.utils.data.BatchSampler(sampler.sampler, size * times, sampler.drop_last)
        else:
            arguments["batch_size"] = size * times

    loaders.change(torch, 2, NAME, rule)
