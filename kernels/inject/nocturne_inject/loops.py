"""How long a script trains, as its own loops say: `for epoch in range(20):` around the loop over the batches.

    Length()           what a process's loops say; report.py writes it
    nearest(frame)     the innermost loop over numbers that is under way in `frame` and its callers

Source and local variables are read. Of the script only what stands in a loop's header is asked again. Loops of the
frameworks and of progress bars are passed over, and those of other libraries but for `for epoch in ...`. What is no
`for` over range() (`while`, a list of epochs) is not seen.
"""

import ast
import collections
import linecache
import operator
import os

PASSED_OVER = {"torch", "tensorflow", "keras", "tf_keras", "mxnet", "paddle", "jax", "tqdm", "accelerate",
               __name__.partition(".")[0]}
TRAINERS = {"lightning", "pytorch_lightning"}  # whose epochs are a number, and no loop over numbers
BARS = {"tqdm", "track", "master_bar", "progress_bar"}
MOST = 10 ** 7  # numbers of a loop that means its end
MOST_FRAMES = 200
LOOKS_UP_TO = 1 << 20  # steps

# count: of its numbers. text: how it is told to people. place: file and line; None: of a call. reached: the index of its number
# now; None: not known.
Loop = collections.namedtuple("Loop", "count text place reached")

_loops = {}  # file: its loops, as the tree of its source has them


def told(count, text):
    """A number of epochs that a call was given; None: it is none."""
    return Loop(count, text, None, None) if isinstance(count, int) and 0 < count <= MOST else None


def nearest(frame):
    return next(iter(enclosing(frame)), None)


def enclosing(frame):
    """The loops over numbers, the innermost first. Never raises."""
    found = []
    for _ in range(MOST_FRAMES):
        if frame is None:
            break
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package in TRAINERS:
            trainer = frame.f_locals.get("self")
            if hasattr(trainer, "max_epochs"):  # what is around it is not over epochs, known or not
                found += filter(None, [told(trainer.max_epochs, "max_epochs of the Trainer")])
                break
        elif package not in PASSED_OVER:
            for node in reversed(_around(frame)):
                loop = _loop(node, frame)
                if loop and 0 < loop.count <= MOST and (_counts_epochs(node) or not _is_installed(frame)):
                    found.append(loop)
        frame = frame.f_back
    return found


def _is_installed(frame):
    """Whether the code is a library's, whose loops are its own affair but for those over epochs."""
    return bool({"site-packages", "dist-packages"}.intersection(frame.f_code.co_filename.split(os.sep)))


def _counts_epochs(node):
    return "epoch" in getattr(node.target, "id", "")


def _around(frame):
    """The `for` statements whose body the frame is in, the outermost first."""
    code = frame.f_code
    if code.co_filename not in _loops:
        try:
            tree = ast.parse("".join(linecache.getlines(code.co_filename, frame.f_globals)))
        except (SyntaxError, ValueError, RecursionError):
            tree = ast.Module(body=[])
        _loops[code.co_filename] = [each for each in ast.walk(tree) if isinstance(each, ast.For)]
    line = frame.f_lineno
    return sorted((each for each in _loops[code.co_filename]
                   if code.co_firstlineno <= each.lineno and each.body[0].lineno <= line <= _last_line(each)),
                  key=lambda each: each.lineno)


def _last_line(node):
    # Python 3.7 does not say where a statement ends, but where each part of it begins.
    return max(getattr(each, "end_lineno", None) or getattr(each, "lineno", 0) for each in ast.walk(node.body[-1]))


def _loop(node, frame):
    try:
        numbers, enumerated = _numbers(node.iter, frame)
    except Exception:  # what the header names is gone, or is no number
        return None
    name = frame.f_code.co_filename
    header = linecache.getline(name, node.lineno).strip().rstrip(":")
    text = "%s (%s, line %d)" % (header[:80], os.path.basename(name), node.lineno)
    return Loop(len(numbers), text, (name, node.lineno), _reached(node.target, numbers, enumerated, frame))


