import unhomoglyph from 'unhomoglyph'
import { Problem } from '../../problem.ts'

/**
 * Names of projects (contract §10): a new one is NFKC, 1 to 128 letters, digits, `.`, `_` and `-`, and unique without
 * regard to case and to look-alike characters. Projects that were made under older rules keep their names.
 */
export const PROJECT_NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/

/** The form in which a name is stored: full-width and other compatibility characters as the plain ones. */
export const normalProjectName = (text: string): string => text.normalize('NFKC')

/**
 * Names of one key cannot be told apart by people: they differ in case, or in characters that look the same (Unicode
 * Technical Standard 39), such as `l`, `I` and `1`, `O` and `0`, `m` and `rn`, or a Latin and a Cyrillic a.
 */
export function projectNameKey(slug: string): string {
  const known = keys.get(slug)
  if (known !== undefined) return known
  // By the look of either case: I looks like l, and is i.
  const folded = unhomoglyph(unhomoglyph(normalProjectName(slug)).toLowerCase())
  const key = unhomoglyph(folded.toLowerCase()).toLowerCase().replaceAll('i', 'l')
  if (keys.size >= MAX_KEYS) keys.clear()
  keys.set(slug, key)
  return key
}
const MAX_KEYS = 10_000
/** Cached, because every group of events needs the keys of its projects. */
const keys = new Map<string, string>()

/**
 * @param slug a result of `normalProjectName`
 * @returns the refusal of a name that is not valid for a new project; undefined if it is valid
 */
export function projectNameFault(slug: string, path: string): Problem | undefined {
  if (PROJECT_NAME.test(slug)) return undefined
  const suggestion = slug
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 128)
  const rule = 'the name of a new project has 1 to 128 letters A-Z and a-z, digits, ".", "_" and "-"'
  const detail = `${path}: ${rule}${PROJECT_NAME.test(suggestion) ? `; for example "${suggestion}"` : ''}`
  return new Problem('invalid_project_name', {
    detail,
    errors: [{ path, message: detail.slice(path.length + 2) }],
  })
}

/** @param other the existing name; undefined if the caller may not know of it */
export const projectNameTaken = (slug: string, other: string | undefined): Problem =>
  new Problem('project_exists', {
    detail:
      other === undefined
        ? `The name "${slug}" is taken, or looks like one that is`
        : `The name "${slug}" looks like that of the project "${other}": send to "${other}", or choose another name`,
  })
