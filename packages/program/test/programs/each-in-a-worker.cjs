// Runs each of the programs that it is given in a thread of its own, one after another.
const { resolve } = require("node:path");
const { Worker } = require("node:worker_threads");

void (async () => {
  for (const file of process.argv.slice(2))
    await new Promise((done, fail) => new Worker(resolve(file)).on("error", fail).on("exit", done));
})();
