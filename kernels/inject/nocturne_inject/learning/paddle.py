"""PaddlePaddle: its random streams and dropout, and the parameters of its optimizers."""

from . import Learning

_DROPOUT = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


class Paddle(Learning):
    def __init__(self, paddle, session):
        super(Paddle, self).__init__(session)
        self.paddle = paddle

    def install(self):
        super(Paddle, self).install()
        self.watch_first_call(self.paddle.nn.Layer)

    def seed_framework(self, seed):
        self.paddle.seed(seed)

    def no_dropout(self):
        functional = self.paddle.nn.functional
        for name in _DROPOUT:
            self.without_argument(functional, name)
        self.without_argument(functional, "scaled_dot_product_attention", 4, "dropout_p")
        self.without_argument(getattr(functional, "flash_attention", None), "flash_attention", 3, "dropout")
        self.without_attribute(self.paddle.nn.layer.rnn.RNNBase, "dropout")

    def step_begins(self, optimizer):
        given = optimizer._parameter_list or []
        groups = [each["params"] if isinstance(each, dict) else [each] for each in given]
        self.update_begins(optimizer, [(each.name, each) for group in groups for each in group if not each.stop_gradient])

    def array(self, parameter):
        return parameter.detach().astype("float64").numpy()
