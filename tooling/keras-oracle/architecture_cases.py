"""Common architectures, small, as whole models."""

from keras_answers import L, add_case, answer, generation, keras, np, numbers, tf

Input, Model, Sequential = keras.Input, keras.Model, keras.Sequential
is_keras_3 = generation == "3"
ops = keras.ops if is_keras_3 else tf


def floats(*shape):
    return numbers((2, *shape))


def tokens(*shape):
    return numbers((2, *shape), "int32")


def vision_transformer():
    x = Input((8, 8, 3))
    y = L.Reshape((-1, 8))(L.Conv2D(8, 4, strides=4)(x))
    # Values computed before the model are constants in its file.
    y = y + L.Embedding(4, 8)(ops.arange(4) if is_keras_3 else tf.range(4))
    n = L.LayerNormalization(epsilon=1e-6)(y)
    y = L.Add()([y, L.MultiHeadAttention(2, 4, dropout=0.1)(n, n)])
    n = L.LayerNormalization(epsilon=1e-6)(y)
    y = L.Add()([y, L.Dense(8)(L.Dropout(0.1)(L.Dense(16, activation=keras.activations.gelu)(n)))])
    return Model(x, L.Dense(3, activation="softmax")(L.GlobalAveragePooling1D()(L.LayerNormalization()(y))))


def bert():
    ids, types, mask = (Input((6,), dtype="int32", name=name) for name in ("ids", "types", "mask"))
    y = L.LayerNormalization(epsilon=1e-12)(L.Embedding(20, 8)(ids) + L.Embedding(5, 8)(types))
    kept = ops.cast(mask, "bool")[:, None, :]
    # The attended and the residual are one tensor. The gradient of the keys' bias is only rounding noise.
    y = y + L.MultiHeadAttention(2, 4, use_bias=False)(y, y, attention_mask=kept)
    y = y + L.Dropout(0.1)(L.Dense(8)(L.Dense(16, activation="relu")(y)))
    return Model([ids, types, mask], [y, L.Dense(3)(y[:, 0])])


def u_net():
    x = y = Input((8, 8, 1))
    skips = []
    for filters in (4, 8):
        y = L.BatchNormalization()(L.Conv2D(filters, 3, padding="same", activation="relu")(y))
        skips.append(y)
        y = L.MaxPooling2D()(y)
    for filters, skip in zip((8, 4), reversed(skips)):
        y = L.concatenate([L.Conv2DTranspose(filters, 2, strides=2, padding="same")(y), skip])
        y = L.Conv2D(filters, 3, padding="same", activation="relu")(y)
    return Model(x, L.Conv2D(1, 1, activation="sigmoid")(y))


def wave_net():
    x = Input((16, 2))
    y, skips = L.Conv1D(4, 1)(x), []
    for rate in (1, 2, 4):
        gates = [L.Conv1D(4, 2, padding="causal", dilation_rate=rate, activation=each)(y) for each in ("tanh", "sigmoid")]
        z = L.Multiply()(gates)
        skips.append(L.Conv1D(4, 1)(z))
        y = L.Add()([y, L.Conv1D(4, 1)(z)])
    return Model(x, L.Conv1D(5, 1, activation="softmax")(L.Activation("relu")(L.Add()(skips))))


def conv_lstm():
    x = Input((None, 5, 5, 1))
    y = L.BatchNormalization()(L.ConvLSTM2D(3, 3, padding="same", return_sequences=True)(x))
    return Model(x, L.Conv3D(1, 3, activation="sigmoid", padding="same")(y))


def bidirectional_gru():
    gru = L.Bidirectional(L.GRU(4, return_sequences=True))
    layers = [Input((None,), dtype="int32"), L.Embedding(10, 4, mask_zero=True), gru, L.Bidirectional(L.GRU(3))]
    return Sequential([*layers, L.Dense(4, activation="relu"), L.Dropout(0.4), L.Dense(1, activation="sigmoid")])


def attention():
    q, v = Input((None,), dtype="int32"), Input((None,), dtype="int32")
    embedding, convolution = L.Embedding(10, 4), L.Conv1D(5, 3, padding="same")
    query, value = convolution(embedding(q)), convolution(embedding(v))
    attended = L.Attention()([query, value])
    pooled = [L.GlobalAveragePooling1D()(each) for each in (query, attended)]
    return Model([q, v], L.Dense(1)(L.Concatenate()(pooled)))


def volumes():
    x = y = Input((6, 6, 4, 1))
    # With a window whose sides differ in length, tfjs's cpu backend has a different gradient.
    y = L.BatchNormalization()(L.MaxPooling3D(2)(L.Conv3D(4, 3, padding="same", activation="relu")(y)))
    y = L.Dense(5, activation="relu")(L.GlobalAveragePooling3D()(y))
    return Model(x, L.Dense(2, activation="softmax")(L.Dropout(0.3)(y)))


