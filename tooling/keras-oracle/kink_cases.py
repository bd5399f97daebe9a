"""Cases at the points where a function has no derivative, so that Keras' choice of a gradient is compared: zeros, ties
and borders. Each input is one of a few numbers, so ties are common.
"""

from keras_answers import L, case, generation, keras, tf

points = [-3.0, -1.0, -0.5, 0.0, 0.0, 0.3, 0.5, 1.0, 3.0, 6.0]
few = [-0.5, 0.0, 0.0, 0.5]
a, line, image, volume = (5, 8), (6, 4), (4, 4, 3), (4, 4, 4, 2)


def at(name, build, *shapes, among=points):
    case(f"kinks of {name}", build, *shapes, among=among)


if generation == "2":
    math, nn = tf.math, tf.nn
    of_one = {name: getattr(math, name) for name in "abs sign square softplus log_sigmoid".split()}
    of_one |= {name: getattr(nn, name) for name in "relu relu6 elu selu silu softsign gelu leaky_relu".split()}
    of_two = {name: getattr(math, name) for name in "maximum minimum squared_difference divide_no_nan".split()}
    reductions = {name: getattr(math, f"reduce_{name}") for name in "max min prod logsumexp".split()}
    functions = {
        "clip": lambda x: tf.clip_by_value(x, -0.5, 1.0),
        "norm": lambda x: [tf.norm(x, ord=1, axis=-1), tf.norm(x, ord=3, axis=1)],
        "l2_normalize": lambda x: tf.math.l2_normalize(x, axis=-1),
        "std": lambda x: tf.math.reduce_std(x[:, :1], axis=1),
        "sqrt": lambda x: tf.math.sqrt(tf.math.abs(x)),
        "top k": lambda x: tf.math.top_k(x, k=3)[0],
        "max of two axes": lambda x: tf.math.reduce_max(x, axis=[1, 2]),
        "norm of zeros": lambda x: tf.norm(x * 0.0, axis=-1),
    }
else:
    ops = keras.ops
    names = "abs sign square softplus log_sigmoid relu relu6 elu selu silu softsign gelu leaky_relu hard_sigmoid hard_silu hard_tanh hard_shrink soft_shrink tanh_shrink celu squareplus"
    of_one = {name: getattr(ops, name) for name in names.split()}
    of_two = {name: getattr(ops, name) for name in "maximum minimum divide_no_nan logaddexp".split()}
    reductions = {name: getattr(ops, name) for name in "max min prod logsumexp".split()}
    functions = {
        "clip": lambda x: ops.clip(x, -0.5, 1.0),
        "norm": lambda x: [ops.norm(x, ord=1, axis=-1), ops.norm(x, ord=3, axis=1)],
        "normalize": lambda x: [ops.normalize(x, axis=-1), ops.normalize(x, axis=-1, order=1)],
        "std": lambda x: ops.std(x[:, :1], axis=1),
        "sqrt": lambda x: ops.sqrt(ops.abs(x)),
        "top k": lambda x: ops.top_k(x, 3)[0],
        "shaped": lambda x: [ops.celu(x, alpha=0.5), ops.hard_shrink(x, threshold=0.3), ops.soft_shrink(x, threshold=0.3), ops.threshold(x, 0.3, 0.7)],
        "max of two axes": lambda x: ops.max(x, axis=(1, 2)),
        "norm of zeros": lambda x: ops.norm(x * 0.0, axis=-1),
    }
for name, function in of_one.items():
    at(name, lambda x: function(x), a)
for name, function in of_two.items():
    at(name, lambda x, y: function(x, y), a, a)
    at(f"{name} with broadcasting", lambda x, y: [function(x, y[:, :1]), function(x[..., :1], y)], a, a)
for name, function in reductions.items():
    at(f"reduced {name}", lambda x: [function(x, axis=1, keepdims=True), function(x, axis=-1)], a, among=few)
for name, function in functions.items():
    at(name, function, a)

layers = {
    "ReLU": lambda: L.ReLU(),
    "ReLU to 3": lambda: L.ReLU(max_value=3.0),
    "ReLU with slope": lambda: L.ReLU(negative_slope=0.1),
    "ReLU with slope to 1": lambda: L.ReLU(max_value=1.0, negative_slope=0.1),
    "ReLU with threshold": lambda: L.ReLU(threshold=0.5),
    "ReLU with slope and threshold": lambda: L.ReLU(max_value=3.0, negative_slope=0.1, threshold=0.5),
    "ReLU with slope to 6": lambda: L.ReLU(max_value=6.0, negative_slope=0.1),
    "LeakyReLU": lambda: L.LeakyReLU(0.2),
    "PReLU": lambda: L.PReLU(),
    "PReLU shared": lambda: L.PReLU(shared_axes=[1]),
    "ELU": lambda: L.ELU(),
    "ELU scaled": lambda: L.ELU(0.5),
    "UnitNormalization": lambda: L.UnitNormalization(),
}
if generation == "2":
    layers["ThresholdedReLU"] = lambda: L.ThresholdedReLU(0.5)
for name, make in layers.items():
    at(f"layer {name}", lambda x: make()(x), a)
names = "relu elu selu softsign hard_sigmoid swish mish".split()
if generation == "3":
    names += "hard_silu leaky_relu relu6 silu".split()
for name in names:
    at(f"activation {name}", lambda x: L.Activation(name)(x), a)
for name in "Maximum Minimum".split():
    at(f"layer {name}", lambda x, y, z: getattr(L, name)()([x, y, z]), line, line, line, among=few)
for rank, shape in {1: line, 2: image, 3: volume}.items():
    # Which of equal elements gets the gradient of a pooled volume depends on TensorFlow's device.
    for kind in [f"GlobalMaxPooling{rank}D"] if rank == 3 else [f"MaxPooling{rank}D", f"GlobalMaxPooling{rank}D"]:
        at(kind, lambda x: getattr(L, kind)()(x), shape, among=few)
    at(f"GlobalMaxPooling{rank}D keepdims", lambda x: getattr(L, f"GlobalMaxPooling{rank}D")(keepdims=True)(x), shape, among=few)
    if generation == "3":
        adaptive = f"AdaptiveMaxPooling{rank}D"
        at(adaptive, lambda x: getattr(L, adaptive)(3 if rank == 1 else (3, 2, 2)[:rank])(x), shape, among=few)
at("LayerNormalization of equal elements", lambda x: L.LayerNormalization()(x * 0.0), line)
