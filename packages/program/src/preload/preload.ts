// Runs first in every Node process and thread of the program. Loads nothing until TensorFlow.js is loaded.
import { join } from "node:path";
import { ProgramIo } from "../outside/program-io.js";
import { readOrder } from "../program-order.js";
import { sharePackages } from "./own-packages/share-packages.js";
import { watchTensorFlow } from "./watch-tensorflow.js";

const order = readOrder(process.env);
if (order !== undefined) {
  const io = new ProgramIo(order);
  sharePackages(__dirname, watchTensorFlow(join(__dirname, "agent.cjs"), order, io), io);
}
