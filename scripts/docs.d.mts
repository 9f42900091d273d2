/** Builds the documentation site into `out` (dist/docs without it). */
export function buildDocs(out?: string): {
  pages: { file: string; place: string; title: string }[]
  /** Links and images that lead nowhere, each as a line. */
  problems: string[]
}
