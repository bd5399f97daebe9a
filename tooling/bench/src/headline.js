// Measures one headline with the built packages of a tree, and writes the figure to file descriptor 3:
// `node headline.js ROOT NAME`.
import { writeSync } from "node:fs";
import { headlines, packagesOf } from "./headlines.js";

const [root, name] = process.argv.slice(2);
const { measure } = headlines.find((one) => one.name === name);
writeSync(3, JSON.stringify({ value: await measure(packagesOf(root)) }));
