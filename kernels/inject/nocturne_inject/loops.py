"""How long a script trains, as its own loops say: `for epoch in range(20):` around the loop over the batches.

    Length()           what a process's loops say; report.py writes it
    nearest(frame)     the innermost loop over numbers that is under way in `frame` and its callers

Source and local variables are read. Of the script only what stands in a loop's header is asked again. Loops of the
frameworks and of progress bars are passed over, and those of other libraries but for `for epoch in ...`. A loop over
numbers is a `for` over range(), or a `while` whose header, or an `if ...: break` in it, compares a number that the loop
increases. A list of epochs is none.
"""

import ast
import collections
import linecache
import math
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
    return any("epoch" in _path(each) for each in ([node.target] if isinstance(node, ast.For) else ast.walk(node.test)))


def _around(frame):
    """The loops whose body the frame is in, the outermost first."""
    code = frame.f_code
    if code.co_filename not in _loops:
        try:
            tree = ast.parse("".join(linecache.getlines(code.co_filename, frame.f_globals)))
        except (SyntaxError, ValueError, RecursionError):
            tree = ast.Module(body=[])
        _loops[code.co_filename] = [each for each in ast.walk(tree) if isinstance(each, (ast.For, ast.While))]
    line = frame.f_lineno
    return sorted((each for each in _loops[code.co_filename]
                   if code.co_firstlineno <= each.lineno and each.body[0].lineno <= line <= _last_line(each)),
                  key=lambda each: each.lineno)


def _last_line(node):
    # Python 3.7 does not say where a statement ends, but where each part of it begins.
    return max(getattr(each, "end_lineno", None) or getattr(each, "lineno", 0) for each in ast.walk(node.body[-1]))


def _loop(node, frame):
    try:
        count, reached, line = (_for if isinstance(node, ast.For) else _while)(node, frame)
    except Exception:  # what the header names is gone, or is no number
        return None
    name = frame.f_code.co_filename
    header = linecache.getline(name, line).strip().rstrip(":")
    text = "%s (%s, line %d)" % (header[:80], os.path.basename(name), line)
    return Loop(count, text, (name, node.lineno), reached)


def _for(node, frame):
    numbers, enumerated = _numbers(node.iter, frame)
    return len(numbers), _reached(node.target, numbers, enumerated, frame), node.lineno


# What is compared how → whether the round at the bound itself is still trained.
_GOES_ON = {ast.Lt: False, ast.LtE: True, ast.NotEq: False}
_ENDS = {ast.GtE: False, ast.Gt: True, ast.Eq: False}
_MIRRORED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}


def _while(node, frame):
    """Rounds from here on, which is taken for the first one; the number of this one; the line that says so."""
    for test, meaning in _conditions(node):
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        one, how, other = test.left, type(test.ops[0]), test.comparators[0]
        for counter, how, bound in ((one, how, other), (other, _MIRRORED.get(how), one)):
            by, line = _increase(node, counter, frame)
            if how in meaning and by > 0:
                begin = operator.index(_value(counter, frame)) - (by if line < frame.f_lineno else 0)
                compared = begin + (by if line < test.lineno else 0)
                rounds = (_value(bound, frame) - compared) / by
                checks = math.floor(rounds) + 1 if meaning[how] else math.ceil(rounds)
                return checks + (test.lineno > frame.f_lineno), begin // by, test.lineno
    raise TypeError


def _conditions(node):
    """What ends a `while` when it is compared: in its header, or in its body before a `break`."""
    for each in _parts(node.test, ast.And):
        yield each, _GOES_ON
    for statement in node.body:
        if isinstance(statement, ast.If) and any(isinstance(each, ast.Break) for each in statement.body):
            for each in _parts(statement.test, ast.Or):
                yield each, _ENDS


def _parts(test, junction):
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, junction) else [test]


def _increase(node, counter, frame):
    """By how much a loop increases what it compares, and in which line: 0 where it does not, or in several places."""
    path, found = _path(counter), []
    for each in ast.walk(node) if path else ():
        if isinstance(each, ast.AugAssign) and _path(each.target) == path:
            found.append((each.value if isinstance(each.op, ast.Add) else None, each.lineno))
        elif isinstance(each, ast.Assign) and path in [_path(target) for target in each.targets]:
            added = isinstance(each.value, ast.BinOp) and isinstance(each.value.op, ast.Add)
            found.append((each.value.right if added and _path(each.value.left) == path else None, each.lineno))
    if len(found) != 1 or found[0][0] is None:
        return 0, 0
    return operator.index(_value(found[0][0], frame)), found[0][1]


def _path(node):
    """`step`, `self.step`; nothing for what is no name."""
    if isinstance(node, ast.Attribute):
        return "%s.%s" % (_path(node.value), node.attr) if _path(node.value) else ""
    return getattr(node, "id", "")


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
    step counts steps, and one around it epochs; where there are more around it, all steps are counted, and no epochs.
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
        loops = self.first[0] if self.each else []
        steps = max(1, loops[0].count // self.each) if loops else None
        if steps_per_epoch is None and len(loops) == 2:
            return {"steps_per_epoch": steps, "epochs": loops[1].count, "trains": loops[1].text}
        # A loader that began inside of the loop over steps goes on from one round of it to the next.
        if steps_per_epoch is not None and self.epochs and not (loops and self.epochs.place == loops[0].place):
            return {"epochs": self.epochs.count, "trains": self.epochs.text}
        for around in loops[1:]:
            steps *= around.count
        return {"steps_in_all": steps, "trains": loops[-1].text} if loops else {}
