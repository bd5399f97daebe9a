"""A case for each layer, and more for its options and masks."""

from keras_answers import CustomScaleLayer, L, LayerScale, StochasticDepth, add_case, answer, case, generation, keras, numbers

image, volume, line, flat = (6, 5, 4), (4, 5, 3, 2), (7, 4), (5,)
layers = {
    "Conv2D groups": (lambda: L.Conv2D(6, 3, groups=2, padding="same", activation="relu"), image),
    "Conv2D groups strided": (lambda: L.Conv2D(8, (3, 2), strides=2, groups=4, use_bias=False), image),
    "Conv2D depthwise groups": (lambda: L.Conv2D(8, 3, groups=4, padding="same"), image),
    "Conv1D groups": (lambda: L.Conv1D(6, 3, groups=2, padding="same"), line),
    "Conv3D": (lambda: L.Conv3D(3, 2, padding="same"), volume),
    "SeparableConv2D": (lambda: L.SeparableConv2D(5, 3, padding="same", depth_multiplier=2), image),
    "DepthwiseConv2D": (lambda: L.DepthwiseConv2D(3, depth_multiplier=2), image),
    "SeparableConv1D": (lambda: L.SeparableConv1D(5, 3, padding="same", activation="tanh"), line),
    "SeparableConv1D strided": (lambda: L.SeparableConv1D(5, 3, strides=2, depth_multiplier=2), line),
    "DepthwiseConv1D": (lambda: L.DepthwiseConv1D(3, depth_multiplier=2), line),
    "DepthwiseConv1D same": (lambda: L.DepthwiseConv1D(2, padding="same", use_bias=False), line),
    "Conv1DTranspose": (lambda: L.Conv1DTranspose(3, 4, strides=2), line),
    "Conv1DTranspose same": (lambda: L.Conv1DTranspose(3, 3, strides=2, padding="same"), line),
    "Conv2DTranspose": (lambda: L.Conv2DTranspose(3, 3, strides=2, padding="same"), image),
    "GlobalAveragePooling3D": (lambda: L.GlobalAveragePooling3D(), volume),
    "GlobalAveragePooling3D keepdims": (lambda: L.GlobalAveragePooling3D(keepdims=True), volume),
    "GlobalMaxPooling3D": (lambda: L.GlobalMaxPooling3D(), volume),
    "GlobalAveragePooling1D keepdims": (lambda: L.GlobalAveragePooling1D(keepdims=True), line),
    "GlobalMaxPooling1D keepdims": (lambda: L.GlobalMaxPooling1D(keepdims=True), line),
    "GlobalAveragePooling2D keepdims": (lambda: L.GlobalAveragePooling2D(keepdims=True), image),
    "GlobalMaxPooling2D keepdims": (lambda: L.GlobalMaxPooling2D(keepdims=True), image),
    "ZeroPadding1D": (lambda: L.ZeroPadding1D((1, 2)), line),
    "ZeroPadding3D": (lambda: L.ZeroPadding3D(((1, 0), (2, 1), (0, 1))), volume),
    "Cropping1D": (lambda: L.Cropping1D((1, 2)), line),
    "Cropping3D": (lambda: L.Cropping3D(((1, 0), (2, 1), (0, 1))), volume),
    "UpSampling1D": (lambda: L.UpSampling1D(3), line),
    "UpSampling3D": (lambda: L.UpSampling3D((2, 1, 3)), volume),
    "GroupNormalization": (lambda: L.GroupNormalization(2), image),
    "GroupNormalization instance": (lambda: L.GroupNormalization(-1, center=False), line),
    "UnitNormalization": (lambda: L.UnitNormalization(), image),
    "BatchNormalization unscaled": (lambda: L.BatchNormalization(scale=False), image),
    "BatchNormalization uncentered": (lambda: L.BatchNormalization(center=False), image),
    "Normalization": (lambda: L.Normalization(), image),
    "SpatialDropout2D": (lambda: L.SpatialDropout2D(0.3), image),
    "SpatialDropout3D": (lambda: L.SpatialDropout3D(0.3), volume),
    "StochasticDepth": (lambda: StochasticDepth(0.3), image),
    "LayerScale": (lambda: LayerScale(0.1, 4), image),
    "ReLU": (lambda: L.ReLU(max_value=0.5, negative_slope=0.1), image),
    "ReLU threshold": (lambda: L.ReLU(threshold=0.3), image),
    "EinsumDense": (lambda: L.EinsumDense("abc,cd->abd", output_shape=(None, 6), bias_axes="d", activation="relu"), line),
    "EinsumDense heads": (lambda: L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de"), line),
    "EinsumDense dots": (lambda: L.EinsumDense("...x,xy->...y", output_shape=6), line),
    "SimpleRNN": (lambda: L.SimpleRNN(3, return_sequences=True), line),
    "LSTM": (lambda: L.LSTM(3), line),
    "GRU": (lambda: L.GRU(3, reset_after=False), line),
    "Bidirectional": (lambda: L.Bidirectional(L.LSTM(3)), line),
    "GRU reset after": (lambda: L.GRU(3, return_sequences=True), line),
    "GRU reset after unbiased": (lambda: L.GRU(3, use_bias=False, go_backwards=True), line),
    "LSTM dropout": (lambda: L.LSTM(3, dropout=0.2, recurrent_dropout=0.3), line),
    "LSTM state": (lambda: L.LSTM(3, return_sequences=True, return_state=True), line),
    "Bidirectional GRU": (lambda: L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="sum"), line),
    "RNN": (lambda: L.RNN([L.LSTMCell(3), L.GRUCell(2)], return_sequences=True), line),
    "RNN one cell": (lambda: L.RNN(L.SimpleRNNCell(3)), line),
    "StackedRNNCells": (lambda: L.RNN(L.StackedRNNCells([L.SimpleRNNCell(3), L.LSTMCell(2)])), line),
    "ConvLSTM1D": (lambda: L.ConvLSTM1D(2, 3, padding="same", return_sequences=True), (3, 6, 2)),
    "ConvLSTM2D": (lambda: L.ConvLSTM2D(2, 3), (3, 5, 4, 2)),
    "ConvLSTM2D sequences": (lambda: L.ConvLSTM2D(2, (3, 2), padding="same", return_sequences=True, dropout=0.1, recurrent_dropout=0.1), (3, 5, 4, 2)),
    "ConvLSTM2D dilated": (lambda: L.ConvLSTM2D(2, 2, dilation_rate=2, go_backwards=True, use_bias=False), (2, 5, 5, 2)),
    "ConvLSTM3D": (lambda: L.ConvLSTM3D(2, 2, padding="same", return_state=True), (2, 3, 4, 3, 1)),
    "TimeDistributed": (lambda: L.TimeDistributed(L.Conv2D(2, 2)), (3, 4, 5, 2)),
    "TimeDistributed model": (lambda: L.TimeDistributed(keras.Sequential([keras.Input((4,)), L.Dense(3, activation="tanh"), L.Dense(2)], name="step")), line),
    "Conv1D causal": (lambda: L.Conv1D(3, 2, padding="causal"), line),
    "Conv1D causal dilated": (lambda: L.Conv1D(3, 2, padding="causal", dilation_rate=2, activation="relu"), line),
    "Conv1D dilated": (lambda: L.Conv1D(3, 3, padding="same", dilation_rate=2), line),
    "Conv2D dilated": (lambda: L.Conv2D(3, 2, padding="same", dilation_rate=2), image),
    "Conv2D dilated valid": (lambda: L.Conv2D(3, 2, dilation_rate=(3, 2), use_bias=False), image),
    "Conv2D dilated groups": (lambda: L.Conv2D(4, 2, padding="same", dilation_rate=2, groups=2), image),
    "Conv3D dilated": (lambda: L.Conv3D(3, 2, padding="same", dilation_rate=(1, 2, 1)), volume),
    "DepthwiseConv2D dilated": (lambda: L.DepthwiseConv2D(2, dilation_rate=2, padding="same"), image),
    "SeparableConv2D dilated": (lambda: L.SeparableConv2D(3, 2, dilation_rate=2), image),
    "DepthwiseConv1D dilated": (lambda: L.DepthwiseConv1D(2, dilation_rate=2), line),
    "Conv1DTranspose output padding": (lambda: L.Conv1DTranspose(3, 3, strides=2, padding="same", output_padding=0), line),
    "Conv2DTranspose output padding": (lambda: L.Conv2DTranspose(3, 3, strides=2, output_padding=1), image),
    "Conv2DTranspose output padding same": (lambda: L.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=(1, 0)), image),
    "Conv3DTranspose": (lambda: L.Conv3DTranspose(2, 2, strides=2, activation="relu"), volume),
    "Conv3DTranspose same": (lambda: L.Conv3DTranspose(2, 3, strides=(1, 2, 2), padding="same", use_bias=False), volume),
    "Conv3DTranspose output padding": (lambda: L.Conv3DTranspose(2, 3, strides=2, padding="same", output_padding=0), volume),
    "Rescaling": (lambda: L.Rescaling(0.5, offset=-1.0), image),
    "Rescaling channels": (lambda: L.Rescaling([0.5, 2.0, 1.0, 3.0], offset=[0.1, 0.2, 0.3, 0.4]), image),
    "Resizing": (lambda: L.Resizing(4, 7), image),
    "Resizing nearest": (lambda: L.Resizing(12, 10, interpolation="nearest"), image),
    "Resizing cropped": (lambda: L.Resizing(4, 2, crop_to_aspect_ratio=True), image),
    "CenterCrop": (lambda: L.CenterCrop(3, 2), image),
    "RandomFlip": (lambda: L.RandomFlip("horizontal"), image),
    "RandomRotation": (lambda: L.RandomRotation(0.2), image),
    "RandomZoom": (lambda: L.RandomZoom(0.2), image),
    "RandomTranslation": (lambda: L.RandomTranslation(0.2, 0.1), image),
    "RandomContrast": (lambda: L.RandomContrast(0.2), image),
    "RandomBrightness": (lambda: L.RandomBrightness(0.2), image),
    "Discretization": (lambda: L.Discretization([-0.5, 0.0, 0.5]), line),
    "SpectralNormalization": (lambda: L.SpectralNormalization(L.Conv2D(3, 2)), image),
    "SpectralNormalization of Dense": (lambda: L.SpectralNormalization(L.Dense(3)), line),
    "ActivityRegularization": (lambda: L.ActivityRegularization(), line),
    "Dense": (lambda: L.Dense(3, activation="relu", kernel_regularizer="l2"), line),
    "Conv1D": (lambda: L.Conv1D(3, 2, strides=2, padding="same"), line),
    "Conv2D": (lambda: L.Conv2D(3, (3, 2), strides=2, padding="same", activation="elu"), image),
    "Flatten": (lambda: L.Flatten(), image),
    "Reshape": (lambda: L.Reshape((10, -1)), image),
    "Permute": (lambda: L.Permute((3, 1, 2)), image),
    "RepeatVector": (lambda: L.RepeatVector(3), flat),
    "Cropping2D": (lambda: L.Cropping2D(((1, 0), (2, 1))), image),
    "ZeroPadding2D": (lambda: L.ZeroPadding2D(((1, 0), (2, 1))), image),
    "UpSampling2D": (lambda: L.UpSampling2D((2, 3)), image),
    "UpSampling2D bilinear": (lambda: L.UpSampling2D(2, interpolation="bilinear"), image),
    "Dropout": (lambda: L.Dropout(0.3), image),
    "SpatialDropout1D": (lambda: L.SpatialDropout1D(0.3), line),
    "GaussianNoise": (lambda: L.GaussianNoise(0.3), line),
    "GaussianDropout": (lambda: L.GaussianDropout(0.3), line),
    "AlphaDropout": (lambda: L.AlphaDropout(0.3), line),
    "LayerNormalization": (lambda: L.LayerNormalization(), line),
    "LayerNormalization axes": (lambda: L.LayerNormalization(axis=[1, 2], epsilon=1e-5), line),
    "BatchNormalization": (lambda: L.BatchNormalization(), image),
    "LeakyReLU": (lambda: L.LeakyReLU(0.2), line),
    "PReLU": (lambda: L.PReLU(), line),
    "PReLU shared": (lambda: L.PReLU(shared_axes=[1, 2]), image),
    "ELU": (lambda: L.ELU(0.5), line),
    "Softmax": (lambda: L.Softmax(axis=1), line),
    "MaxPooling1D": (lambda: L.MaxPooling1D(2, padding="same"), line),
    "AveragePooling1D": (lambda: L.AveragePooling1D(3, strides=2), line),
    "MaxPooling2D": (lambda: L.MaxPooling2D(2), image),
    # With padding, its gradient differs on tfjs's own backends.
    "AveragePooling2D": (lambda: L.AveragePooling2D((3, 2), strides=1), image),
    "MaxPooling3D": (lambda: L.MaxPooling3D(2), volume),
    "AveragePooling3D": (lambda: L.AveragePooling3D(2), volume),
}
if generation == "2":
    layers["LocallyConnected1D"] = (lambda: L.LocallyConnected1D(3, 2, strides=2), line)
    layers["LocallyConnected2D"] = (lambda: L.LocallyConnected2D(3, (3, 2), activation="tanh"), image)
    layers["SeparableConv1D causal"] = (lambda: L.SeparableConv1D(3, 2, padding="causal", dilation_rate=2), line)
    layers["ThresholdedReLU"] = (lambda: L.ThresholdedReLU(0.3), line)
    # Keras 3 crops only in training, and reports a different shape.
    layers["RandomCrop"] = (lambda: L.RandomCrop(3, 2), image)
    layers["RandomHeight"] = (lambda: L.RandomHeight(0.2), image)
    layers["RandomWidth"] = (lambda: L.RandomWidth(0.2), image)
