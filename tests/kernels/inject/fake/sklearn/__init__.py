"""As much of scikit-learn as the hooks touch."""

__version__ = "1.9.1"
