"""JAX: a step ends with the outermost call of a jitted function in whose trace a gradient was taken; without one, with the
call of what jax.grad or value_and_grad made. flax, equinox and haiku call these.

Python runs in a jitted function only while JAX traces it: it is marked then, and its calls are counted. What jax.jit returns
stands inside an object of ours that is called, asked and passed on as itself. The loss is the value whose gradient was
taken, where the function returns it: its tracer must be that one, so nothing else is ever taken for it. Calls return before
they have been computed; a sample waits for what its last step returned. A function that trains several steps in one call
(a scan over an epoch) is one step.
"""

import functools

from .hooks import Events, hook

WRAPPER = "__nocturne_traced__"  # attribute of a function that is jitted: one that is jitted again is not compiled again
USUAL = 4                        # steps, in which it is learnt what a loop calls at each


def install(name, jax, session):
    if not session.report or session.report.seen.framework is None:  # libraries of other frameworks import it where it is there
        session.install_levers("jax", jax)
    else:
        session.modules["jax"] = jax
    if session.timing:
        Training(jax, session)


class Known(object):
    """What is known of a function that was jitted, or whose gradient is taken without."""

    def __init__(self, trains=False, loss=None):
        self.trains = trains  # a gradient was taken in its last trace
        self.loss = loss      # its place among the leaves of what the function returns; None: not there
        self.steps = 0


class Trace(object):
    """Python runs in a function that was jitted."""

    def __init__(self):
        self.trains = False
        self.losses = []  # tracers of what gradients were taken of; None: one that is not returned


class Jitted(object):
    """What jax.jit returned, whose outermost calls are seen."""

    def __init__(self, function, known, training):
        functools.update_wrapper(self, function, updated=())
        self._nocturne = function, known, training

    def __call__(self, *arguments, **named):
        function, known, training = self._nocturne
        if not training.session.listening:
            return function(*arguments, **named)
        return training.call(known, function, arguments, named)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name):
        return getattr(self._nocturne[0], name)

    def __reduce_ex__(self, protocol):
        """A copy, or what another process is sent, is JAX's own."""
        return self._nocturne[0].__reduce_ex__(protocol)

    def __repr__(self):
        return repr(self._nocturne[0])


