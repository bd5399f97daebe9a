import { kerasExample } from "../keras-example.js";

/** MobileNet of keras.applications: 91 layers. */
export default function build(args) {
  return kerasExample(args, { name: "MobileNet", file: "mobilenet_v1", tiny: { pixels: 32, batch: 2 } });
}