else:
    for rank, shape in {1: line, 2: image, 3: volume}.items():
        for kind in "Average", "Max":
            layers[f"Adaptive{kind}Pooling{rank}D"] = (lambda cls=getattr(L, f"Adaptive{kind}Pooling{rank}D"), rank=rank: cls(3 if rank == 1 else (3, 2, 2)[:rank]), shape)
if hasattr(L, "Identity"):
    layers["Identity"] = (lambda: L.Identity(), image)
if hasattr(L, "RMSNormalization"):
    layers["RMSNormalization"] = (lambda: L.RMSNormalization(), line)
for name, (make, shape) in layers.items():
    case(name, lambda x: make()(x), shape)
names = ["relu", "elu", "selu", "sigmoid", "tanh", "softplus", "softsign", "exponential", "gelu", "hard_sigmoid", "linear", "softmax", "swish", "mish"]
if generation == "3":
    names += ["hard_silu", "leaky_relu", "log_sigmoid", "log_softmax", "relu6", "silu"]
for name in names:
    case(f"activation {name}", lambda x: L.Activation(name)(x), (9,))
case("Subtract", lambda x, y: L.Subtract()([x, y]), line, line)
case("CustomScaleLayer", lambda x, y: CustomScaleLayer(0.3)([x, y]), line, line)
case("Attention", lambda q, v: L.Attention()([q, v]), (3, 4), (5, 4))
case("Attention scaled", lambda q, v, k: L.Attention(use_scale=True)([q, v, k]), (3, 4), (5, 6), (5, 4))
case("AdditiveAttention", lambda q, v: L.AdditiveAttention()([q, v]), (3, 4), (5, 4))
case("MultiHeadAttention", lambda x: L.MultiHeadAttention(2, 3)(x, x), line)
case("MultiHeadAttention three", lambda q, v, k: L.MultiHeadAttention(2, 3, value_dim=5, use_bias=False, output_shape=6)(q, v, key=k), (3, 4), (5, 6), (5, 7))

