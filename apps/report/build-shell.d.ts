/** Builds the page from the sources of all packages and writes the shell; answers with it. */
export declare function buildShell(): Promise<string>;
