#!/usr/bin/env node
// Says, after all tests, which could not run here, and what to do about it.
import { fileURLToPath } from "node:url";
import { notRun } from "./src/not-run.js";

const line = notRun(fileURLToPath(new URL("../../", import.meta.url)), process.env);
if (line !== undefined) console.log(`\n${line}`);
