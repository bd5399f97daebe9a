export { describeRise } from "./describe-rise.js";
export { shardingsDocument } from "./shardings-document.js";
export { unitsDocument } from "./units-document.js";
