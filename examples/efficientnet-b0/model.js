import { kerasExample } from "../keras-example.js";

/** EfficientNet-B0 of keras.applications: 240 layers. */
export default function build(args) {
  return kerasExample(args, { name: "EfficientNet-B0", file: "efficientnet_b0", tiny: { pixels: 32, batch: 2 } });
}
