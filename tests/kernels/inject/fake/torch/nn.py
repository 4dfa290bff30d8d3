import types

import torch


class Module(object):
    def __init__(self):
        self.parts, self.owned = {}, {}

    def __call__(self, *arguments):
        return self.forward(*arguments)

    def forward(self, value=None):
        torch.clock.spend(3)
        return value

    def children(self):
        return list(self.parts.values())

    def modules(self):
        yield self
        for part in self.children():
            for each in part.modules():
                yield each

    def named_parameters(self, before=""):
        for name, parameter in self.owned.items():
            yield before + name, parameter
        for name, part in self.parts.items():
            for each in part.named_parameters(before + name + "."):
                yield each

    def parameters(self):
        return (parameter for _, parameter in self.named_parameters())


class RNNBase(Module):
    pass


def _dropout(input, p=0.5, training=True, inplace=False):
    raise RuntimeError("dropout is on")


functional = types.SimpleNamespace(dropout=_dropout)
