/** Time of a search in milliseconds if neither a time nor a number of changes is given. @internal */
export const defaultTimeMs = 5000;
