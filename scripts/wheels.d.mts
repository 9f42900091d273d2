/** What scripts/wheels.mjs exports. */
export function pythonVersion(version: string): string
export interface WheelIndex {
  files: {
    project: string
    version: string
    filename: string
    requires_python: string
    size: number
    sha256: string
    metadata_sha256: string
  }[]
}
export function buildWheels(folder?: string): WheelIndex
