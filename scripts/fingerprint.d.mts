/** Tells whether the documentation has changed since it was built. */
export function docsHash(): string
