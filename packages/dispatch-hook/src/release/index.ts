export { forwardOnTape, type TapedForward } from "./forward-on-tape.js";
