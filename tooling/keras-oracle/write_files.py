"""Writes small models with their weights in each form that Keras 2 or 3 saves, into one zip file, with an input and what Keras answers.

    python write_files.py 2 ../../packages/keras-loader/test/fixtures/keras-2-files.zip   # tf_keras
    python write_files.py 3 ../../packages/keras-loader/test/fixtures/keras-3-files.zip   # Keras 3, on TensorFlow

Each weight has a value of its own: the defaults (0, 1) would hide a wrong order.
"""

import json
import os
import sys
import tempfile
import zipfile

from keras_answers import L, as_numpy, generation, keras, leaves, np, numbers, pack, seed

Input, Model, Sequential = keras.Input, keras.Model, keras.Sequential


def nested():
    """A model that is called twice, a nested model, a frozen one, and a shared layer."""
    i = Input((4,))
    inner = Model(i, L.BatchNormalization()(L.Dense(4, activation="tanh")(i)), name="inner")
    i = Input((4,))
    outer = Model(i, L.Dense(4)(inner(i)), name="outer")
    frozen = Sequential([Input((4,)), L.Dense(4), L.BatchNormalization(), L.Dense(4)], name="frozen")
    frozen.trainable = False
    part = Sequential([Input((4,)), L.Dense(4, trainable=False), L.BatchNormalization(), L.Dense(4)], name="part")
    shared = L.Dense(4)
    x, w = Input((4,)), Input((4,))
    y = outer(outer(x)) + frozen(w)
    return Model([x, w], [shared(y), part(shared(w))])


def recurrent():
    x = Input((5,), dtype="int32")
    e = L.Embedding(7, 4)(x)
    y = L.Bidirectional(L.LSTM(3, return_sequences=True, dropout=0.1))(e)
    y = L.RNN([L.LSTMCell(3), L.GRUCell(3), L.LSTMCell(2)], return_sequences=True)(y)
    i = Input((2,))
    of_each = Model(i, L.BatchNormalization()(L.Dense(4)(i)))
    y = L.TimeDistributed(of_each)(y)
    y = L.TimeDistributed(L.Dense(3))(L.GRU(4, return_sequences=True)(y))
    return Model(x, L.SimpleRNN(3)(y))


def films():
    x = Input((3, 6, 5, 2))
    y = L.ConvLSTM2D(3, 3, padding="same", return_sequences=True)(x)
    y = L.TimeDistributed(L.Conv2D(2, 3))(y)
    return Model(x, L.Conv3D(2, 2, padding="same")(y))


def vision():
    """Enough layers of one class that their numbers have two digits."""
    x = Input((9, 9, 3))
    y = L.RandomFlip()(L.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 3.0])(x))
    y = L.Conv2D(4, 3, strides=2, use_bias=False)(y)
    y = L.PReLU(shared_axes=[1, 2])(L.BatchNormalization(scale=False)(y))
    y = L.SeparableConv2D(6, 3, padding="same")(y)
    y = L.DepthwiseConv2D(3, padding="same")(L.BatchNormalization(center=False)(y))
    y = L.Conv2DTranspose(4, 2, strides=2)(L.Conv2D(6, 1, groups=2)(y))
    y = L.GroupNormalization(2)(y)
    for _ in range(11):
        y = L.Conv2D(4, 1, activation="elu")(y)
    y = L.SpectralNormalization(L.Dense(3))(L.Dropout(0.2)(L.GlobalAveragePooling2D()(y)))
    return Model(x, y)


def attention():
    x, v = Input((5, 6)), Input((4, 6))
    y = L.LayerNormalization()(L.MultiHeadAttention(2, 3, value_dim=4, dropout=0.1)(x, v)) + x
    y = y + L.Attention(use_scale=True)([y, v]) + L.AdditiveAttention()([y, v])
    if generation == "3":
        y = y + L.GroupQueryAttention(3, 4, 2)(y, v)
    return Model([x, v], L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de")(y))


def long():
    """Attributes of more than 64 kB, which legacy files split."""
    layers = [L.Dense(1, name=f"layer_{i}_{'of_a_long_name_' * 60}") for i in range(80)]
    return Sequential([Input((1,)), *layers])


shapes = {"nested": [(4,), (4,)], "recurrent": [(5,)], "films": [(3, 6, 5, 2)], "vision": [(9, 9, 3)], "attention": [(5, 6), (4, 6)]}
answers = {}
with zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out, tempfile.TemporaryDirectory() as folder:

    def write(name, model, *endings):
        for ending in endings:
            path = os.path.join(folder, name + ending)
            (model.save_weights if ending == ".weights.h5" else model.save)(path)
            # The date would differ each time.
            with open(path, "rb") as file:
                out.writestr(zipfile.ZipInfo(name + ending), file.read(), zipfile.ZIP_DEFLATED, 9)

    for name, build in [(f.__name__, f) for f in (nested, recurrent, films, vision, attention)]:
        seed(name)
        model = build()
        for _, layer in leaves(model):
            weights = [w if w.dtype.kind == "i" else numbers(w.shape, low=0.2) for w in layer.get_weights()]
            if weights:
                layer.set_weights(weights)
            if hasattr(layer, "finalize_state"):
                layer.finalize_state()
        inputs = [numbers((2, *shape), "int32" if name == "recurrent" else "float32") for shape in shapes[name]]
        outputs = model(inputs if len(inputs) > 1 else inputs[0], training=False)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        answers[name] = {"inputs": [pack(x) for x in inputs], "outputs": [pack(as_numpy(y)) for y in outputs]}
        write(name, model, ".keras", ".h5", ".weights.h5")
    seed("long")
    model = long()
    for layer in model.layers:
        layer.set_weights([np.full(w.shape, 0.5, "float32") for w in layer.get_weights()])
    answers["long"] = {"inputs": [pack(np.ones((1, 1)))], "outputs": [pack(as_numpy(model(np.ones((1, 1), "float32"))))]}
    write("long", model, ".h5")
    out.writestr(zipfile.ZipInfo("answers.json"), json.dumps(answers, separators=(",", ":")), zipfile.ZIP_DEFLATED, 9)
