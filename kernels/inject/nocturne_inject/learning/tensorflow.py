"""TensorFlow and Keras: a parameter is a variable of which a gradient is taken, a loss what it is the gradient of.

Both are written down by operations of the graph, once in each step, so that a loop inside a function and the steps that
an execution hides are seen too. What they read is what the function has; Python hears of it behind the call.
"""

import sys
import weakref

from .. import keras, levers
from ..hooks import class_that_defines, hook
from . import STEPS, Learning

_LAYERS = ("AlphaDropout", "GaussianDropout")  # of Keras: they drop without TensorFlow's dropout
_COMPILING = ("tf_jit_compile", "tf_xla")      # levers
_RANDOM = ("Random", "Truncated", "Multinomial", "Parameterized")  # in the names of operations that draw numbers
_SPARE = 1000  # numbers more that a log takes: the last call may go on behind the limit, a step may have several losses


class TensorFlow(Learning):
    def __init__(self, tf, session):
        super(TensorFlow, self).__init__(session)
        self.tf = tf
        self.generators = []     # weakly, in the order in which they are made
        self.lost = None         # Log of losses
        self.tensors = {}        # {id of a variable's handle: Tensor}
        self.compiling = [name for name in _COMPILING if name in levers.chosen(session.environment)]

    def install(self):
        super(TensorFlow, self).install()
        self.watch_generators(getattr(self.tf.random, "Generator", None))
        hook(self.session, self.tf.GradientTape, "__enter__", self.tape_entered)
        keras.when_imported(self.keras_imported)

    # --- the same numbers -------------------------------------------------------------------------------------------

    def seed_framework(self, seed):
        if not self.events:  # later all that XLA has compiled would be thrown away with the streams
            self.tf.random.set_seed(seed)

    def seed(self):
        if not self.seeded:
            super(TensorFlow, self).seed()
            for index, generator in enumerate(self.generators):
                self.restart(generator(), index)

    def tape_entered(self, arguments, named):
        """Without a data set or a function of TensorFlow nothing else comes first."""
        if not self.seeded and not self.tf.inside_function():
            self.seed()

    def restart(self, generator, index):
        if hasattr(generator, "reset_from_seed"):
            generator.reset_from_seed(self.first_seed + index)
        elif generator is not None:
            generator.state.assign([self.first_seed + index, 0])

    def watch_generators(self, kind):
        """What keeps a random stream of its own: Keras's layers do."""
        def made(generator, result):
            self.generators.append(weakref.ref(generator))
            if self.seeded and hasattr(generator, "reset_from_seed"):
                self.restart(generator, len(self.generators) - 1)
        owner = class_that_defines(kind, "__init__")
        if owner:
            hook(self.session, owner, "__init__", lambda arguments, named: arguments[0], made)

    def no_dropout(self):
        functions = sys.modules["tensorflow.python.ops.nn_ops"]
        if hasattr(functions, "_dropout"):  # of which all others are made
            hook(self.session, functions, "_dropout", lambda arguments, named: named.update(rate=0.0))
        else:
            self.leave_out("dropout cannot be put out in TensorFlow %s" % self.tf.__version__)
        hook(self.session, self.tf.saved_model, "load", lambda arguments, named: self.leave_out(
            "a SavedModel was loaded, whose dropout cannot be put out"))

    def keras_imported(self, module):
        self.watch_generators(getattr(getattr(module, "random", None), "SeedGenerator", None))
        for kind in derived(module.layers.Layer) if self.mode == "start" else ():
            if kind.__name__ in _LAYERS and "call" in kind.__dict__:
                hook(self.session, kind, "call", lambda arguments, named: setattr(arguments[0], "rate", 0.0))

    # --- what is recorded: in a trace or eagerly --------------------------------------------------------------------

    def gradient(self, variables):
        """They will be updated by a gradient that is about to be taken."""
        if self.mode == "start":
            try:
                for each in variables:
                    known = self.tensors.get(id(each.handle))
                    if known is None:
                        name = "%d.%s" % (len(self.tensors), getattr(each, "path", each.name))
                        known = self.tensors[id(each.handle)] = Tensor(self.tf, name, each)
                    known.before_update()
            except Exception as error:
                self.leave_out("a variable cannot be read where its gradient is taken: " + str(error).split("\n")[0][:160])

    def loss(self, target):
        if self.lost is None:
            self.lost = Log(self.tf, self.limit + _SPARE)
        self.lost.append(self.tf.reduce_mean(target))
        if self.compiling and self.mode == "start" and draws(target):
            self.leave_out("the function draws random numbers, and compiled by XLA it draws others")

    def optimizer_applied(self):
        for each in self.tensors.values():
            self.look_at(each)

    def look_at(self, tensor):
        try:
            tensor.updated()
        except Exception as error:
            self.leave_out("a variable cannot be read behind its update: " + str(error).split("\n")[0][:160])

    def told(self, losses, count):
        """`losses`: one, of the last of the `count` steps, which says whether it was seen at all."""
        seen = self.number(losses[0]) is not None
        logged = self.lost.news() if self.lost else []
        moved = {}
        for each in self.tensors.values():
            moved[each] = each.distances.news()
            if not moved[each]:  # the script updates it itself, which a call has done when it has ended
                self.look_at(each)
                moved[each] = each.distances.news()
        found = []
        for index in range(count):
            mine = part(logged, index, count)
            now = {each.name: part(far, index, count)[-1:] for each, far in moved.items()}
            if not all(now.values()):
                self.leave_out("a call has updated a variable more or less often than its %d steps" % count)
            found.append((mine if seen and len(mine) == 1 else [None],
                          {name: far[0] for name, far in now.items() if far}))
        return found


