/** `resnet`, `resnet:v3` or `resnet:best`. */
export interface Reference {
  artifact: string
  /** The number of a version. */
  version?: number
  alias?: string
}

export function readReference(text: string): Reference {
  const colon = text.lastIndexOf(':')
  if (colon < 0) return { artifact: text }
  const [artifact, rest] = [text.slice(0, colon), text.slice(colon + 1)]
  const version = versionNumber(rest)
  return version === undefined ? { artifact, alias: rest } : { artifact, version }
}

/** The number of `v3`; undefined for an alias. */
export function versionNumber(text: string): number | undefined {
  const [, digits] = /^v(0|[1-9]\d{0,8})$/.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits)
}
