import { kerasExample } from "../keras-example.js";

/** ResNet-50 of keras.applications: 177 layers. */
export default function build(args) {
  return kerasExample(args, { name: "ResNet-50", file: "resnet50", tiny: { pixels: 24, batch: 2 } });
}
