import { saveView } from './api/views.ts'

const KEY = 'pinned views'

/**
 * Saves the views that earlier versions kept in this browser with the service; resolves to whether there were any.
 * What the service refuses stays in the browser and is tried again with the next page load.
 */
export async function movePins(): Promise<boolean> {
  const pins = readPins()
  const left: unknown[] = []
  for (const { title, href } of pins) {
    const [, slug] = /^\/p\/([^/?]+)/.exec(href) ?? []
    const project = slug === undefined ? null : decodeURIComponent(slug)
    await saveView({ title, path: href, project, audience: 'private', colors: {} }).catch(() =>
      left.push({ title, href }),
    )
  }
  if (left.length === 0) localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, JSON.stringify(left))
  return pins.length > left.length
}

function readPins(): { title: string; href: string }[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    if (!Array.isArray(kept)) return []
    return kept.filter((one) => typeof one?.title === 'string' && /^\/(p|compare)\b/.test(String(one?.href)))
  } catch {
    return []
  }
}
