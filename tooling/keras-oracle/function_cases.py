"""A case for each function of tensors."""

from keras_answers import L, case, generation, keras, np, tf

of_one = "negative abs square sqrt rsqrt exp expm1 log log1p sin cos tan asin acos atan sinh cosh tanh sign floor ceil round reciprocal erf sigmoid log_sigmoid softplus".split()
of_two = "add subtract multiply divide truediv divide_no_nan floordiv floormod pow maximum minimum squared_difference atan2 equal not_equal greater greater_equal less less_equal".split()
positive = {"sqrt", "rsqrt", "log", "log1p", "pow", "reciprocal", "divide", "truediv", "acos", "floordiv", "floormod"}
a, b = (3, 4), (3, 4)
if generation == "2":
    def at(path):
        found = tf
        for part in path.split("."):
            found = getattr(found, part)
        return found

    for name in of_one:
        case(f"math.{name}", lambda x: at(f"math.{name}")(x), a, low=0.1 if name in positive else -0.9)
    for name in of_two:
        case(f"math.{name}", lambda x, y: at(f"math.{name}")(x, y), a, b, low=0.1 if name in positive else -0.9)
    for name in ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum"]:
        case(name, lambda x, y: at(name)(x, y), a, b, low=0.1)
    for name in "relu relu6 sigmoid tanh elu selu silu swish softsign gelu leaky_relu softmax log_softmax".split():
        case(f"nn.{name}", lambda x: at(f"nn.{name}")(x), a)
    for name in "sum mean max min prod variance std logsumexp".split():
        case(f"math.reduce_{name}", lambda x: at(f"math.reduce_{name}")(x, axis=[1], keepdims=True), a)
        case(f"math.reduce_{name} last", lambda x: at(f"math.reduce_{name}")(x, axis=-1), a)
    functions = {
        "operators": lambda x, y: (1 - x) * y + x / 2.0 - (-y) ** 2,
        "constant first": lambda x, y: tf.subtract(2.0, x) + tf.math.maximum(y, 0.1),
        "gelu approximate": lambda x, y: tf.nn.gelu(x, approximate=True),
        "leaky": lambda x, y: tf.nn.leaky_relu(x, alpha=0.3),
        "softmax first": lambda x, y: tf.nn.softmax(x, axis=1),
        "logical": lambda x, y: tf.cast(tf.math.logical_or(tf.math.logical_and(x > 0.0, y > 0.0), tf.math.logical_xor(x < 0.2, tf.math.logical_not(y < 0.1))), "float32"),
        "any all": lambda x, y: [tf.cast(tf.math.reduce_any(x > 0.5, axis=1), "float32"), tf.cast(tf.math.reduce_all(x > -0.5, axis=1), "float32")],
        "where": lambda x, y: tf.where(x > 0.0, x, y),
        "clip": lambda x, y: tf.clip_by_value(x, -0.3, 0.4),
        "identity": lambda x, y: tf.identity(x),
        "arg": lambda x, y: [tf.cast(tf.math.argmax(x, axis=-1), "float32"), tf.cast(tf.math.argmin(x, axis=1), "float32")],
        "cumulative": lambda x, y: [tf.math.cumsum(x, axis=1), tf.math.cumsum(x, axis=2)],
        "reshape": lambda x, y: [tf.reshape(x, [-1, 12]), tf.reshape(x, [-1, 2, 6])],
        "transpose": lambda x, y: [tf.transpose(x, [0, 2, 1]), tf.compat.v1.transpose(x, [0, 2, 1])],
        "expand squeeze": lambda x, y: [tf.squeeze(tf.expand_dims(x, 1), axis=1), tf.expand_dims(x, -1), tf.compat.v1.squeeze(tf.expand_dims(x, 2), [2])],
        "concat": lambda x, y: [tf.concat([x, y], axis=-1), tf.concat([x, y, x], 1)],
        "stack": lambda x, y: [tf.stack([x, y], axis=1), tf.stack([x, y], axis=-1)],
        "unstack": lambda x, y: tf.unstack(x, axis=1)[1],
        "split": lambda x, y: [tf.split(x, 2, axis=-1)[1], tf.split(x, [1, 3], axis=-1)[1]],
        "tile repeat reverse": lambda x, y: [tf.tile(x, [1, 2, 1]), tf.repeat(x, 2, axis=1), tf.reverse(x, [1])],
        "pad": lambda x, y: [tf.pad(x, [[0, 0], [1, 2], [0, 1]]), tf.pad(x, [[0, 0], [1, 1], [2, 0]], "REFLECT"), tf.compat.v1.pad(x, [[0, 0], [1, 0], [0, 0]], constant_values=2.0)],
        "gather": lambda x, y: [tf.gather(x, [0, 2, 0], axis=1), tf.compat.v1.gather(x, [3, 1], axis=-1)],
        "slice": lambda x, y: tf.slice(x, [0, 1, 0], [-1, 2, 3]),
        "getitem": lambda x, y: [x[:, 1:], x[:, 0], x[..., ::2], x[:, tf.newaxis, -1], x[:, ::-1, 1:-1]],
        "matmul": lambda x, y: [tf.matmul(x, y, transpose_b=True), tf.linalg.matmul(x, y, transpose_a=True)],
        "resize": lambda x, y: [tf.image.resize(tf.expand_dims(x[..., :3], -1), (5, 7)), tf.image.resize(tf.expand_dims(x[..., :3], -1), (6, 2), method="nearest")],
        "likes": lambda x, y: [tf.zeros_like(x) + y, tf.ones_like(x) * y],
        "one hot": lambda x, y: tf.one_hot(tf.math.argmax(x, axis=-1), 4),
        "stop gradient": lambda x, y: x * tf.stop_gradient(y * 2.0),
        "sizes": lambda x, y: [tf.reshape(x, [tf.shape(x)[0], -1]), tf.reshape(y, [-1, tf.shape(y)[1], 4]), tf.reshape(x, tf.shape(y))],
        "made of sizes": lambda x, y: [x + tf.zeros([tf.shape(x)[0], 3, 4]), x * tf.ones(tf.shape(x)), tf.broadcast_to(x[:, :1], tf.shape(y))],
        "norm": lambda x, y: [tf.norm(x, axis=-1), tf.norm(x, ord=1, axis=1, keepdims=True), tf.norm(x, ord=3, axis=1)],
        "compat norm": lambda x, y: tf.compat.v1.norm(x, axis=-1, keepdims=True),
        "l2 normalize": lambda x, y: [tf.math.l2_normalize(x, axis=-1), tf.nn.l2_normalize(y, axis=1)],
        "moments": lambda x, y: tf.nn.moments(x, axes=[1], keepdims=True),
        "top k": lambda x, y: tf.math.top_k(x, k=2)[0],
        "roll": lambda x, y: [tf.roll(x, shift=1, axis=1), tf.roll(x, shift=[-1, 2], axis=[1, 2])],
        "depth to space": lambda x, y: [tf.nn.depth_to_space(tf.reshape(x, [-1, 1, 3, 4]), 2), tf.nn.space_to_depth(tf.reshape(y, [-1, 2, 6, 1]), 2)],
        "tensordot": lambda x, y: tf.tensordot(x, tf.constant([[1.0, 2.0], [0.5, -1.0], [0.0, 1.0], [2.0, 0.1]]), axes=1),
    }
