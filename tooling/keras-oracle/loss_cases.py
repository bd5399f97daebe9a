"""Values of Keras's losses and optimizers, in the form that a compiled model's file contains."""

from keras_answers import as_numpy, keras, np, numbers, pack, seed, tf

K = keras.losses
seed("losses")
classes = np.eye(4, dtype="float32")[[0, 2, 1]].reshape((1, 3, 4))
shares = np.round(np.abs(numbers((1, 3, 4))) + 0.1, 3)
shares = np.round(shares / shares.sum(-1, keepdims=True), 4)
logits, values, bits = numbers((1, 3, 4)), numbers((1, 3, 4)), np.round(numbers((1, 3, 4)) + 0.9).clip(0, 1)
steps = numbers((1, 3, 4), among=[-1.0, 0.0, 1.0])
numbered = np.array([[0, 2, 1]], "float32")

losses = {
    "mean squared error": (K.MeanSquaredError(), values, logits),
    "summed": (K.MeanSquaredError(reduction="sum"), values, logits),
    "mean absolute error": (K.MeanAbsoluteError(), values, logits),
    "mean absolute percentage error": (K.MeanAbsolutePercentageError(), values, logits),
    "mean squared logarithmic error": (K.MeanSquaredLogarithmicError(), shares, np.abs(logits)),
    "binary": (K.BinaryCrossentropy(), bits, shares),
    "binary of logits": (K.BinaryCrossentropy(from_logits=True, label_smoothing=0.1), bits, logits),
    "categorical": (K.CategoricalCrossentropy(), classes, shares),
    "categorical of logits": (K.CategoricalCrossentropy(from_logits=True, label_smoothing=0.2), classes, logits),
    "sparse": (K.SparseCategoricalCrossentropy(), numbered, shares),
    "sparse of logits": (K.SparseCategoricalCrossentropy(from_logits=True), numbered, logits),
    "huber": (K.Huber(), values, logits * 2),
    "log cosh": (K.LogCosh(), values, logits),
    "divergence": (K.KLDivergence(), np.roll(shares, 1, -1), shares),
    "poisson": (K.Poisson(), shares, np.abs(logits) + 0.1),
    "cosine": (K.CosineSimilarity(), values, logits),
    # An error of exactly 0, and of exactly delta
    "mean absolute error at kinks": (K.MeanAbsoluteError(reduction="sum"), steps, steps[..., ::-1]),
    "mean absolute percentage error at kinks": (K.MeanAbsolutePercentageError(), steps + 2, steps[..., ::-1] + 2),
    "huber at kinks": (K.Huber(), steps, steps[..., ::-1]),
    "log cosh at kinks": (K.LogCosh(), steps, steps[..., ::-1]),
    "binary of logits at kinks": (K.BinaryCrossentropy(from_logits=True), bits, steps),
    "divergence at kinks": (K.KLDivergence(), classes, classes),
}


def answer(loss, target, output):
    symbol = tf.constant(output.astype("float32"))
    with tf.GradientTape() as tape:
        tape.watch(symbol)
        value = loss(tf.constant(target.astype("float32")), symbol)
    written = keras.losses.serialize(loss)
    # The code of a function, which no reader uses.
    getattr(written, "get", lambda _: {})("config", {}).pop("fn", None)
    return {"loss": written, "target": pack(target), "output": pack(output), "value": float(as_numpy(value)), "gradient": pack(tape.gradient(value, symbol).numpy())}


loss_cases = {name: answer(*case) for name, case in losses.items()}
optimizers = {
    "SGD": keras.optimizers.SGD(0.05),
    "momentum": keras.optimizers.SGD(0.05, momentum=0.8),
    "Nesterov": keras.optimizers.SGD(0.05, momentum=0.8, nesterov=True),
    "RMSprop": keras.optimizers.RMSprop(0.02, rho=0.8),
    "RMSprop with momentum": keras.optimizers.RMSprop(0.02, momentum=0.5),
    "Adam": keras.optimizers.Adam(0.03, beta_1=0.8),
    "Adamax": keras.optimizers.Adamax(0.03),
    "Adagrad": keras.optimizers.Adagrad(0.05),
}
seed("optimizers")
gradients = [numbers((5,)) for _ in range(3)]


def update(optimizer):
    weight = keras.Variable(np.linspace(-1, 1, 5).astype("float32")) if hasattr(keras, "Variable") else tf.Variable(np.linspace(-1, 1, 5).astype("float32"))
    for gradient in gradients:
        optimizer.apply_gradients([(tf.constant(gradient), weight)])
    return {"optimizer": keras.optimizers.serialize(optimizer), "gradients": [pack(each) for each in gradients], "weight": pack(as_numpy(weight))}


optimizer_cases = {name: update(optimizer) for name, optimizer in optimizers.items()}
