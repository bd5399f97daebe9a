import { kerasExample } from "../keras-example.js";

/** MobileNetV2 of keras.applications: 156 layers. */
export default function build(args) {
  return kerasExample(args, { name: "MobileNetV2", file: "mobilenet_v2", tiny: { pixels: 32, batch: 2 } });
}
