#!/usr/bin/env node
import { runCli } from "./cli.js";
import { allowClosedPipe } from "./console-io.js";

allowClosedPipe(process.stdout);
process.exitCode = await runCli(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
});
