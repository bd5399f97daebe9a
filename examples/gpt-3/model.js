import { buildGpt } from "../gpt-2/model.js";

const sizes = {
  full: { layers: 96, heads: 96, vocabulary: 50257, positions: 2048, width: 12288, dropoutRate: 0.1, batch: 1 },
  tiny: { layers: 4, heads: 2, vocabulary: 128, positions: 16, width: 32, dropoutRate: 0.1, batch: 1 },
};

/** A transformer of GPT-3's size. Its weights alone are 698 GB, so the full size can be built in fake mode only. */
export default function build(args) {
  const size = args.size ?? "full";
  return {
    ...buildGpt({ name: "GPT3", config: sizes[size], ...args }),
    ...(size === "full" && { notes: "The weights are 698 GB: build this size in fake mode only." }),
  };
}
