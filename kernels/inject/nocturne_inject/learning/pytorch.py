"""PyTorch: its random streams and dropout, and the parameters of the modules that a script makes."""

from . import Learning

_NO_DROPOUT = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


class PyTorch(Learning):
    def __init__(self, torch, session):
        super(PyTorch, self).__init__(session)
        self.torch = torch
        self.modules = []        # in the order in which they are made

    def install(self):
        super(PyTorch, self).install()
        if self.mode == "start":
            self.watch_modules()
        self.watch_first_call(self.torch.nn.Module)

    def seed_framework(self, seed):
        self.torch.manual_seed(seed)

    def no_chance(self):
        super(PyTorch, self).no_chance()
        self.torch.seed = self.torch.random.seed = lambda: self.torch.manual_seed(self.first_seed) and self.first_seed

    def watch_modules(self):
        module = self.torch.nn.Module
        original = module.__init__

        def __init__(made, *arguments, **named):
            original(made, *arguments, **named)
            self.modules.append(made)
        module.__init__ = __init__

    def no_dropout(self):
        functional = self.torch.nn.functional

        def same(input, p=0.5, training=True, inplace=False):
            return input
        for name in _NO_DROPOUT:
            if hasattr(functional, name):
                setattr(functional, name, same)
        self.torch.dropout = lambda input, p, train: input
        attention = getattr(functional, "scaled_dot_product_attention", None)
        if attention is not None:
            def without(query, key, value, attn_mask=None, dropout_p=0.0, *arguments, **named):
                return attention(query, key, value, attn_mask, 0.0, *arguments, **named)
            functional.scaled_dot_product_attention = without
        recurrent = self.torch.nn.RNNBase
        original = recurrent.__init__

        def __init__(made, *arguments, **named):
            original(made, *arguments, **named)
            made.dropout = 0.0
        recurrent.__init__ = __init__

    def begin(self, optimizers):
        """At the first backward: models in the order in which they were made; then what optimizers have that belongs to none."""
        if self.mode != "start":
            return
        parts = {id(part) for module in self.modules for part in module.children()}
        models = [module for module in self.modules
                  if id(module) not in parts and next(module.parameters(), None) is not None]
        known = set()
        for index, model in enumerate(models):
            for name, parameter in model.named_parameters():
                if parameter.requires_grad and id(parameter) not in known:
                    known.add(id(parameter))
                    self.keep("%d.%s" % (index, name), parameter)
        left = [parameter for optimizer in optimizers for group in optimizer.param_groups
                for parameter in group["params"] if id(parameter) not in known]
        for index, parameter in enumerate(left):
            self.keep("optimizer.%d" % index, parameter)

    def copy(self, parameter):
        return parameter.detach().clone()

    def distance(self, parameter, before):
        return float((parameter.detach().float() - before.float()).norm())

    def told(self, losses, count):
        return [(losses, None)]

    def look(self):
        """A backward begins: what the script does behind an event, such as an update of its own, is done."""
        missing = len(self.events) - len(self.moved)
        if self.before and missing:
            self.moved += [{name: self.distance(parameter, self.before[name])
                            for name, parameter in self.named.items()}] * missing