else:
    ops = keras.ops
    of_one = "negative abs absolute square sqrt rsqrt exp expm1 log log1p sin cos tan arcsin arccos arctan sinh cosh tanh sign floor ceil round reciprocal erf relu relu6 sigmoid log_sigmoid softplus softsign elu selu silu gelu hard_sigmoid hard_silu hard_tanh hard_shrink soft_shrink tanh_shrink celu squareplus log2 log10 leaky_relu copy softmax log_softmax".split()
    of_one += ["mish"] if hasattr(ops, "mish") else []
    of_two = "logaddexp add subtract multiply divide true_divide divide_no_nan floor_divide power maximum minimum mod arctan2 equal not_equal greater greater_equal less less_equal logical_and logical_or logical_xor".split()
    positive |= {"log2", "log10", "power", "true_divide", "arccos", "floor_divide", "mod"}
    for name in of_one:
        case(name, lambda x: getattr(ops, name)(x), a, low=0.1 if name in positive else -0.9)
    for name in of_two:
        case(name, lambda x, y: getattr(ops, name)(x, y), a, b, low=0.1 if name in positive else -0.9)
    for name in "sum mean max min prod var std logsumexp any all argmax argmin".split():
        case(f"{name} of 1", lambda x: getattr(ops, name)(x, axis=1, keepdims=True), a)
        case(f"{name} of -1", lambda x: getattr(ops, name)(x, axis=-1), a)
    functions = {
        "operators": lambda x, y: (1 - x) * y + x / 2.0 - (-y) ** 2,
        "ranks": lambda x, y: x + y[:, 0, :1, None],
        "gelu exact": lambda x, y: ops.gelu(x, approximate=False),
        "leaky": lambda x, y: ops.leaky_relu(x, negative_slope=0.3),
        "softmax first": lambda x, y: ops.softmax(x, axis=1),
        "logical not": lambda x, y: ops.cast(ops.logical_not(x > 0), "float32"),
        "where": lambda x, y: ops.where(x > 0, x, y),
        "clip": lambda x, y: ops.clip(x, -0.3, 0.4),
        "cumulative": lambda x, y: [ops.cumsum(x, axis=1), ops.cumsum(x, axis=2)],
        "reshape": lambda x, y: [ops.reshape(x, (-1, 12)), ops.reshape(x, (-1, 2, 6))],
        "axes": lambda x, y: [ops.transpose(x, (0, 2, 1)), ops.swapaxes(x, 1, 2), ops.moveaxis(x, 2, 1)],
        "expand squeeze": lambda x, y: [ops.squeeze(ops.expand_dims(x, 1), 1), ops.expand_dims(x, -1), ops.ravel(x)],
        "concatenate": lambda x, y: [ops.concatenate([x, y], axis=-1), ops.concatenate([x, y, x], 1)],
        "stack": lambda x, y: [ops.stack([x, y], axis=1), ops.stack([x, y], axis=-1)],
        "unstack": lambda x, y: ops.unstack(x, axis=1)[1],
        "split": lambda x, y: [ops.split(x, 2, axis=-1)[1], ops.split(x, [1, 3], axis=-1)[1]],
        "tile repeat flip": lambda x, y: [ops.tile(x, (1, 2, 1)), ops.repeat(x, 2, axis=1), ops.flip(x, axis=1)],
        "pad": lambda x, y: [ops.pad(x, ((0, 0), (1, 2), (0, 1))), ops.pad(x, ((0, 0), (1, 1), (2, 0)), mode="reflect"), ops.pad(x, ((0, 0), (1, 0), (0, 0)), constant_values=2.0)],
        "take": lambda x, y: [ops.take(x, [0, 2, 0], axis=1), ops.take(x, [3, 1], axis=-1)],
        "getitem": lambda x, y: [x[:, 1:], x[:, 0], x[..., ::2], x[:, None, -1], x[:, ::-1, 1:-1]],
        "matmul": lambda x, y: ops.matmul(x, ops.transpose(y, (0, 2, 1))),
        "einsum": lambda x, y: [ops.einsum("bij,bkj->bik", x, y), ops.einsum("bij,bij->b", x, y), ops.einsum("bij->bj", x), ops.einsum("bij,bkj->bijk", x, y)],
        "resize": lambda x, y: [ops.image.resize(ops.expand_dims(x[..., :3], -1), (5, 7)), ops.image.resize(ops.expand_dims(x[..., :3], -1), (6, 2), interpolation="nearest")],
        "likes": lambda x, y: [ops.zeros_like(x) + y, ops.ones_like(x) * y],
        "one hot": lambda x, y: ops.one_hot(ops.argmax(x, axis=-1), 4),
        "constants": lambda x, y: [x + ops.convert_to_tensor([0.1, 0.2, 0.3, 0.4]), ops.matmul(x, np.eye(4, 2, dtype="float32")) * ops.arange(2, dtype="float32")],
        "twice": lambda x, y: [x * x + x, ops.concatenate([y, y], axis=1)],
        "stop gradient": lambda x, y: x * ops.stop_gradient(y * 2.0),
        "broadcast to": lambda x, y: ops.broadcast_to(x[0, 0], (3, 4)) * y,
        "norm": lambda x, y: [ops.norm(x, axis=-1), ops.norm(x, ord=1, axis=1, keepdims=True), ops.norm(x, ord=3, axis=1)],
        "normalize": lambda x, y: [ops.normalize(x, axis=-1), ops.normalize(y, axis=1, order=1)],
        "moments": lambda x, y: list(ops.moments(x, axes=[1], keepdims=True)),
        "top k": lambda x, y: ops.top_k(x, 2)[0],
        "take along axis": lambda x, y: [ops.take_along_axis(x, ops.argmax(y, axis=-1, keepdims=True), axis=-1), ops.take_along_axis(x, ops.argmin(y, axis=1, keepdims=True), axis=1)],
        "roll": lambda x, y: [ops.roll(x, 1, axis=1), ops.roll(x, -2, axis=-1)],
        "tensordot": lambda x, y: [ops.tensordot(x, np.arange(8.0, dtype="float32").reshape((4, 2)), axes=1), ops.dot(x, np.arange(4.0, dtype="float32")), ops.dot(x, np.arange(8.0, dtype="float32").reshape((4, 2)))],
        "triangles": lambda x, y: [ops.tril(x), ops.triu(y, k=1)],
        "glu": lambda x, y: [ops.glu(x), ops.glu(ops.concatenate([x, y], 1), axis=1)],
        "shaped": lambda x, y: [ops.celu(x, alpha=0.5), ops.hard_shrink(x, threshold=0.3), ops.soft_shrink(x, threshold=0.2), ops.threshold(x, 0.1, 0.7), ops.squareplus(x, b=2)],
    }
for name, function in functions.items():
    case(name, function, a, b)
nested = lambda: keras.Sequential([keras.Input((4,)), L.Dense(4, activation="tanh")], name="inner")
case("of a nested model", lambda x: nested()(x) * 2.0 + x, (4,))
