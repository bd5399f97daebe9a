// Loaded into a process before its program, so that it runs without a network or a screen. Downloads are answered from
// files of made-up data with the same names, and modules that only draw pictures do nothing. A program written for a
// web page finds its input fields filled in, and its button is pressed.
const { createReadStream, readFileSync } = require("node:fs");
const http = require("node:http");
const https = require("node:https");
const Module = require("node:module");
const { basename } = require("node:path");

const downloads = "downloads/";
const fileOf = (url) => downloads + basename(new URL(url, "file:///").pathname);

for (const server of [http, https])
  server.get = (url, respond) => {
    const file = createReadStream(fileOf(String(url)));
    setImmediate(() => respond(file));
    return { on() {} };
  };
const fetchFile = async (url) => new Response(readFileSync(fileOf(String(url.url ?? url))));
globalThis.fetch = fetchFile;

/** An object whose properties, results and instances are all itself. */
const nothing = new Proxy(function nothing() {}, {
  // A promise would wait for an object that has a `then`.
  get: (_, name) => (name === "then" || typeof name === "symbol" ? undefined : nothing),
  apply: () => nothing,
  construct: (_, [, done]) => {
    if (typeof done === "function") done(null, nothing);
    return nothing;
  },
});
const load = Module._load;
Module._load = function (request, ...rest) {
  if (request === "node-fetch") return fetchFile;
  if (["jimp", "terminal-image", "@tensorflow/tfjs-vis"].includes(request)) return nothing;
  return load.call(this, request, ...rest);
};

const { fields } = JSON.parse(process.env.REMAT_BENCH_PROGRAM);
if (fields !== undefined) {
  const element = (value) => ({
    value,
    selectedIndex: 0,
    options: [{ getAttribute: () => value }],
    addEventListener: (_, press) => void setImmediate(() => press()),
    appendChild() {},
  });
  globalThis.document = {
    getElementById: (id) => element(fields[id]),
    createElement: () => element(),
  };
}
