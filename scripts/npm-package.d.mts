/** The package.json of the package, with the name and hashes of its file. */
export function buildNpmPackage(folder?: string): {
  name: string
  version: string
  dist: { filename: string; integrity: string; shasum: string }
}