case("Embedding", lambda x: L.Embedding(5, 3)(x), (6,), dtype="int32")
case("CategoryEncoding", lambda x: L.CategoryEncoding(4, output_mode="multi_hot")(x), (6,), dtype="int32")
case("Discretization one hot", lambda x: L.Discretization([-0.5, 0.5], output_mode="one_hot")(x), (1,))
for name in "Add Multiply Average Maximum Minimum Concatenate".split():
    case(name, lambda x, y: getattr(L, name)()([x, y]), line, line)
case("Dot", lambda x, y: L.Dot(axes=(2, 2), normalize=True)([x, y]), line, line)
case("causal Attention", lambda q, v: L.Attention()([q, v], use_causal_mask=True), (5, 4), (5, 4))
case("causal MultiHeadAttention", lambda x: L.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True), line)
case("MultiHeadAttention masked", lambda x, m: L.MultiHeadAttention(2, 3)(x, x, attention_mask=m > -0.5), line, (7, 7))
case("attention scores", lambda x: list(L.MultiHeadAttention(2, 3)(x, x, return_attention_scores=True)), line)
case("initial state", lambda x, h: L.GRU(3)(x, initial_state=h), line, (3,))
if generation == "3":
    case("GroupedQueryAttention", lambda x: L.GroupQueryAttention(3, 4, 2)(x, x), line)
    case("GroupedQueryAttention causal", lambda x: L.GroupQueryAttention(3, 2, 1, use_bias=False)(x, x, use_causal_mask=True), line)

