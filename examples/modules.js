/**
 * Modules as plain functions, for the transformers: their building blocks and their names. `module(name, define)` names
 * everything that `define` makes: a parameter `weight` of the module `wq` inside `attention` is `attention.wq.weight`.
 * `define` returns the module's forward function, which then runs in the scope of that name.
 */
export function moduleKit({ tf, scope }) {
  const parameters = {};
  const path = [];

  function module(name, define) {
    path.push(name);
    const forward = define();
    path.pop();
    return (...inputs) => scope(name, () => forward(...inputs));
  }

  function parameter(name, initial) {
    const variable = tf.variable(initial);
    initial.dispose();
    parameters[[...path, name].join(".")] = variable;
    return variable;
  }

  const normal = (shape) => tf.randomNormal(shape, 0, 0.02);

  const linear = (name, inputSize, outputSize, { bias: hasBias = true } = {}) =>
    module(name, () => {
      const weight = parameter("weight", normal([inputSize, outputSize]));
      const bias = hasBias ? parameter("bias", tf.zeros([outputSize])) : undefined;
      return (x) => {
        const rows = tf.reshape(x, [-1, inputSize]);
        const y = tf.matMul(rows, weight);
        return tf.reshape(bias ? tf.add(y, bias) : y, [...x.shape.slice(0, -1), outputSize]);
      };
    });

  const layerNorm = (name, size) =>
    module(name, () => {
      const weight = parameter("weight", tf.ones([size]));
      const bias = parameter("bias", tf.zeros([size]));
      return (x) => {
        const { mean, variance } = tf.moments(x, -1, true);
        const normalised = tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5)));
        return tf.add(tf.mul(normalised, weight), bias);
      };
    });

  const embedding = (name, count, size) => {
    let weight;
    // wasm has no kernel for the gradient of gather.
    const trainsGather = !tf.getBackend().endsWith("wasm");
    const forward = module(name, () => {
      weight = parameter("weight", normal([count, size]));
      if (trainsGather) return (indices) => tf.gather(weight, indices);
      return (indices) => {
        const chosen = tf.cast(tf.oneHot(tf.reshape(indices, [-1]), count), "float32");
        return tf.reshape(tf.matMul(chosen, weight), [...indices.shape, size]);
      };
    });
    return Object.assign(forward, { weight });
  };

  const dropout = (name, rate) => module(name, () => (x, training) => (training && rate > 0 ? tf.dropout(x, rate) : x));

  return { module, parameter, parameters, linear, layerNorm, embedding, dropout };
}

/** Zero for visible positions (itself and earlier ones), a large negative number for others. */
export function causalMask(tf, length) {
  return tf.tidy(() => {
    const positions = tf.range(0, length, 1, "int32");
    const isPast = tf.lessEqual(tf.expandDims(positions, 0), tf.expandDims(positions, 1));
    return tf.where(isPast, tf.zeros([length, length]), tf.fill([length, length], -1e9));
  });
}

/**
 * Scaled dot-product attention of queries, keys and values [batch, heads, positions, size], with dropout of the
 * probabilities.
 */
export function attend(tf, { queries, keys, values, mask, dropoutRate, training }) {
  const size = queries.shape[queries.shape.length - 1];
  const scores = tf.mul(tf.matMul(queries, keys, false, true), 1 / Math.sqrt(size));
  const probabilities = tf.softmax(tf.add(scores, mask));
  const kept = training && dropoutRate > 0 ? tf.dropout(probabilities, dropoutRate) : probabilities;
  return tf.matMul(kept, values);
}

/**
 * Cross-entropy of predicting each next token: logits [batch, positions, vocabulary] against tokens
 * [batch, positions].
 */
export function nextTokenLoss(tf, logits, tokens) {
  const vocabulary = logits.shape[2];
  return tf.tidy(() => tf.losses.softmaxCrossEntropy(tf.oneHot(tokens, vocabulary), logits));
}
