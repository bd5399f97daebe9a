import { attend, causalMask, moduleKit, nextTokenLoss } from "../modules.js";

const sizes = {
  full: { layers: 4, heads: 12, vocabulary: 8192, positions: 1024, width: 768, dropoutRate: 0.1, batch: 8 },
  tiny: { layers: 2, heads: 4, vocabulary: 256, positions: 32, width: 64, dropoutRate: 0.1, batch: 2 },
};

/**
 * The transformer of PyTorch's SACEstimator test, module for module with PyTorch's names. `objective: "next-token"`
 * trains a language model. The default is the test's, the sum of the logits.
 */
export default function build(args) {
  return buildTransformer({ config: sizes[args.size ?? "full"], ...args });
}

/** The same of any size. */
export function buildTransformer({ tf, config, batch, scope = (_name, run) => run(), objective = "sum" }) {
  const { vocabulary, positions } = config;
  const tokensShape = [batch ?? config.batch, positions];
  const mask = causalMask(tf, positions);
  return {
    name: "Transformer",
    ...transformer({ tf, scope, mask, ...config }),
    buffers: { "Transformer.mask": mask },
    inputs: tf.randomUniformInt(tokensShape, 0, vocabulary, 1),
    ...(objective === "next-token" && {
      targets: tf.randomUniformInt(tokensShape, 0, vocabulary, 2),
      loss: (logits, tokens) => nextTokenLoss(tf, logits, tokens),
    }),
  };
}

function transformer({ tf, scope, mask, layers, heads, vocabulary, positions, width, dropoutRate }) {
  const { module, parameters, linear, layerNorm, embedding, dropout } = moduleKit({ tf, scope });

  const attention = (name) =>
    module(name, () => {
      const residDropout = dropout("resid_dropout", dropoutRate);
      const [wq, wk, wv, wo] = ["wq", "wk", "wv", "wo"].map((each) => linear(each, width, width, { bias: false }));
      const splitHeads = (x) =>
        tf.transpose(tf.reshape(x, [...x.shape.slice(0, 2), heads, width / heads]), [0, 2, 1, 3]);
      return (x, training) => {
        const [queries, keys, values] = [wq(x), wk(x), wv(x)].map(splitHeads);
        const output = attend(tf, { queries, keys, values, mask, dropoutRate, training });
        return residDropout(wo(tf.reshape(tf.transpose(output, [0, 2, 1, 3]), x.shape)), training);
      };
    });

  const feedForward = (name) =>
    module(name, () => {
      const w1 = linear("w1", width, 4 * width);
      const gelu = module("gelu", () => (x) => tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1)));
      const w2 = linear("w2", 4 * width, width);
      const residDropout = dropout("resid_dropout", dropoutRate);
      return (x, training) => residDropout(w2(gelu(w1(x))), training);
    });

  const block = (name) =>
    module(name, () => {
      const attentionNorm = layerNorm("attention_norm", width);
      const attend = attention("attention");
      const ffnNorm = layerNorm("ffn_norm", width);
      const feed = feedForward("feed_forward");
      return (x, training) => {
        const h = tf.add(x, attend(attentionNorm(x), training));
        return tf.add(h, feed(ffnNorm(h), training));
      };
    });

  const run = module("Transformer", () => {
    const tokEmbeddings = embedding("tok_embeddings", vocabulary, width);
    const posEmbeddings = embedding("pos_embeddings", positions, width);
    const drop = dropout("dropout", dropoutRate);
    const blocks = Array.from({ length: layers }, (_, i) => block(`layers.${i}`));
    const norm = layerNorm("norm", width);
    // The output layer has no weight of its own: it uses the token embedding's, transposed.
    const output = module("output", () => (x) => {
      const logits = tf.matMul(tf.reshape(x, [-1, width]), tokEmbeddings.weight, false, true);
      return tf.reshape(logits, [...x.shape.slice(0, 2), vocabulary]);
    });
    return (tokens, training) => {
      const places = posEmbeddings(tf.range(0, tokens.shape[1], 1, "int32"));
      const embedded = drop(tf.add(tokEmbeddings(tokens), places), training);
      return output(norm(blocks.reduce((x, layer) => layer(x, training), embedded)));
    };
  });

  return { parameters, forward: (tokens, { training }) => run(tokens, training) };
}
