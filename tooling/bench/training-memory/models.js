import { fileURLToPath } from "node:url";

const pathOf = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const source = (kind, name, relative) => ({
  gives: "model",
  importer: kind,
  name,
  path: pathOf(relative),
  request: { batch: 8, seed: 1 },
});

/**
 * Models to train, and the memory that a step may use beyond weights, optimizer slots and batch, in bytes or as a
 * fraction of the baseline's: with early release, and under a plan, whose steps may take 15% more time.
 */
const plain = [
  {
    key: "resnet50",
    title: "ResNet-50 (Keras), batch 8",
    source: source("keras", "resnet50", "../../../examples/keras/resnet50.model.json"),
    bounds: { early: () => 1900e6, planned: () => 650e6 },
    hasTradeOff: true,
  },
  {
    key: "mobilenet-v2",
    title: "MobileNetV2, batch 8",
    source: source("keras", "mobilenet_v2", "../../../examples/keras/mobilenet_v2.model.json"),
    bounds: { early: () => 1330e6, planned: () => 450e6 },
    hasTradeOff: false,
  },
  {
    key: "transformer",
    title: "transformer, 6 layers of width 512, 256 tokens, batch 8",
    source: source("module", "transformer", "transformer.js"),
    bounds: { early: (stock) => stock / 2, planned: (stock) => stock / 6 },
    hasTradeOff: true,
  },
];

/** The same bounds with Adam, whose temporaries alone are fourteen times the weights in the baseline. */
const withAdam = ({ key, title, source: { request, ...rest }, bounds }) => ({
  key: `${key}-adam`,
  title: `${title}, Adam`,
  batchTitle: title.replace(", batch 8", ", Adam"),
  hasLargestBatch: key !== "transformer",
  source: { ...rest, request: { ...request, optimizer: "adam" } },
  bounds,
  hasTradeOff: false,
});

export const models = [...plain, ...plain.map(withAdam)];
