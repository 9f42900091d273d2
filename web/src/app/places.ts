/** Titles of pages that have no other name. */
export const PAGES: Record<string, string> = {
  '/': 'Home',
  '/connect': 'Connect a script',
  '/account': 'Account',
  '/tokens': 'Tokens',
  '/hosts': 'Hosts',
  '/trash': 'Trash',
  '/compare': 'Compare',
  '/sign-in': 'Sign in',
  '/register': 'Register',
  '/admin/users': 'Users',
  '/admin/agents': 'Agents',
  '/admin/keys': 'Signing keys',
  '/admin/audit': 'Audit log',
}

const OF_PROJECT: Record<string, string> = {
  reports: 'Reports',
  artifacts: 'Artifacts',
  members: 'Members',
  rules: 'Rules',
}

/** The title of a page of a project other than its batches. */
export const pageOfProject = (path: string): string | undefined => {
  const [, place, , page = ''] = path.split('/')
  return place === 'p' ? OF_PROJECT[page] : undefined
}
