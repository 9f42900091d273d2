/** What scripts/memory.mjs exports. */
export function memoryFolder(prefix: string): { path: string; inMemory: boolean }
