"""How long a script trains, as its own loops say: `for epoch in range(20):` around the loop over the batches.

    Length()           what a process's loops say; report.py writes it
    nearest(frame)     the innermost loop over numbers that is under way in `frame` and its callers

Source and local variables are read. Of the script only what stands in a loop's header is asked again. Loops of the
frameworks and of progress bars are passed over, and those of other libraries but for `for epoch in ...`. A loop over
numbers is a `for` over range(), alone or in enumerate(), zip() or islice(); or a loop whose header, or an `if ...: break`
in it, compares a number that it increases. A list of epochs is none.
"""

import ast
import collections
import collections.abc
import functools
import linecache
import math
import operator
import os
import sys

PASSED_OVER = {"torch", "tensorflow", "keras", "tf_keras", "mxnet", "paddle", "jax", "tqdm", "accelerate",
               __name__.partition(".")[0]}
# Libraries whose epochs are a number, and no loop over numbers: where the object that loops has it, and what people call that.
TRAINERS = {"lightning": ("max_epochs", "Trainer"), "pytorch_lightning": ("max_epochs", "Trainer"),
            "ignite": ("state.max_epochs", "engine"), "ultralytics": ("epochs", "trainer")}
BOOSTING = {"xgboost", "lightgbm"}  # libraries whose loop over rounds is the training's
PYTHONS = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
BARS = {"tqdm", "track", "master_bar", "progress_bar"}
MOST = 10 ** 7  # numbers of a loop that means its end
MOST_FRAMES = 200
LOOKS_UP_TO = 1 << 20  # steps

# count: of its numbers. text: how it is told to people. place: file and line; None: of a call. reached: the index of its number
# now; None: not known. outlives: whether its number goes on where the loop begins again. repeats: numbers after which what it
# does comes back, as an evaluation behind each fifth epoch does (of_training() and trainers say so); 0: not known.
Loop = collections.namedtuple("Loop", "count text place reached outlives repeats")
Loop.__new__.__defaults__ = (1,)

_sources = {}  # file: its loops, and (path, line) of what is assigned


def told(count, text, repeats=1):
    """A number of epochs that a call was given; None: it is none."""
    return Loop(count, text, None, None, False, repeats) if isinstance(count, int) and 0 < count <= MOST else None


def nearest(frame):
    return next(iter(enclosing(frame)), None)


def of_training(frame):
    """The nearest one, for people: with the script's loop around it, each of whose rounds trains again."""
    loop = nearest(frame)
    around = loop and _around_of(loop, frame)
    if around:
        loop = loop._replace(text="%s, in each round of: %s" % (loop.text, around))
    return loop._replace(repeats=_repeats(loop, frame)) if loop and loop.place else loop


