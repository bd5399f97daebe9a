/**
 * An entry point of one of remat's packages, which the program gets from the agent if it imports a copy of the same
 * version.
 */
export interface SharedPackage {
  readonly version: string;
  readonly exports: readonly string[];
  /** Packages of tfjs that it loads, which the program therefore loads as well. */
  readonly peers: readonly string[];
}

/** By specifier. */
export type SharedPackages = Readonly<Record<string, SharedPackage>>;
