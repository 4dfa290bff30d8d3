"""The two answers of a training that are neither success nor failure (protocol: `unsupported`, `diverged`)."""


class Unsupported(Exception):
    """What is asked for cannot be done here; its text is the sentence the user reads."""


class Diverged(Exception):
    """The loss is no longer a finite number."""