def _repeats(loop, frame):
    """Of `if (epoch + 1) % 5 == 0: evaluate()` and `if epoch % 2: save()` in a loop over epochs: 10."""
    for frame, _ in _callers(frame):
        for node in _around(frame):
            if (frame.f_code.co_filename, node.lineno) == loop.place:
                try:
                    return functools.reduce(lambda a, b: a * b // math.gcd(a, b), _moduli(node, frame), 1)
                except Exception:  # what is divided by is gone, or is no number
                    return 0
    return 1


def _moduli(node, frame):
    """Numbers by which a loop divides its own number to decide what it does, beside printing."""
    header = node.target if isinstance(node, ast.For) else node.test
    numbers = {_path(each) for each in ast.walk(header)} - {""}
    for each in ast.walk(ast.Module(body=node.body)):
        if isinstance(each, ast.If) and not all(_prints(statement) for statement in each.body + each.orelse):
            for part in ast.walk(each.test):
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
                    if numbers.intersection(_path(name) for name in ast.walk(part.left)):
                        yield max(1, operator.index(_value(part.right, frame)))


def _prints(statement):
    return isinstance(statement, ast.Expr) and _called(statement.value) == "print"


def _around_of(loop, frame):
    """Header and line of the loop of the script, over whatever, that is around `loop`; None: there is none."""
    inside = loop.place is not None
    for frame, package in _callers(frame):
        for node in reversed(_around(frame)):
            if not inside and not _is_installed(frame):
                return _text(frame, node.lineno)
            inside = inside and (frame.f_code.co_filename, node.lineno) != loop.place
    return None


def enclosing(frame):
    """The loops over numbers, the innermost first. Never raises."""
    found = []
    for frame, package in _callers(frame):
        if package in TRAINERS:
            path, called = TRAINERS[package]
            try:
                epochs = operator.attrgetter(path)(frame.f_locals.get("self"))
            except AttributeError:
                pass
            else:  # what is around it is not over epochs, known or not
                loop = told(epochs, "%s of the %s" % (path.rpartition(".")[2], called))
                found += filter(None, [_lightnings(frame.f_locals["self"], loop)])
                break
            continue
        nodes = _around(frame)
        for number, node in reversed(list(enumerate(nodes))):
            loop = _loop(node, frame, nodes[number - 1].lineno if number else 0)
            if loop and 0 < loop.count <= MOST and (_counts_epochs(node) or package in BOOSTING or not _is_installed(frame)):
                found.append(loop)
    return found


def _lightnings(fit, epochs):
    """What Lightning's `fit` loop counts: its steps, where they end it before its epochs do. What any other does: `epochs`."""
    try:
        if 0 < fit.max_steps <= MOST and fit.trainer.estimated_stepping_batches == fit.max_steps:
            return Loop(fit.max_steps, "max_steps of the Trainer", None, fit.trainer.global_step, True)
        every = getattr(fit.trainer, "check_val_every_n_epoch", None) or 1
        return epochs and epochs._replace(reached=fit.trainer.current_epoch, repeats=every)
    except Exception:  # of another library, or what it cannot estimate
        return epochs


def counted_on(frame):
    """The outermost `while` that compares a number which only what it calls counts on, as `while agent.steps < most` does;
    count: the bound, reached: the number now. None: there is none. Never raises."""
    found = None
    for frame, _ in _callers(frame):
        for node in reversed(_around(frame)):
            found = isinstance(node, ast.While) and _called_number(node, frame) or found
    return found


def _callers(frame):
    """A frame and its callers whose loops are looked at, and their packages."""
    for _ in range(MOST_FRAMES):
        if frame is None:
            break
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in PASSED_OVER:
            yield frame, package
        frame = frame.f_back


def called_by(frame, packages):
    """Those of the callers that are code of these packages."""
    return [each for each, package in _callers(frame) if package in packages]


def _called_number(node, frame):
    for test in _parts(node.test, ast.And):
        for counter, how, bound in _comparisons(test):
            path = _path(counter)
            if how not in _GOES_ON or not path or "epoch" in path or _changes(node, path):
                continue
            try:
                bound = operator.index(_value(bound, frame)) + _GOES_ON[how]
                reached = operator.index(_value(counter, frame))
            except Exception:  # what the header names is gone, or is no number
                continue
            if 0 <= bound - reached <= MOST:
                return Loop(bound, _text(frame, node.lineno), (frame.f_code.co_filename, node.lineno), reached, True)
    return None


def _is_installed(frame):
    """Whether the code is a library's, whose loops are its own affair but for those over epochs."""
    file = frame.f_code.co_filename
    return file.startswith(PYTHONS) or bool({"site-packages", "dist-packages"}.intersection(file.split(os.sep)))


def _counts_epochs(node):
    header = [node.target, node.iter] if isinstance(node, ast.For) else [node.test]
    return any("epoch" in _path(each) for part in header for each in ast.walk(part))


def _around(frame):
    """The loops whose body the frame is in, the outermost first."""
    code = frame.f_code
    if code.co_filename not in _sources:
        try:
            tree = ast.parse("".join(linecache.getlines(code.co_filename, frame.f_globals)))
        except (SyntaxError, ValueError, RecursionError):
            tree = ast.Module(body=[])
        nodes = list(ast.walk(tree))
        _sources[code.co_filename] = (
            [each for each in nodes if isinstance(each, (ast.For, ast.While))],
            [(path, each.lineno) for each in nodes if isinstance(each, ast.Assign) for path in _assigned(each)])
    line = frame.f_lineno
    return sorted((each for each in _sources[code.co_filename][0]
                   if code.co_firstlineno <= each.lineno and each.body[0].lineno <= line <= _last_line(each)),
                  key=lambda each: each.lineno)


def _assigned(node):
    """What an assignment sets: `step`, and both of `step, best = 0, None`."""
    for target in node.targets:
        for each in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            yield _path(each)


def _last_line(node):
    # Python 3.7 does not say where a statement ends, but where each part of it begins.
    return max(getattr(each, "end_lineno", None) or getattr(each, "lineno", 0) for each in ast.walk(node.body[-1]))


def _loop(node, frame, around):
    """`around`: the line of the loop around it in the same frame; 0: there is none."""
    for read in (_walked, _compared):
        try:
            count, reached, line, outlives = read(node, frame, around)
            break
        except Exception:  # what the header names is gone, or is no number
            pass
    else:
        return None
    return Loop(count, _text(frame, line), (frame.f_code.co_filename, node.lineno), reached, outlives)


def _text(frame, line):
    name = frame.f_code.co_filename
    header = linecache.getline(name, line).strip().rstrip(":")
    place = "a cell of the notebook" if "/ipykernel_" in name else os.path.basename(name)
    return "%s (%s, line %d)" % (header[:80], place, line)


def _walked(node, frame, _):
    """Of a `for` over numbers, what _compared() says of others."""
    numbers, target, enumerated = _numbers(node.iter, node.target, frame)
    reached = frame.f_locals.get(target.id) if isinstance(target, ast.Name) else None
    if not isinstance(reached, int):
        reached = None
    elif not enumerated:
        reached = (reached - numbers.start) // numbers.step
    return len(numbers), reached, node.lineno, False


# What is compared how → whether the round at the bound itself is still trained.
_GOES_ON = {ast.Lt: False, ast.LtE: True, ast.NotEq: False}
_ENDS = {ast.GtE: False, ast.Gt: True, ast.Eq: False}
_MIRRORED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}


