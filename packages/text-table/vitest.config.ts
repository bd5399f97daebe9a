import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("text-table", { sharesProcess: true });
