#!/usr/bin/env node
// Prints how pages and comments break the rules of prose: `node tooling/lint/prose/run.js docs/start/tour.md packages/trace/src/*.ts`.
import { readFileSync } from "node:fs";
import { commentFigures, commentSentences } from "./check-comments.js";
import { checkPage } from "./check-page.js";
import { badOpening } from "./words.js";

const files = process.argv.slice(2);
const pages = files.filter((file) => file.endsWith(".md"));
const sources = files.filter((file) => !file.endsWith(".md"));
const lines = [];
for (const page of pages)
  for (const fault of await checkPage(readFileSync(page, "utf8"))) lines.push(`${page}:${fault}`);
for (const source of sources)
  for (const sentence of commentSentences(readFileSync(source, "utf8")))
    if (badOpening.test(sentence)) lines.push(`${source}: start with the subject: "${sentence.slice(0, 80)}"`);
for (const { name, value, most } of commentFigures(sources.map((source) => readFileSync(source, "utf8"))))
  lines.push(`comments: ${name}: ${value.toFixed(2)}, at most ${most}`);
for (const line of lines) console.log(line);
console.log(lines.length === 0 ? "no faults" : `${lines.length} faults`);
if (lines.length > 0) process.exitCode = 1;
