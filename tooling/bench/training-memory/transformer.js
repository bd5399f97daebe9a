import { buildTransformer } from "../../../examples/transformer/model.js";

const config = { layers: 6, heads: 8, vocabulary: 8192, positions: 256, width: 512, dropoutRate: 0.1, batch: 8 };

/** Six layers of width 512 over 256 tokens, trained to predict the next one. */
export default function build(args) {
  return buildTransformer({ config, objective: "next-token", ...args });
}
