/** An entry point of one of our packages, which the program gets from us where it imports its own of the same version. */
export interface SharedPackage {
  readonly version: string;
  readonly exports: readonly string[];
  /** What of tfjs it loads, and the program therefore with it. */
  readonly peers: readonly string[];
}

/** By specifier. */
export type SharedPackages = Readonly<Record<string, SharedPackage>>;
