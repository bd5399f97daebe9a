"""Computes the answers of Keras 2 or 3 (the first argument) for a model: its topology, weights, inputs, outputs and
gradients.
"""

import json
import math
import os
import sys
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
generation = sys.argv[1]
if generation == "2":
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf

if generation == "2":
    import tf_keras as keras
    from tf_keras.src.applications.convnext import LayerScale, StochasticDepth
    from tf_keras.src.applications.inception_resnet_v2 import CustomScaleLayer

    version = keras.__version__
    as_numpy = lambda x: x.numpy()
else:
    import keras
    from keras.src.applications.convnext import LayerScale, StochasticDepth
    from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

    version = keras.__version__
    as_numpy = keras.ops.convert_to_numpy
L = keras.layers
rng = None


def seed(name):
    """Starts a case: its random numbers and the names of its layers then depend on nothing but its own name."""
    global rng
    number = zlib.crc32(name.encode())
    rng = np.random.default_rng(number)
    keras.utils.set_random_seed(number)
    keras.backend.clear_session()


def numbers(shape, dtype="float32", low=-0.9, high=0.9, among=None):
    """Returns random numbers from a range, or `among` given ones."""
    if among is not None:
        return rng.choice(among, shape).astype("float32")
    if dtype == "int32":
        return rng.integers(0, 4, shape).astype("int32")
    return np.round(rng.uniform(low, high, shape), 3).astype("float32")


def number(value):
    """Returns a number with seven digits. JSON has no infinities and no NaN, so these become strings."""
    if math.isfinite(value):
        return float(f"{value:.7g}")
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def pack(array):
    array = np.asarray(array)
    kind = "bool" if array.dtype.kind == "b" else "int32" if array.dtype.kind in "iu" else "float32"
    return {"shape": list(array.shape), "dtype": kind, "values": [number(float(v)) for v in array.ravel()]}


def leaves(model, prefix=""):
    for layer in model.layers:
        if isinstance(layer, (keras.Model, keras.Sequential)):
            yield from leaves(layer, prefix + layer.name + "/")
        else:
            yield prefix + layer.name, layer


def answer(model, inputs, training=False):
    """Returns a model's answers, with a distinctive value for each weight: the defaults (0, 1) would hide a wrong order.
    """
    for _, layer in leaves(model):
        if layer.weights:
            layer.set_weights([w if w.dtype.kind == "i" else numbers(w.shape, low=0.2) for w in layer.get_weights()])
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()
    tensors = [tf.constant(x) for x in inputs]
    floats = [t for t in tensors if t.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(floats)
        result = model(tensors if len(tensors) > 1 else tensors[0], training=False)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        cotangents = [numbers(y.shape) for y in outputs]
        loss = sum(tf.reduce_sum(tf.cast(y, "float32") * c) for y, c in zip(outputs, cotangents))
    trainable = [(name, layer) for name, layer in leaves(model) if layer.trainable_weights]
    variables = [v.value if hasattr(v, "value") and generation == "3" else v for _, layer in trainable for v in layer.trainable_weights]
    gradients = tape.gradient(loss, floats + variables)
    dense = [None if g is None else tf.convert_to_tensor(g).numpy() for g in gradients]
    of_weights, at = {}, len(floats)
    for name, layer in trainable:
        count = len(layer.trainable_weights)
        of_weights[name] = [None if g is None else pack(g) for g in dense[at : at + count]]
        at += count
    told = {
        "topology": json.loads(model.to_json()),
        "parameters": int(model.count_params()),
        # Keras 3 lists the weights of a wrapper before those of its layer.
        "weights": {name: [pack(as_numpy(w)) for w in layer.trainable_weights + layer.non_trainable_weights] for name, layer in leaves(model) if layer.weights},
        "inputs": [pack(x) for x in inputs],
        "outputs": [pack(as_numpy(y)) for y in outputs],
        "cotangents": [pack(c) for c in cotangents],
        "inputGradients": [None if g is None else pack(g) for g in dense[: len(floats)]],
        "weightGradients": of_weights,
    }
    if training:
        # After the rest, since it changes the statistics of a normalization.
        trained = model(tensors if len(tensors) > 1 else tensors[0], training=True)
        told["trainingOutputs"] = [pack(as_numpy(y)) for y in (trained if isinstance(trained, (list, tuple)) else [trained])]
    return told


cases = {}
# The names of the only cases to compute. All if empty.
chosen = set(sys.argv[3:])


def add_case(name, compute):
    """Adds a case with the answers that `compute` returns."""
    if name in cases:
        raise ValueError(f"there are two cases with the name {name}")
    if chosen and name not in chosen:
        return
    seed(name)
    cases[name] = compute()


def case(name, build, *shapes, dtype="float32", low=-0.9, among=None):
    """Adds a case. `build` computes outputs from symbolic inputs with these shapes, which exclude the batch."""

    def compute():
        symbols = [keras.Input(shape, name=f"input_{i}", dtype=dtype) for i, shape in enumerate(shapes)]
        outputs = build(*symbols)
        model = keras.Model(symbols if len(symbols) > 1 else symbols[0], outputs, name="case")
        return answer(model, [numbers((2, *shape), dtype, low, among=among) for shape in shapes])

    add_case(name, compute)
