"""Writes the gradients of small models in training with the penalties of their activity regularizers, of Keras 2 or 3.

    python write_penalties.py 2 > ../../packages/keras-loader/test/fixtures/keras-2-penalties.json
    python write_penalties.py 3 > ../../packages/keras-loader/test/fixtures/keras-3-penalties.json
"""

import json

from keras_answers import L, as_numpy, generation, keras, leaves, numbers, pack, seed, tf

R = keras.regularizers


def shared(x):
    layer = L.Dense(4, activation="tanh", activity_regularizer=R.L1(0.3))
    return layer(layer(x))


def nested(x):
    i = keras.Input((5, 4))
    return keras.Model(i, L.Dense(3, activity_regularizer=R.L1L2(0.1, 0.2))(i))(x)


cases = {
    "of squares": (lambda x: L.Dense(3, activation="sigmoid", activity_regularizer=R.L2(0.5))(x), (4,)),
    "of a convolution": (lambda x: L.Conv2D(2, 2, activity_regularizer=R.L1(0.2))(x), (4, 4, 2)),
    "of a layer that is called twice": (shared, (4,)),
    "of a model in the model": (nested, (5, 4)),
    "of a recurrent layer": (lambda x: L.LSTM(3, return_sequences=True, activity_regularizer=R.L1L2(0.3, 0.1))(x), (5, 4)),
    "of several outputs": (lambda x: L.GRU(3, return_state=True, reset_after=False, activity_regularizer=R.L2(0.3))(x), (5, 4)),
    "of masked steps": (lambda x: L.Dense(2, activity_regularizer=R.L2(0.3))(L.SimpleRNN(3)(L.Masking()(x))), (5, 4)),
    "of a layer of its own": (lambda x: L.Dense(2)(L.ActivityRegularization(0.2, 0.3)(L.Dense(3)(x))), (4,)),
}
told = {}
for name, (build, shape) in cases.items():
    seed(name)
    symbol = keras.Input(shape)
    model = keras.Model(symbol, build(symbol))
    for _, layer in leaves(model):
        layer.set_weights([numbers(w.shape, low=0.2) for w in layer.get_weights()])
    x = numbers((3, *shape))
    with tf.GradientTape() as tape:
        result = model(tf.constant(x), training=True)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        cotangents = [numbers(y.shape) for y in outputs]
        loss = sum(tf.reduce_sum(y * c) for y, c in zip(outputs, cotangents)) + sum(model.losses)
    layers = [(path, layer) for path, layer in leaves(model) if layer.weights]
    variables = [v.value if generation == "3" else v for _, layer in layers for v in layer.trainable_weights]
    gradients = iter(tape.gradient(loss, variables))
    told[name] = {
        "topology": json.loads(model.to_json()),
        "weights": {path: [pack(as_numpy(w)) for w in layer.weights] for path, layer in layers},
        "input": pack(x),
        "cotangents": [pack(c) for c in cotangents],
        "gradients": {path: [pack(next(gradients)) for _ in layer.trainable_weights] for path, layer in layers},
    }
print(json.dumps(told, separators=(",", ":")))