def several_inputs_and_outputs():
    title, body = Input((None,), dtype="int32", name="title"), Input((None,), dtype="int32", name="body")
    tags = Input((5,), name="tags")
    x = L.concatenate([L.LSTM(4)(L.Embedding(10, 4)(title)), L.LSTM(3)(L.Embedding(10, 4)(body)), tags])
    return Model([title, body, tags], [L.Dense(1, name="priority")(x), L.Dense(4, name="department")(x)])


def arithmetic():
    x, y = Input((4,)), Input((4,))
    z = (x + 2 * y) / 3 - x**2
    z = 1.0 - (ops.abs(z) + ops.maximum(x, y))
    return Model([x, y], L.Dense(2)(z * (ops.sigmoid(y) if is_keras_3 else tf.sigmoid(y))))


def nested_models():
    stem = Sequential([Input((6, 6, 2)), L.Conv2D(3, 3), L.ReLU()], name="stem")
    features, image = Input((4, 4, 3)), Input((6, 6, 2))
    pool = Model(features, L.GlobalAveragePooling2D()(features), name="pool")
    whole = Model(image, pool(stem(image)), name="whole")
    return Sequential([Input((6, 6, 2)), whole, L.Dense(2)])


def squeeze_and_excitation():
    x = Input((6, 6, 4))
    y = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(8, 3, padding="same", use_bias=False)(x)))
    s = L.Reshape((1, 1, 8))(L.GlobalAveragePooling2D()(y))
    s = L.Dense(2, activation="relu", kernel_initializer="he_normal", use_bias=False)(s)
    return Model(x, L.multiply([y, L.Dense(8, activation="sigmoid", use_bias=False)(s)]))


def sequence_to_sequence():
    source, target = Input((None, 5)), Input((None, 6))
    _, *state = L.LSTM(4, return_state=True)(source)
    decoded, _, _ = L.LSTM(4, return_sequences=True, return_state=True)(target, initial_state=state)
    return Model([source, target], L.Dense(6, activation="softmax")(decoded))


def generator_and_discriminator():
    dense = [Input((4,)), L.Dense(16, use_bias=False), L.BatchNormalization(), L.LeakyReLU(), L.Reshape((4, 4, 1))]
    generator = Sequential([*dense, L.Conv2DTranspose(2, 4, strides=2, padding="same", activation="tanh")], name="generator")
    convolution = [Input((8, 8, 2)), L.GaussianNoise(0.1), L.Conv2D(2, 3, strides=2, padding="same"), L.LeakyReLU(0.2)]
    discriminator = Sequential([*convolution, L.Flatten(), L.Dense(1)], name="discriminator")
    return Sequential([Input((4,)), generator, discriminator])


def siamese():
    tower = Sequential([Input((5,)), L.Dense(4, activation="relu"), L.Dense(3), L.UnitNormalization()], name="tower")
    a, b = Input((5,)), Input((5,))
    squares = (tower(a) - tower(b)) ** 2
    distance = ops.sum(squares, axis=-1, keepdims=True) if is_keras_3 else tf.reduce_sum(squares, axis=-1, keepdims=True)
    return Model([a, b], L.Dense(1, activation="sigmoid")(ops.sqrt(distance + 1e-3)))


def mixer():
    x = Input((8, 8, 3))
    y = L.Reshape((-1, 6))(L.Conv2D(6, 4, strides=4)(x))
    z = L.Permute((2, 1))(L.LayerNormalization()(y))
    y = y + L.Permute((2, 1))(L.Dense(4)(L.Dense(8, activation="swish")(z)))
    return Model(x, L.GlobalAveragePooling1D()(y + L.Dense(6)(L.LayerNormalization()(y))))


def language_model():
    x = Input((6,), dtype="int32")
    y = L.Embedding(10, 8)(x) + L.Embedding(6, 8)(ops.arange(6) if is_keras_3 else tf.range(6))
    y = L.LayerNormalization()(y + L.MultiHeadAttention(2, 4)(y, y, use_causal_mask=True))
    return Model(x, L.Dense(10)(L.LayerNormalization()(y + L.Dense(8)(L.Dense(16, activation="relu")(y)))))


def text_recognition():
    x = Input((12, 8, 1))
    y = L.MaxPooling2D((2, 2))(L.Conv2D(4, 3, activation="relu", padding="same")(x))
    y = L.Dense(5, activation="relu")(L.Reshape((6, 16))(y))
    return Model(x, L.Dense(7, activation="softmax")(L.Bidirectional(L.LSTM(4, return_sequences=True, dropout=0.25))(y)))


def augmented():
    changes = [Input((8, 8, 3)), L.RandomFlip("horizontal"), L.RandomRotation(0.1), L.RandomZoom(0.1)]
    x = Input((8, 8, 3))
    y = L.SeparableConv2D(4, 3, padding="same")(L.Rescaling(1 / 255.0)(Sequential(changes, name="augmentation")(x)))
    y = L.add([L.MaxPooling2D(3, strides=2, padding="same")(y), L.Conv2D(4, 1, strides=2, padding="same")(y)])
    return Model(x, L.Dense(2)(L.GlobalAveragePooling2D()(y)))


