export { type WaysToFitOptions, waysToFit } from "./ways-to-fit.js";
