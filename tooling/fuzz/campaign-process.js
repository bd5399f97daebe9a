// Runs one campaign, given as JSON by its argument, and reports its tries and findings to its parent. The parent
// compiles the sources, because a heap census, of which the leak fuzzer takes several per program, walks everything in
// this process.
import { runSources } from "@remat/testkit/run-sources";

/** @type {Map<number, (answer: any) => void>} */
const asking = new Map();
let asked = 0;
process.on("message", (/** @type {{ answers: number, answer: any }} */ { answers, answer }) => {
  asking.get(answers)?.(answer);
  asking.delete(answers);
});
const invoke = (/** @type {any} */ request) =>
  new Promise((resolve) => {
    asking.set(++asked, resolve);
    process.send?.({ asks: asked, request });
  });

const [, , path, request] = process.argv;
const fuzz = /** @type {typeof import("./src/index.js")} */ (await runSources(path, invoke));
const tell = (/** @type {import("./src/index.js").CampaignMessage} */ message) => process.send?.(message);
await fuzz.runCampaign({ ...JSON.parse(request), tell });
// A backend of tfjs may keep threads running.
process.disconnect?.();
