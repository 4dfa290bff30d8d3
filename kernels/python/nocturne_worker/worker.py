"""The class that a framework's worker fills in, and what it is handed.

The session calls, in this order:

    check                     before the framework is imported, what can be refused already
    import_framework          phase `import`; also tells the framework its threads
    build                     phase `build`: network, optimizer, the initial values of `plan`
    compile                   phase `compile`: what a graph compiler does before it can train a step
    versions, facts           for `ready`
    step, synchronise, loss   the training; `synchronise` once a sample; set_rate before a step where a rule warms up
    parameters                in the gate around each step, and once after `build`
    logits                    phase `accuracy`, and a learning curve between samples

Each may raise Unsupported with the sentence the user reads. Any other exception ends the run as failed, with its first
line as the reason; the traceback goes to stderr.
"""

from .networks import NETWORKS
from .surroundings import threads_by_default


class Adadelta(object):
    """a ← ρ a + (1 - ρ) g²,  Δ = g · sqrt(d + ε) / sqrt(a + ε),  d ← ρ d + (1 - ρ) Δ²,  w ← w - rate · Δ; both averages
    start as zeros (kernels/onednn/parameters/optimizers.hpp: the constants of Keras when the paper was written)."""

    def __init__(self):
        self.rate, self.rho, self.epsilon = 1.0, 0.95, 1e-7


class Momentum(object):
    """v ← μ v + g + decay · w,  w ← w - rate · v; decay acts on weights only, not on biases and normalisation."""

    def __init__(self, learning_rate=0.01, momentum=0.9, weight_decay=1e-4):
        self.rate, self.momentum, self.decay = learning_rate, momentum, weight_decay


OPTIMIZERS = {"adadelta": Adadelta, "sgd_momentum": Momentum}


class Plan(object):
    """What is built."""

    def __init__(self, network, settings, rule, seed, initial, dropout, batch_sizes):
        self.network = network          # networks.Network: name, image (C, H, W), classes, tensors
        self.settings = settings        # settings.Settings
        self.rule = rule                # Adadelta or Momentum
        self.seed = seed                # for dropout: weights and order of data are decided already
        self.initial = initial          # {tensor name: NumPy f32 array in the shape of network.tensors}, to copy from
        self.dropout = dropout          # False in the gate: nothing is dropped
        self.batch_sizes = batch_sizes  # those that will come, the configured one first


class Worker(object):
    name = "nocturne-unnamed"
    networks = {"mnist_cnn": NETWORKS["mnist_cnn"]}
    # Key of the configuration → what this worker can do. Shared keys: device (cpu, cuda), precision (f32, bf16; tf32
    # and f16 on a GPU), layout (nchw, nhwc), graph_compiler (none, …), onednn (True, False); others are its own, found
    # in settings.own.
    choices = {}
    has_inter_threads = False
    sets_rate = False  # whether set_rate() is there
    # Images come as bytes, as they are stored, and a GPU scales them by PIXEL_SCALE: a quarter of the bytes to send, and
    # nothing for the host to convert.
    takes_stored = False

    def check(self, settings):
        """Refuses combinations that no version of the framework can do."""

    def import_framework(self, settings):
        raise NotImplementedError

    def versions(self):
        """{"torch": "2.15.0", …}"""
        raise NotImplementedError

    def facts(self):
        """Further fields of `ready`, such as "implementations" and "isa"; `threads` if it is known better."""
        return {}

    def threads(self, settings):
        return threads_by_default(settings)

    def build(self, plan):
        raise NotImplementedError

    def compile(self, images, labels):
        """Compiles for a batch of this shape without changing parameters or the optimizer's state. Dropout that this
        has drawn for begins anew."""

    def step(self, images, labels):
        """Begins or does one step: forward, backward, update. `images`: NumPy f32 (N, C, H, W) in [0, 1]; `labels`:
        NumPy int64 (N); both as take() gave them. Returns what `loss` understands; need not wait for the end of the computation."""
        raise NotImplementedError

    def set_rate(self, rate):
        """The optimizer's rate from the next step on; called only where `sets_rate` is True."""
        raise NotImplementedError

    def synchronise(self):
        """Returns when all steps begun are done, update included."""

    def loss(self, handle):
        """The mean loss over the batch, before the update, as a Python float."""
        return float(handle)

    def logits(self, images):
        """Forward without dropout: NumPy f32 (N, classes). Called with the configured batch size only."""
        raise NotImplementedError

    def parameters(self):
        """{tensor name: NumPy f32 array in the shape of network.tensors} of the master values: copies."""
        raise NotImplementedError

    def device_bytes(self):
        """Most of the GPU's memory that was ever taken."""
        return 0

    def is_out_of_memory(self, error):
        """Whether this is how the framework says that the GPU's memory is full."""
        return False

    def take(self, image_set, indices):
        """The images of a batch, and its labels. Replaced where there is no NumPy."""
        return image_set.take_stored(indices) if self.takes_stored else image_set.take(indices)
