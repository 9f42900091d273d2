/**
 * The path of the service on its host, such as `/monitor`; empty at the root. Every script of the build is in `assets/`
 * below it.
 */
export const BASE_PATH = /^(.*)\/assets\/[^/]*$/.exec(new URL(import.meta.url).pathname)?.[1] ?? ''

/** A path of the service, such as `/api/batches`, as the browser requests it. */
export const served = (path: string): string => BASE_PATH + path

/** The address of the service, without a slash at its end. */
export const serviceAddress = (): string => location.origin + BASE_PATH

/** The path of the open page within the service. */
export const pagePath = (): string => location.pathname.slice(BASE_PATH.length) || '/'

/** The address of a file's download, of the path of its content. */
export const downloadAt = (path: string): string => served(`${path}?download=true`)
