/** Builds the page from the sources of all packages, writes the shell and returns it. */
export declare function buildShell(): Promise<string>;
