"""MXNet's Gluon: its random streams and dropout, and the parameters of its trainers."""

from . import Learning


class MXNet(Learning):
    def __init__(self, mxnet, session):
        super(MXNet, self).__init__(session)
        self.mxnet = mxnet

    def install(self):
        super(MXNet, self).install()
        self.watch_first_call(self.mxnet.gluon.Block)

    def seed_framework(self, seed):
        self.mxnet.random.seed(seed)

    def no_dropout(self):
        for space in (self.mxnet.nd, self.mxnet.sym):
            self.without_argument(space, "Dropout")
            self.without_argument(getattr(space, "npx", None), "dropout")
        self.without_argument(getattr(self.mxnet, "npx", None), "dropout")
        self.without_attribute(self.mxnet.gluon.rnn.rnn_layer._RNNLayer, "_dropout")

    def step_begins(self, trainer):
        self.update_begins(trainer, [(each.name, each) for each in trainer._params
                                     if each.grad_req != "null" and each._data is not None])

    def array(self, parameter):
        return parameter.list_data()[0].asnumpy().astype("float64")
