"""What a lever's own hook raises: it names the lever, so that a failed trial has a reason."""


class LeverError(RuntimeError):
    def __init__(self, lever, reason):
        super(LeverError, self).__init__("nocturne lever %s: %s" % (lever, reason))
