// Loaded into a process before its program: what that downloads is a file of made-up data of the same name, and what only shows pictures shows none. A program for a page
// finds fields in it that are filled in, and a button that is pressed.
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

/** Whatever is asked of it is itself. */
const nothing = new Proxy(function nothing() {}, {
  // A promise would wait for what has a `then`.
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