class Training(object):
    """Which functions train, and when a step has ended. One for a process; threads that train at once are not distinguished."""

    def __init__(self, jax, session):
        self.jax = jax
        self.session = session
        self.leaves = jax.tree_util.tree_leaves
        self.outermost = None    # Known of the call under way
        self.trace = None        # the innermost under way
        self.taking = False      # a gradient: one inside another is the same
        self.sources = {}        # {key: Known} of all that have caused an event
        self.eager = {}          # {code of the function whose gradient is taken: Known}
        self.usual = set()       # ids of the Knowns that are called between steps, at each
        self.aside = False       # another was called since the last step: an evaluation
        self.last = None         # a leaf of what the last step returned: it is there when all are
        self.old = None          # leaves of the last step before the first that counts: what is new since is its batch
        self.events = Events(session, "jax", self.awaited)
        for name in ("jit", "pmap"):
            hook(session, jax, name, self.jit_begins, self.jit_ended)
        api = getattr(getattr(jax, "_src", None), "api", None)  # where jax.grad looks for it
        for owner in (jax, api) if hasattr(api, "value_and_grad") else (jax,):
            hook(session, owner, "value_and_grad", lambda arguments, named: arguments[0], self.differentiated)
        hook(session, jax, "vjp", lambda arguments, named: True, self.pulled_back)

    def awaited(self):
        """Keys that may yet cause an event. Until a function has trained twice another may join it: a GAN's second."""
        return set(self.sources) | ({None} if all(each.steps < 2 for each in self.sources.values()) else set())

    # --- what is jitted -----------------------------------------------------------------------------------------------

    def jit_begins(self, arguments, named):
        if "fun" in named:
            arguments.append(named.pop("fun"))
        if not arguments:
            return dict(named)  # a decorator's settings
        arguments[0], known = self.traced(arguments[0])
        return known

    def jit_ended(self, token, result):
        if isinstance(token, Known):
            return Jitted(result, token, self),
        return functools.partial(self.jax.jit, **token),

    def traced(self, function):
        """A function that does what `function` does and sees, while it is traced, whether it trains; and its Known."""
        found = getattr(function, WRAPPER, None)
        if found is not None and found[0].__wrapped__ is function:
            return found
        known = Known()

        @functools.wraps(function)
        def traced(*arguments, **named):
            outer, self.trace = self.trace, Trace()
            try:
                result = function(*arguments, **named)
                self.session.guarded(self.trace_ended)(known, result)
            finally:
                self.trace = outer
            return result

        try:
            setattr(function, WRAPPER, (traced, known))
        except Exception:  # a bound method, or an object that takes no attributes
            pass
        return traced, known

    def trace_ended(self, known, result):
        losses = self.trace.losses
        places = [place for place, leaf in enumerate(self.leaves(result)) if any(leaf is each for each in losses)]
        known.trains = self.trace.trains
        known.loss = places[0] if len(losses) == len(places) == 1 else None

    # --- gradients ----------------------------------------------------------------------------------------------------

    def differentiated(self, function, result):
        @functools.wraps(result)
        def gradient(*arguments, **named):
            if self.taking or not self.session.listening:
                return result(*arguments, **named)
            self.taking = True
            try:
                if self.outermost is None:
                    code = getattr(function, "__code__", type(function))  # the same for one that is made anew at each step
                    return self.call(self.eager.setdefault(code, Known(True, 0)), result, arguments, named)
                value = result(*arguments, **named)
                self.session.guarded(self.taken)(value)
                return value
            finally:
                self.taking = False
        return gradient,

    def taken(self, value):
        if self.trace is not None:
            self.trace.trains = True
            self.trace.losses += self.leaves(value)[:1]

    def pulled_back(self, token, result):
        if self.trace is not None and not self.taking:
            self.trace.trains = True

    # --- what is called -----------------------------------------------------------------------------------------------

    def call(self, known, function, arguments, named):
        if self.outermost is not None:
            result = function(*arguments, **named)
            self.session.guarded(self.called_inside)(known, result)
            return result
        self.outermost = known
        try:
            self.session.guarded(self.call_begins)(known)
            result = function(*arguments, **named)
        finally:
            self.outermost = None
        self.session.guarded(self.call_ended)(known, (arguments, named), result)
        return result

    def called_inside(self, known, result):
        """It may have been traced before: what is known of it then holds for what calls it."""
        if self.trace is None or not known.trains or self.taking:
            return
        self.trace.trains = True
        self.trace.losses += [self.leaves(result)[known.loss]] if known.loss is not None else [None]

    def call_begins(self, known):
        recorder = self.events.recorder
        if recorder is None or self.session.fits:
            return
        if known.trains:
            if self.aside:
                recorder.epoch()
            self.aside = False
        elif recorder.steps < USUAL:
            self.usual.add(id(known))
        elif not self.aside and id(known) not in self.usual:
            self.aside = True
            self.jax.block_until_ready(self.last)  # an evaluation would wait for what is the steps'
            recorder.step_ended()

    def call_ended(self, known, given, result):
        if not known.trains or self.session.fits:
            return
        if self.session.recorder is not None and self.events.recorder is None:
            return  # of another framework's, whose training has been seen
        leaves = self.leaves(result)
        if any(isinstance(leaf, self.jax.core.Tracer) for leaf in leaves) or not self.events.speaks("call"):
            return
        self.sources[id(known)] = known
        known.steps += 1
        arrays = [leaf for leaf in leaves if hasattr(leaf, "block_until_ready")]
        self.last = min(arrays, key=lambda leaf: leaf.size, default=None)
        if self.events.recorder.steps < 0:
            given = [leaf for leaf in self.leaves(given) if hasattr(leaf, "shape")]
            self.know(given, leaves)
            self.old = given + leaves
        loss = leaves[known.loss] if known.loss is not None and known.loss < len(leaves) else None
        self.events.event(id(known), Loss(self.jax, self.last, loss))

    def know(self, given, returned):
        """What a step shows before the first that counts has ended. Its batch is what is new in it, and no parameter: those
        have a shape that it returns, too, as gradients or updated."""
        seen, facts = self.session.report.seen, self.events.recorder.facts
        facts["versions"]["jax"] = seen.framework_version
        platform = next(iter(self.last.devices())).platform if hasattr(self.last, "devices") else self.jax.default_backend()
        seen.device = "cuda" if platform in ("cuda", "gpu") else platform
        if self.old is None:
            self.session.note("JAX: epochs and waiting for data are not seen; how it learns is not judged")
            return
        shapes = {getattr(leaf, "shape", ()) for leaf in returned} | {()}
        new = [leaf for leaf in given if leaf.shape not in shapes and not any(leaf is each for each in self.old)]
        if new:
            facts["batch"] = int(max(new, key=lambda leaf: leaf.size).shape[0])
        self.old = None


class Loss(object):
    """float() waits for the step and gives its loss."""

    def __init__(self, jax, last, loss):
        self.jax, self.last, self.loss = jax, last, loss

    def __float__(self):
        self.jax.block_until_ready(self.last)
        if self.loss is None:
            raise TypeError("the function does not return the value whose gradient it takes")
        return float(self.loss)