def _numbers(node, frame):
    """The range that is walked through, and whether it is enumerated."""
    if not isinstance(node, ast.Call):
        value = _value(node, frame)
        value = getattr(value, "iterable", value)  # of a progress bar
        if not isinstance(value, range):
            raise TypeError
        return value, False
    name = getattr(node.func, "attr", getattr(node.func, "id", None))
    if name in ("range", "trange"):
        return range(*[operator.index(_value(each, frame)) for each in node.args]), False
    if name in BARS:
        return _numbers(node.args[0], frame)
    if name == "enumerate":
        return _numbers(node.args[0], frame)[0], True
    raise TypeError


def _reached(target, numbers, enumerated, frame):
    if enumerated and isinstance(target, ast.Tuple):
        target = target.elts[0]
    elif enumerated:
        return None
    value = frame.f_locals.get(target.id) if isinstance(target, ast.Name) else None
    if not isinstance(value, int):
        return None
    return value if enumerated else (value - numbers.start) // numbers.step


_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
              ast.Div: operator.truediv}
_FUNCTIONS = {"int": int, "len": len, "min": min, "max": max, "round": round}


def _value(node, frame):
    """What an expression of a header is now; raises where that is not sure."""
    if isinstance(node, ast.Name):
        return frame.f_locals[node.id] if node.id in frame.f_locals else frame.f_globals[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, frame), node.attr)
    if isinstance(node, ast.Subscript):
        index = node.slice.value if type(node.slice).__name__ == "Index" else node.slice  # until Python 3.8
        return _value(node.value, frame)[ast.literal_eval(index)]
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, frame), _value(node.right, frame))
    if isinstance(node, ast.Call):
        return _FUNCTIONS[node.func.id](*[_value(each, frame) for each in node.args])
    return ast.literal_eval(node)


class Length(object):
    """What the loops of the process that trains say.

    The loop around a data loader counts epochs. Where no loader is seen, a loop whose number goes on by as many with each
    step counts steps, and one around it epochs.
    """

    def __init__(self):
        self.epochs = None   # the Loop around the loader's first iterator, or what fit was told
        self.first = None    # the loops at the first step's end, and its number
        self.each = None     # numbers of the innermost that a step takes; 0: no loop counts steps; None: not known yet
        self.next_look = 0

    def stepped(self, frame, steps):
        """A step ends, `steps` have ended before it: looks at the loops, ever more rarely."""
        if steps < self.next_look or self.each == 0 or steps > LOOKS_UP_TO:
            return
        self.next_look = max(1, 2 * steps)
        loops = enclosing(frame)
        if self.first is None:
            self.first, self.each = (loops, steps), None if loops and loops[0].reached is not None else 0
            return
        before, steps_before = self.first
        if [each.place for each in loops] != [each.place for each in before]:
            self.each = 0
        elif [each.reached for each in loops[1:]] == [each.reached for each in before[1:]]:
            each, left = divmod(loops[0].reached - before[0].reached, steps - steps_before)
            self.each = 0 if left or each < 1 or self.each not in (None, each) else each

    def facts(self, steps_per_epoch):
        """For the report. `steps_per_epoch`: of the data loader; None: not known."""
        loops = self.first[0][:2] if self.each else []
        steps = max(1, loops[0].count // self.each) if loops else None
        around = loops[1] if len(loops) > 1 else None
        if steps_per_epoch is None and around:
            return {"steps_per_epoch": steps, "epochs": around.count, "trains": around.text}
        if steps_per_epoch is not None and self.epochs:
            if not loops or self.epochs.place != loops[0].place:
                return {"epochs": self.epochs.count, "trains": self.epochs.text}
            # The loader began inside of the loop over steps, and goes on from one round of it to the next.
            return {"steps_in_all": steps * (around.count if around else 1), "trains": loops[0].text}
        return {"steps_in_all": steps, "trains": loops[0].text} if loops and not around else {}
