/** Milliseconds that a search takes where neither a time nor a number of changes is given. @internal */
export const defaultTimeMs = 5000;
