from . import _utils  # noqa: F401
from .dataloader import BatchSampler, DataLoader, IterableDataset, get_worker_info  # noqa: F401
