import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getBytes } from '../lib/api/request.ts'

/** Content that can be read: its address, and the hash of what is there now. */
export interface Content {
  url: string
  sha256: string
  size: number
}

/** What is out of sight for a minute is read again. */
const SHARED = {
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: 60_000,
  retry: 1,
  placeholderData: keepPreviousData,
}

/** Reads content whole, unless it is larger than `max`. */
export const useContent = <T>(
  { url, sha256, size }: Content,
  max: number,
  kind: string,
  parse: (bytes: ArrayBuffer) => T,
) =>
  useQuery<T>({
    ...SHARED,
    queryKey: ['content', url, sha256, kind],
    enabled: size <= max,
    queryFn: async ({ signal }: { signal: AbortSignal }) => parse(await getBytes(url, '*/*', signal)),
  } as never)

/** The beginning of content as text, at most `max` bytes of it. */
export const useStart = ({ url, sha256, size }: Content, max: number) =>
  useQuery({
    ...SHARED,
    queryKey: ['start of content', url, sha256, max],
    queryFn: async ({ signal }) => {
      const bytes = await getBytes(url, '*/*', signal, size > max ? `bytes=0-${max - 1}` : undefined)
      const text = new TextDecoder().decode(bytes)
      // A cut may be inside of a letter.
      return { text: size > max ? text.replace(/\uFFFD+$/, '') : text, isBinary: text.includes('\0') }
    },
  })
