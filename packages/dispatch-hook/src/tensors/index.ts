export { guardData } from "./guard-data.js";
export { isDataAlive, isInScope, type TensorBirth, type TensorWatcher, watchTensors } from "./watch-tensors.js";
