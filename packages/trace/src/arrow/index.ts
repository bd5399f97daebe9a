export { isArrow } from "../is-arrow.js";
export { readArrowTrace } from "./read-arrow-trace.js";
export { writeArrowTrace } from "./write-arrow-trace.js";