def wide_and_deep():
    categories, numeric = [Input((1,), dtype="int32", name=f"category_{i}") for i in range(2)], Input((3,), name="numeric")
    embedded = [L.Flatten()(L.Embedding(5, 3)(each)) for each in categories]
    deep = L.Concatenate()([*embedded, L.BatchNormalization()(numeric)])
    deep = L.AlphaDropout(0.1)(L.Dense(6, activation="selu", kernel_initializer="lecun_normal")(deep))
    out = L.Concatenate()([deep, L.Dot(axes=1)(embedded), numeric])
    return Model([*categories, numeric], L.Dense(1, activation="sigmoid")(out))


def feature_pyramid():
    x = Input((None, None, 3))
    fine = L.Conv2D(4, 3, strides=2, padding="same", activation="relu")(x)
    coarse = L.Conv2D(4, 3, strides=2, padding="same", activation="relu")(fine)
    merged = L.Add()([L.UpSampling2D(2)(coarse), L.Conv2D(4, 1)(fine)])
    head = Sequential([Input((None, None, 4)), L.Conv2D(4, 3, padding="same"), L.GroupNormalization(2), L.ReLU()], name="head")
    return Model(x, [L.Conv2D(2, 1)(head(merged)), L.Conv2D(2, 1)(head(coarse))])


def spatial_pyramid():
    x = Input((6, 6, 4))
    branches = [L.Conv2D(3, 1)(x), *(L.Conv2D(3, 3, padding="same", dilation_rate=rate)(x) for rate in (2, 3))]
    pooled = L.Conv2D(3, 1)(L.GlobalAveragePooling2D(keepdims=True)(x))
    pooled = L.UpSampling2D((6, 6), interpolation="bilinear")(pooled)
    return Model(x, L.Conv2D(2, 1)(L.Concatenate()([*branches, pooled])))


def modulation():
    x, condition = Input((4, 4, 3)), Input((5,))
    scale, shift = (L.Dense(3)(condition)[:, None, None, :] for _ in range(2))
    return Model([x, condition], x * (1 + scale) + shift)


def normalizations():
    numbers_of = {"mean": [0.1, 0.2, 0.3, 0.4], "variance": [1.0, 2.0, 3.0, 4.0]}
    variants = [{"axis": None}, {"axis": None, "mean": 0.3, "variance": 4.0}, numbers_of, {"invert": True}, {**numbers_of, "invert": True}]
    x = Input((4,))
    return Model(x, [L.Normalization(**options)(x) for options in variants])


def statistics():
    x = Input((6, 6, 3))
    y = L.Normalization(axis=-1)(L.Rescaling(0.5, offset=[0.1, 0.2, 0.3])(x))
    y = L.Conv2D(4, 3, padding="same", use_bias=False, kernel_regularizer=keras.regularizers.L2(1e-4))(y)
    y = L.Activation("swish")(L.BatchNormalization(scale=False)(y))
    y = L.BatchNormalization(center=False)(L.DepthwiseConv2D(3, strides=2)(L.ZeroPadding2D(((0, 1), (0, 1)))(y)))
    y = L.Reshape((3, 3, 2, 2))(L.ReLU(max_value=6.0)(y))
    return Model(x, L.Dense(5)(L.GlobalAveragePooling3D()(L.BatchNormalization()(y))))


architectures = {
    vision_transformer: [(8, 8, 3)],
    u_net: [(8, 8, 1)],
    wave_net: [(16, 2)],
    conv_lstm: [(2, 5, 5, 1)],
    volumes: [(6, 6, 4, 1)],
    arithmetic: [(4,), (4,)],
    nested_models: [(6, 6, 2)],
    squeeze_and_excitation: [(6, 6, 4)],
    sequence_to_sequence: [(4, 5), (3, 6)],
    generator_and_discriminator: [(4,)],
    siamese: [(5,), (5,)],
    mixer: [(8, 8, 3)],
    text_recognition: [(12, 8, 1)],
    augmented: [(8, 8, 3)],
    feature_pyramid: [(8, 8, 3)],
    spatial_pyramid: [(6, 6, 4)],
    modulation: [(4, 4, 3), (5,)],
    normalizations: [(4,)],
}
of_tokens = {bidirectional_gru: [(7,)], attention: [(5,), (6,)], language_model: [(6,)]}


def add(build, inputs, training=False):
    name = "a model: " + build.__name__.replace("_", " ")
    add_case(name, lambda: answer(build(), inputs(), training))


for build, shapes in architectures.items():
    add(build, lambda: [floats(*shape) for shape in shapes])
for build, shapes in of_tokens.items():
    add(build, lambda: [tokens(*shape) for shape in shapes])
mask = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], "int32")
add(bert, lambda: [tokens(6), tokens(6), mask])
add(several_inputs_and_outputs, lambda: [tokens(4), tokens(5), floats(5)])
add(wide_and_deep, lambda: [tokens(1), tokens(1), floats(3)])
# It contains nothing random.
add(statistics, lambda: [floats(6, 6, 3)], training=True)
