export { isDataAlive, isInScope, type TensorBirth, type TensorWatcher, watchTensors } from "./watch-tensors.js";
