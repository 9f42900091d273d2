import { saveView } from './api/views.ts'

/**
 * Moves views that earlier versions kept in this browser to the service. Views that the service refuses stay in the
 * browser, and are tried again at the next page load.
 * @returns whether there were any
 */
export async function movePins(key: string): Promise<boolean> {
  const pins = readPins(key)
  const left: unknown[] = []
  for (const { title, href } of pins) {
    const [, slug] = /^\/p\/([^/?]+)/.exec(href) ?? []
    const project = slug === undefined ? null : decodeURIComponent(slug)
    await saveView({ title, path: href, project, audience: 'private', colors: {} }).catch(() =>
      left.push({ title, href }),
    )
  }
  if (left.length === 0) localStorage.removeItem(key)
  else localStorage.setItem(key, JSON.stringify(left))
  return pins.length > left.length
}

function readPins(key: string): { title: string; href: string }[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    if (!Array.isArray(kept)) return []
    return kept.filter((one) => typeof one?.title === 'string' && /^\/(p|compare)\b/.test(String(one?.href)))
  } catch {
    return []
  }
}
