from .dataloader import DataLoader, IterableDataset  # noqa: F401
