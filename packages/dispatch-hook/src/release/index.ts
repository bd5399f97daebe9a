export { reconsiderPass } from "../wanted-of-pass.js";
export { isFreeingEarly } from "./early-frees.js";
export { forwardOnTape, type TapedForward } from "./forward-on-tape.js";
export { listInTurns, type TakeTurns } from "./list-in-turns.js";
export { eachLivingTensor } from "./living-tensors.js";