# Masks: an Embedding's zeros, and masked steps in the layers that follow

embedded = lambda x: L.Embedding(5, 4, mask_zero=True)(x)
masked = {
    "SimpleRNN": lambda e: L.SimpleRNN(3)(e),
    "LSTM sequences": lambda e: L.LSTM(3, return_sequences=True)(e),
    "LSTM stacked": lambda e: L.LSTM(2)(L.LSTM(3, return_sequences=True)(e)),
    "GRU": lambda e: L.GRU(3)(e),
    "GRU backwards": lambda e: L.GRU(3, go_backwards=True)(e),
    "Bidirectional": lambda e: L.Bidirectional(L.LSTM(3))(e),
    "Bidirectional sequences": lambda e: L.Bidirectional(L.GRU(3, return_sequences=True))(e),
    "Dense between": lambda e: L.LSTM(3)(L.Dropout(0.1)(L.Dense(4)(e))),
    "LayerNormalization between": lambda e: L.GRU(3)(L.LayerNormalization()(e)),
    "Conv1D between": lambda e: L.GRU(3)(L.Conv1D(3, 2, padding="same")(e)),
    "branches": lambda e: L.Add()([L.GRU(3)(e), L.GRU(3)(L.Conv1D(3, 2)(e))]),
    "GlobalAveragePooling1D": lambda e: L.GlobalAveragePooling1D()(e),
    "Concatenate": lambda e: L.GRU(3)(L.Concatenate()([e, L.Dense(2)(e)])),
    "Add": lambda e: L.GRU(3)(L.Add()([e, e])),
    "Attention": lambda e: L.Attention()([e, e]),
    "AdditiveAttention": lambda e: L.AdditiveAttention()([e, e]),
    "MultiHeadAttention": lambda e: L.GlobalAveragePooling1D()(L.MultiHeadAttention(2, 3)(e, e)),
    "causal MultiHeadAttention": lambda e: L.MultiHeadAttention(2, 3)(e, e, use_causal_mask=True),
    "TimeDistributed": lambda e: L.GRU(3)(L.TimeDistributed(L.Dense(3))(e)),
    "functions between": lambda e: L.GRU(3)(e * 2.0),
}
for name, build in masked.items():
    case(f"masked {name}", lambda x: build(embedded(x)), (6,), dtype="int32")
case("Masking", lambda x: L.LSTM(3)(L.Masking(0.0)(L.ReLU()(x))), line)
case("Masking alone", lambda x: L.Masking(0.0)(L.ReLU()(x)), (4, 1))
encoder = lambda: keras.Sequential([keras.Input((6,), dtype="int32"), L.Embedding(5, 4, mask_zero=True), L.GRU(3, return_sequences=True)], name="encoder")
case("masked nested model", lambda x: L.GRU(2)(encoder()(x)), (6,), dtype="int32")
if generation == "3":
    case("masked GroupedQueryAttention", lambda x: L.GroupQueryAttention(3, 2, 1)(embedded(x), embedded(x)), (6,), dtype="int32")


def stateful():
    symbol = keras.Input(batch_shape=(2, *line)) if generation == "3" else keras.Input(line, batch_size=2)
    return answer(keras.Model(symbol, L.GRU(3, stateful=True)(symbol), name="case"), [numbers((2, *line))])


add_case("stateful", stateful)
