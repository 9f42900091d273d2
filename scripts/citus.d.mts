/** Builds and installs Citus where it is not there yet; answers with why there is none, undefined where there is. */
export function ensureCitus(): string | undefined