class Log(object):
    """Numbers that a graph, or Python, writes down one behind the other."""

    def __init__(self, tf, size):
        self.tf, self.size, self.told = tf, size, 0
        with tf.init_scope():
            # In float64, which no policy of mixed precision turns into something else.
            self.numbers = tf.Variable(tf.fill([size], tf.constant(float("nan"), tf.float64)), trainable=False)
            self.count = tf.Variable(tf.constant(0, tf.int64), trainable=False)

    def append(self, number):
        tf = self.tf
        here = tf.equal(tf.range(self.size, dtype=tf.int64), self.count)
        self.numbers.assign(tf.where(here, tf.cast(number, tf.float64), self.numbers))
        self.count.assign_add(1)

    def news(self):
        """Those since the last call; None for those that had no room."""
        count = int(self.count.numpy())
        found = [float(each) for each in self.numbers.numpy()[self.told:count]]
        found += [None] * (count - self.told - len(found))
        self.told = count
        return found


class Tensor(object):
    """A parameter, and how far each update has moved it from where it was before the first."""

    def __init__(self, tf, name, variable):
        self.tf, self.name, self.variable = tf, name, variable
        self.distances = Log(tf, STEPS + _SPARE)
        with tf.init_scope():
            self.before = tf.Variable(tf.zeros(variable.shape, variable.dtype), trainable=False)

    def before_update(self):
        tf = self.tf
        self.before.assign(tf.where(tf.equal(self.distances.count, 0), tf.convert_to_tensor(self.variable), self.before))

    def updated(self):
        tf = self.tf
        change = tf.cast(tf.convert_to_tensor(self.variable), tf.float64) - tf.cast(self.before, tf.float64)
        self.distances.append(tf.sqrt(tf.reduce_sum(tf.square(change))))


def derived(kind):
    return {each for below in kind.__subclasses__() for each in {below} | derived(below)}


def part(found, index, count):
    """What `found` has of one of `count` steps, each with the same number."""
    each = len(found) // count if len(found) % count == 0 else 0
    return found[index * each:(index + 1) * each]


def draws(target):
    """Whether the graph of `target`, or a function that it calls, draws random numbers."""
    graph = getattr(target, "graph", None)
    if graph is None:
        return False
    told = graph.as_graph_def()
    nodes = list(told.node) + [each for function in told.library.function for each in function.node_def]
    return any(word in each.op for each in nodes for word in _RANDOM if "/Initializer/" not in each.name)
