export { refusedOutput } from "./output-target.js";
export {
  InputError,
  type InputErrorCode,
  openInput,
  type ReadInputOptions,
  readInput,
  readInputHead,
  readInputText,
  refusedInput,
} from "./read-input.js";
export { realOutput } from "./real-output.js";
export { replaceFile } from "./replace-file.js";
export { writeNewFile } from "./write-new-file.js";
export { checkOutput, isStandardOutput, type WriteOutputOptions, writeOutput } from "./write-output.js";
export type { Content, OutputStream } from "./write-through.js";
