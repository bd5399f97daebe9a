export { atenFlags } from "./aten-flags.js";
export { pyTorchDevice } from "./pytorch-device.js";
export { readPyTorchTrace } from "./read-pytorch-trace.js";
