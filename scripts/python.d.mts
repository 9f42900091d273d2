/** What scripts/python.mjs exports. */
export function preparePython(folders: string[]): Promise<{ bin: string }>
export function freshEnvironment(folder: string): Promise<string>
export function findPython(): Promise<{ path: string; version: string }>
