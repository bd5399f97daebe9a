export { releaseUnrehearsed as releaseEarly } from "./release-unrehearsed.js";
