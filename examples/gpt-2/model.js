import { attend, causalMask, moduleKit, nextTokenLoss } from "../modules.js";

const sizes = {
  full: { layers: 12, heads: 12, vocabulary: 50257, positions: 1024, width: 768, dropoutRate: 0.1, batch: 4 },
  tiny: { layers: 2, heads: 4, vocabulary: 256, positions: 32, width: 64, dropoutRate: 0.1, batch: 2 },
};

/**
 * GPT-2 small. `objective: "next-token"` trains a language model. The default objective is the sum of the logits, as in
 * PyTorch's timing.
 */
export default function build(args) {
  return buildGpt({ name: "GPT2", config: sizes[args.size ?? "full"], ...args });
}

/** A GPT of any size, as an example. */
export function buildGpt({ tf, name, config, batch, scope = (_name, run) => run(), objective = "sum" }) {
  const tokensShape = [batch ?? config.batch, config.positions];
  const mask = causalMask(tf, config.positions);
  return {
    name,
    ...gpt({ tf, name, scope, mask, ...config }),
    buffers: { [`${name}.mask`]: mask },
    inputs: tf.randomUniformInt(tokensShape, 0, config.vocabulary, 1),
    ...(objective === "next-token" && {
      targets: tf.randomUniformInt(tokensShape, 0, config.vocabulary, 2),
      loss: (logits, tokens) => nextTokenLoss(tf, logits, tokens),
    }),
  };
}

function gpt({ tf, name: rootName, scope, mask, layers, heads, vocabulary, positions, width, dropoutRate }) {
  const { module, parameters, linear, layerNorm, embedding, dropout } = moduleKit({ tf, scope });

  const attention = (name) =>
    module(name, () => {
      const qkv = linear("qkv", width, 3 * width);
      const o = linear("o", width, width);
      const splitHeads = (x) =>
        tf.transpose(tf.reshape(x, [...x.shape.slice(0, 2), heads, width / heads]), [0, 2, 1, 3]);
      return (x, training) => {
        const [queries, keys, values] = tf.split(qkv(x), 3, 2).map(splitHeads);
        const output = attend(tf, { queries, keys, values, mask, dropoutRate, training });
        return o(tf.reshape(tf.transpose(output, [0, 2, 1, 3]), x.shape));
      };
    });

  const mlp = (name) =>
    module(name, () => {
      const up = linear("0", width, 4 * width);
      const gelu = module("1", () => (x) => {
        const inner = tf.mul(tf.add(x, tf.mul(tf.pow(x, 3), 0.044715)), Math.sqrt(2 / Math.PI));
        return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(inner), 1));
      });
      const down = linear("2", 4 * width, width);
      const drop = dropout("3", dropoutRate);
      return (x, training) => drop(down(gelu(up(x))), training);
    });

  const block = (name) =>
    module(name, () => {
      const ln1 = layerNorm("ln_1", width);
      const attn = attention("attn");
      const residDrop = dropout("resid_drop", dropoutRate);
      const ln2 = layerNorm("ln_2", width);
      const feed = mlp("mlp");
      return (x, training) => {
        const h = tf.add(x, residDrop(attn(ln1(x), training), training));
        return tf.add(h, feed(ln2(h), training));
      };
    });

  const run = module(rootName, () => {
    const wte = embedding("wte", vocabulary, width);
    const wpe = embedding("wpe", positions, width);
    const drop = dropout("drop", dropoutRate);
    const blocks = Array.from({ length: layers }, (_, i) => block(`h.${i}`));
    const lnF = layerNorm("ln_f", width);
    // The head has no weight of its own: it uses the token embedding's, transposed.
    const lmHead = module("lm_head", () => (x) => {
      const logits = tf.matMul(tf.reshape(x, [-1, width]), wte.weight, false, true);
      return tf.reshape(logits, [...x.shape.slice(0, 2), vocabulary]);
    });
    return (tokens, training) => {
      const places = wpe(tf.range(0, tokens.shape[1], 1, "int32"));
      const embedded = drop(tf.add(wte(tokens), places), training);
      return lmHead(lnF(blocks.reduce((x, layer) => layer(x, training), embedded)));
    };
  });

  return { parameters, forward: (tokens, { training }) => run(tokens, training) };
}
