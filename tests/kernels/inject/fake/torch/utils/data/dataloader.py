import torch


class IterableDataset(object):
    pass


class BatchSampler(object):
    pass


def get_worker_info():
    return None


class _BaseDataLoaderIter(object):
    def __init__(self, loader):
        self.loader = loader
        self._num_workers = loader.num_workers
        self._num_yielded = 0
        self._dataset = loader.dataset

    def __iter__(self):
        return self

    def __next__(self):
        if self.loader.dataset == "broken":
            raise ValueError("a file that cannot be read")
        if self._num_yielded == len(self.loader):
            torch.clock.spend(getattr(self.loader, "ending", 0))
            raise StopIteration
        self._num_yielded += 1
        torch.clock.spend(self.loader.seconds)
        return torch.Tensor(shape=(self.loader.batch_size, 3)), torch.Tensor(shape=(self.loader.batch_size,))


class DataLoader(object):
    """`batches` of 8 examples, each of which takes `seconds`. Its processes take `making` to be started, `ending` to end."""

    making = ending = 0
    persistent_workers, kept = False, None

    def __init__(self, batches=10, seconds=0.5, batch_size=8, num_workers=0, dataset=""):
        self.batches, self.seconds, self.batch_size, self.num_workers = batches, seconds, batch_size, num_workers
        self.dataset = dataset or range(batches * batch_size)
        self.sampler, self.batch_sampler, self.pin_memory, self.drop_last = self.dataset, None, False, False

    def __len__(self):
        return self.batches

    def __iter__(self):
        if self.kept:
            self.kept._num_yielded = 0
            return self.kept
        made = self._get_iterator()
        self.kept = made if self.persistent_workers else None
        return made

    def _get_iterator(self):
        torch.clock.spend(self.making)
        return _BaseDataLoaderIter(self)
