import "./styles/tokens.css";
import "./styles/page.css";
import "./styles/views.css";
import { byId, fill, h } from "./dom.js";
import { connectEngine } from "./engine/connect.js";
import { type DedicatedWorkerScope, serve } from "./engine/serve.js";
import { startPage } from "./start-page.js";

// One script for both: in the page it starts the page, in a worker created from its text it answers questions.
if (typeof document === "undefined") serve(globalThis as unknown as DedicatedWorkerScope);
else void open(document.currentScript?.textContent ?? "");

async function open(code: string): Promise<void> {
  const app = byId("app");
  app.setAttribute("aria-busy", "true");
  fill(app, h("p", { class: "loading", role: "status" }, "Reading the data …"));
  try {
    const engine = await connectEngine(code);
    const overview = await engine.open(byId("remat-data").textContent ?? "");
    fill(app);
    startPage(engine, overview, app);
  } catch (error) {
    fill(
      app,
      h(
        "p",
        { class: "notice", role: "alert" },
        `The data of this report cannot be read: ${(error as Error).message}. The summary and the environment are still valid.`,
      ),
    );
  } finally {
    app.removeAttribute("aria-busy");
    document.documentElement.dataset["ready"] = "true";
  }
}
