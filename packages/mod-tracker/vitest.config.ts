import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("mod-tracker", { sharesProcess: true });
