import { createContext, useContext, useState } from 'react'
import { type MediaLook, readLook } from '../lib/media-looks.ts'
import { changed, type SearchChange } from '../lib/search-change.ts'

/** What is chosen for the media of each key, and what changes it. Null where no address has it. */
export const Looks = createContext<{
  looks: Readonly<Record<string, MediaLook>>
  onLooks: (looks: Record<string, MediaLook> | undefined) => void
} | null>(null)

/** What is chosen for the media of a key, kept in the address if the page has it there. */
export function useLook(key: string): [MediaLook, (part: SearchChange<MediaLook>) => void] {
  const page = useContext(Looks)
  const [own, setOwn] = useState<MediaLook>(NONE)
  if (page === null) return [own, (part) => setOwn((before) => changed(before, part))]
  const { [key]: look = NONE, ...others } = page.looks
  return [
    look,
    (part) => {
      const next = readLook(changed(look, part))
      const all = next === undefined ? others : { ...others, [key]: next }
      page.onLooks(Object.keys(all).length > 0 ? all : undefined)
    },
  ]
}
const NONE: MediaLook = {}
