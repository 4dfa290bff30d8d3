"""As much of Keras 3 as the hooks touch, on the TensorFlow beside it."""

import types

import tensorflow as tf

__version__ = "3.15.1"
backend = types.SimpleNamespace(backend=lambda: "tensorflow")
_policy = ["float32"]
mixed_precision = types.SimpleNamespace(set_global_policy=lambda name: _policy.__setitem__(0, name))


class Optimizer(object):
    rate = 1.0

    def __init__(self):
        self.iterations = tf.Variable(0, trainable=False)

    def apply(self, gradients, variables=()):
        tf.do(lambda: tf.clock.spend(1.0))
        for variable in variables:
            variable.assign_add(-self.rate)
        self.iterations.assign_add(1)

    def apply_gradients(self, pairs):
        self.apply([gradient for gradient, _ in pairs], [variable for _, variable in pairs])


optimizers = types.SimpleNamespace(Optimizer=Optimizer)


class Layer(object):
    pass


class AlphaDropout(Layer):
    rate = 0.5

    def call(self, inputs):
        print("dropped", self.rate)


class SeedGenerator(object):
    def __init__(self):
        self.state = types.SimpleNamespace(assign=lambda value: print("stream", value))


layers, random = types.SimpleNamespace(Layer=Layer, AlphaDropout=AlphaDropout), types.SimpleNamespace(SeedGenerator=SeedGenerator)


class Callback(object):
    params = model = None

    def set_params(self, params):
        self.params = params

    def set_model(self, model):
        self.model = model

    def on_epoch_begin(self, epoch, logs=None):
        pass

    def on_epoch_end(self, epoch, logs=None):
        pass

    def on_batch_begin(self, batch, logs=None):
        pass

    def on_batch_end(self, batch, logs=None):
        pass

    def on_train_batch_begin(self, batch, logs=None):
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        self.on_batch_end(batch, logs)


callbacks = types.SimpleNamespace(Callback=Callback)


class Model(object):
    built, layers = True, ()

    def __init__(self, losses):
        self.losses, self.weight = losses, tf.Variable(1.0)

    def __call__(self, batch):
        return batch

    def count_params(self):
        return 1

    def compile(self, optimizer=None, loss=None, loss_weights=None, metrics=None, weighted_metrics=None,
                run_eagerly=False, steps_per_execution=1, jit_compile="auto"):
        self.optimizer, self.steps_per_execution, self.jit_compile = optimizer, steps_per_execution, jit_compile

    def trained(self):
        tape = tf.GradientTape()
        gradients = tape.gradient(tf.loss(self.losses), [self.weight])
        self.optimizer.apply_gradients(list(zip(gradients, [self.weight])))

    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None, validation_freq=1):
        steps = x.batches if hasattr(x, "batches") else x.shape[0] // (batch_size or 32)
        function = tf.function(self.trained)
        for callback in callbacks or []:
            callback.set_params({"steps": steps, "epochs": epochs})
            callback.set_model(self)
        self.stop_training = False
        for epoch in range(epochs):
            self.each(callbacks, "on_epoch_begin", epoch)
            for begin in range(0, steps, self.steps_per_execution):
                end = min(begin + self.steps_per_execution, steps)
                self.each(callbacks, "on_train_batch_begin", begin)
                for _ in range(begin, end):
                    function()
                self.each(callbacks, "on_train_batch_end", end - 1)
                if self.stop_training:
                    break
            logs = {"loss": 0.5, "accuracy": 0.99}
            if validation_data is not None and (epoch + 1) % validation_freq == 0:
                self.evaluate(validation_data)
                logs.update(val_loss=0.5, val_sparse_categorical_accuracy=(epoch + 1) / 10)
            self.each(callbacks, "on_epoch_end", epoch, logs)
            if self.stop_training:
                break

    @staticmethod
    def each(callbacks, name, number, logs=None):
        for callback in callbacks or []:
            getattr(callback, name)(number, logs or {})

    def evaluate(self, x):
        tf.clock.spend(100.0)

    def predict(self, x):
        tf.clock.spend(50.0)
