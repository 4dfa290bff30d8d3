import torch


class IterableDataset(object):
    pass


class BatchSampler(object):
    def __init__(self, examples=0, batch_size=8, drop_last=False):
        self.sampler, self.batch_size, self.drop_last = range(examples), batch_size, drop_last

    def __len__(self):
        return (len(self.sampler) if self.drop_last else len(self.sampler) + self.batch_size - 1) // self.batch_size

    def __iter__(self):
        return (list(self.sampler[index * self.batch_size:(index + 1) * self.batch_size]) for index in range(len(self)))


def get_worker_info():
    return None


class _BaseDataLoaderIter(object):
    def __init__(self, loader):
        self.loader = loader
        self._num_workers = loader.num_workers
        self._dataset = loader.dataset
        self._reset()

    def _reset(self):
        self._num_yielded = 0
        self._sampler_iter = iter(self.loader.batch_sampler or [[0] * self.loader.batch_size] * len(self.loader))

    def __iter__(self):
        return self

    def __next__(self):
        if self.loader.dataset == "broken":
            raise ValueError("a file that cannot be read")
        batch = next(self._sampler_iter, None)
        if batch is None:
            torch.clock.spend(getattr(self.loader, "ending", 0))
            raise StopIteration
        self._num_yielded += 1
        torch.clock.spend(self.loader.seconds)
        return torch.Tensor(shape=(len(batch), 3)), torch.Tensor(shape=(len(batch),))


class DataLoader(object):
    """`batches` of 8 examples, or those that a batch sampler draws from so many, each of which takes `seconds`. Its processes take `making` to be started, `ending` to end."""

    making = ending = 0
    persistent_workers, kept = False, None

    def __init__(self, batches=10, seconds=0.5, batch_size=8, num_workers=0, dataset="", drawn=0, drop_last=False):
        self.batches, self.seconds, self.batch_size, self.num_workers = batches, seconds, batch_size, num_workers
        self.dataset = dataset or range(batches * batch_size)
        self.sampler, self.batch_sampler, self.pin_memory, self.drop_last = self.dataset, None, False, drop_last
        if drawn:
            self.batch_sampler = BatchSampler(drawn, batch_size, drop_last)
            self.sampler = self.batch_sampler.sampler

    def __len__(self):
        return len(self.batch_sampler) if self.batch_sampler else self.batches

    def __iter__(self):
        if self.kept:
            self.kept._reset()
            return self.kept
        made = self._get_iterator()
        self.kept = made if self.persistent_workers else None
        return made

    def _get_iterator(self):
        torch.clock.spend(self.making)
        return _BaseDataLoaderIter(self)