def _compared(node, frame, around):
    """Rounds from here on, which is taken for the first one; the number of this one; the line that says so; whether the
    number outlives the loop."""
    for test, meaning in _conditions(node, frame):
        for counter, how, bound in _comparisons(test):
            by, line = _increase(node, counter, frame)
            if how in meaning and by > 0:
                begin = operator.index(_value(counter, frame)) - (by if line < frame.f_lineno else 0)
                compared = begin + (by if line < test.lineno else 0)
                rounds = (_value(bound, frame) - compared) / by
                checks = math.floor(rounds) + 1 if meaning[how] else math.ceil(rounds)
                begun = any(path == _path(counter) and max(around, frame.f_code.co_firstlineno - 1) < at < node.lineno
                            for path, at in _sources[frame.f_code.co_filename][1])
                own = begun or line == node.lineno
                return checks + (test.lineno > frame.f_lineno), begin // by, test.lineno, not own
    raise TypeError


def _comparisons(test):
    """A comparison of two from either side: what is compared, how, and with what."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return ()
    one, how, other = test.left, type(test.ops[0]), test.comparators[0]
    return (one, how, other), (other, _MIRRORED.get(how), one)


def _conditions(node, frame):
    """What ends a loop when it is compared: in the header of a `while`, or in the body before a `break`."""
    for each in _parts(node.test, ast.And) if isinstance(node, ast.While) else ():
        yield each, _GOES_ON
    for statement in node.body:
        if isinstance(statement, ast.If) and any(isinstance(each, ast.Break) for each in statement.body):
            for either in _parts(statement.test, ast.Or):
                both = _parts(either, ast.And)
                for each in both:
                    if all(other is each or _holds(other, frame) for other in both):
                        yield each, _ENDS


def _parts(test, junction):
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, junction) else [test]


_COMPARED = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
             ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not}


def _holds(test, frame):
    """`options.most > 0`, `options.most is not None`, `options.most`."""
    try:
        if not isinstance(test, ast.Compare):
            return bool(_value(test, frame))
        left, right = _value(test.left, frame), _value(test.comparators[0], frame)
        return len(test.ops) == 1 and bool(_COMPARED[type(test.ops[0])](left, right))
    except Exception:
        return False


def _increase(node, counter, frame):
    """By how much a loop increases what it compares, and in which line: 0 where it does not, or in several places."""
    path = _path(counter)
    if isinstance(node, ast.For) and path and _path(_element(node.target, 0)) == path:
        if _called(node.iter) == "enumerate" or _called(node.iter) in BARS and _called(node.iter.args[0]) == "enumerate":
            return 1, node.lineno
    found = _changes(node, path)
    if not found and isinstance(node, ast.While) and "epoch" in path:  # what the loop calls counts on
        return 1, sys.maxsize
    if len(found) != 1 or found[0][0] is None:
        return 0, 0
    return operator.index(_value(found[0][0], frame)), found[0][1]


def _changes(node, path):
    """What is added to a name in a loop, and in which line; None for a change that is no addition."""
    found = []
    for each in ast.walk(node) if path else ():
        if isinstance(each, ast.AugAssign) and _path(each.target) == path:
            found.append((each.value if isinstance(each.op, ast.Add) else None, each.lineno))
        elif isinstance(each, ast.Assign) and path in _assigned(each):
            added = isinstance(each.value, ast.BinOp) and isinstance(each.value.op, ast.Add)
            found.append((each.value.right if added and _path(each.value.left) == path else None, each.lineno))
    return found


def _called(node):
    """The last name of what a call calls; None: it is none."""
    function = getattr(node, "func", None)
    return getattr(function, "attr", getattr(function, "id", None))


def _path(node):
    """`step`, `self.step`; nothing for what is no name."""
    if isinstance(node, ast.Attribute):
        return "%s.%s" % (_path(node.value), node.attr) if _path(node.value) else ""
    return getattr(node, "id", "")


def _numbers(node, target, frame):
    """The range that is walked through, the target that has its number, and whether that is its index."""
    if not isinstance(node, ast.Call):
        value = _value(node, frame)
        value = getattr(value, "iterable", value)  # of a progress bar
        if not isinstance(value, range):
            raise TypeError
        return value, target, False
    name = _called(node)
    if name in ("range", "trange"):
        return range(*[operator.index(_value(each, frame)) for each in node.args]), target, False
    if name == "islice":
        return range(operator.index(_value(node.args[1], frame))), None, False
    if name in BARS:
        return _numbers(node.args[0], target, frame)
    if name == "enumerate":
        return _numbers(node.args[0], None, frame)[0], _element(target, 0), True
    if name == "zip":
        for index, each in enumerate(node.args):
            if _called(each) == "range":
                return _numbers(each, _element(target, index), frame)
    raise TypeError


def _element(target, index):
    return target.elts[index] if isinstance(target, ast.Tuple) else None


_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
              ast.Div: operator.truediv}
_FUNCTIONS = {"int": int, "len": len, "min": min, "max": max, "round": round, "getattr": getattr, "ceil": math.ceil,
              "floor": math.floor}


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
        arguments = [_value(each, frame) for each in node.args]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get":  # of a dictionary of settings
            settings = _value(node.func.value, frame)
            return settings.get(*arguments) if isinstance(settings, collections.abc.Mapping) else None
        if isinstance(node.func, ast.Attribute) and _value(node.func.value, frame) is not math:
            raise TypeError
        return _FUNCTIONS[_called(node)](*arguments)
    return ast.literal_eval(node)


class Turns(object):
    """When the number of a loop goes on: exact, so each step is looked at until that has happened twice."""

    def __init__(self, loop):
        self.loop = loop    # as it was seen first
        self.seen = []      # (steps that had ended, number) when it went on
        self.open = True    # whether the next step is to be looked at

    def look(self, loop, steps):
        if loop is None or loop.place != self.loop.place:
            self.open = False
        elif loop.reached != (self.seen[-1][1] if self.seen else self.loop.reached):
            self.seen.append((steps, loop.reached))
            self.open = len(self.seen) < 2


class Length(object):
    """What the loops of the process that trains say.

    The loop around a data loader counts epochs. Where no loader is seen, a loop whose number goes on by as many with each
    step counts steps, and one around it epochs; where there are more around it, all steps are counted, and no epochs.
    One whose number stays for as many steps each time counts epochs of so many. Where what a loop calls counts its number
    on, and by as much after as many steps, twice, that says how many steps there are.
    """

    def __init__(self):
        self.epochs = None   # the Loop around the loader's first iterator, or what fit was told
        self.first = None    # the loops at the first step's end, and its number
        self.each = None     # numbers of the innermost that a step takes; 0: no loop counts steps; None: not known yet
        self.next_look = 0
        self.within = 0      # loops within the one that counts steps
        self.stays = None    # Turns of the innermost, where it stays for several steps
        self.called = None   # Turns of the one whose number what it calls counts on
        self.seen = 0        # steps

    def stepped(self, frame, steps):
        """A step ends, `steps` have ended before it: looks at the loops, ever more rarely."""
        self.seen = steps + 1
        for turns, find in ((self.stays, nearest), (self.called, counted_on)):
            if turns and turns.open and not self.epochs:
                turns.look(find(frame), steps)
        if steps < self.next_look or self.each == 0 or steps > LOOKS_UP_TO:
            return
        self.next_look = max(1, 2 * steps)
        loops = enclosing(frame)[self.within:]
        if self.first is None:
            self.first, self.each = (loops, steps), None if loops and loops[0].reached is not None else 0
            called = counted_on(frame)
            self.called = called and Turns(called)
            return
        before, steps_before = self.first
        if [each.place for each in loops] != [each.place for each in before]:
            self.each = 0
            return
        if self.each is None:
            inner = self._outermost(loops, before, steps - steps_before)
            loops, before = loops[inner:], before[inner:]
            self.first, self.within = (before, steps_before), self.within + inner
        if [each.reached for each in loops[1:]] == [each.reached for each in before[1:]]:
            each, left = divmod(loops[0].reached - before[0].reached, steps - steps_before)
            if self.each is None and each == left == 0:
                self.stays = Turns(loops[0])
            self.each = 0 if left or each < 1 or self.each not in (None, each) else each

    @staticmethod
    def _outermost(loops, before, steps):
        """Which loop around others goes on with each step, as `while step < most` does around a loop that counts steps on; 0:
        none of them, or not known."""
        for index in range(len(loops) - 1, 0, -1):
            if None not in (loops[index].reached, before[index].reached):
                each, left = divmod(loops[index].reached - before[index].reached, steps)
                if each >= 1 and not left:
                    return index
        return 0

    def _counted(self):
        """Steps until the number that was counted on is the bound; None: not known."""
        if not self.called or len(self.called.seen) < 2:
            return None
        begin, bound = self.called.loop.reached, self.called.loop.count
        (each, once), (both, twice) = self.called.seen
        by = once - begin
        if both != 2 * each or twice - once != by or by < 1:
            return None
        return each * (-(-(bound - begin) // by) + (begin >= by))  # a number as large was counted before the first step

    def facts(self, steps_per_epoch):
        """For the report. `steps_per_epoch`: of the data loader; None: not known."""
        found = self._found(steps_per_epoch)
        each = found.get("steps_per_epoch", steps_per_epoch)
        in_all = found["epochs"] * each if each and "epochs" in found else found.get("steps_in_all", self.seen)
        return found if self.seen <= in_all else {}  # what is around these loops was not seen

    def _found(self, steps_per_epoch):
        counted = self._counted()
        if counted and not self.epochs:
            return {"steps_in_all": counted, "trains": self.called.loop.text}
        if self.called and not self.epochs and steps_per_epoch is None:
            return {}  # of how many such rounds the others are a part is not known before their number has gone on twice
        loops = self.first[0] if self.each else []
        steps = max(1, loops[0].count // self.each) if loops else None
        if steps_per_epoch is None and len(loops) == 2 and not loops[0].outlives:
            return {"steps_per_epoch": steps, "epochs": loops[1].count, "trains": loops[1].text}
        if steps_per_epoch is not None and self.epochs and not self._ends_before(loops, steps, steps_per_epoch):
            found = {"epochs": self.epochs.count, "trains": self.epochs.text}
            return dict(found, ends_repeat=self.epochs.repeats) if self.epochs.repeats > 1 else found
        if steps_per_epoch is None and self.stays and self.stays.seen:
            turns = [ended for ended, _ in self.stays.seen]
            around, each = self.first[0][0], turns[0]
            if turns[1:] == [2 * each] or around.count * each == self.seen:  # twice, or in all that there was
                return {"steps_per_epoch": each, "epochs": around.count, "trains": around.text}
        if not loops:  # of how many steps each is, is not known
            known = self.epochs and steps_per_epoch is None
            return {"epochs": self.epochs.count, "trains": self.epochs.text} if known else {}
        last = loops[0]
        for around in loops[1:]:
            if last.outlives:  # nothing begins again
                break
            steps, last = steps * around.count, around
        return {"steps_in_all": steps, "trains": last.text}

    def _ends_before(self, loops, steps, steps_per_epoch):
        """Whether the loop over steps says how long it trains, and not the one around the loader."""
        if not loops:
            return False
        if self.epochs.place == loops[0].place:  # the loader began in it, and goes on from one round of it to the next
            return True
        if self.epochs.place not in [each.place for each in loops[1:]]:
            return False
        return steps < (self.epochs.count * steps_per_epoch if loops[0].outlives else steps_per_epoch)
