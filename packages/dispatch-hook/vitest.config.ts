import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("dispatch-hook", { sharesProcess: true });
