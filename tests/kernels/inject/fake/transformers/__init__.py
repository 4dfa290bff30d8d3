"""As much of transformers as the hooks touch, on the PyTorch beside it."""

from transformers.trainer import Trainer  # noqa: F401
